"""Real tools read our files: h5dump, h5py, pandas, csv, json, gnuplot, Google Benchmark's compare.py."""
import csv
import glob
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys

import h5py
import pandas

from npgpu_run import SOURCE, Checks, folder, run

check = Checks()
KINDS = ("transfers", "probes", "jobs", "calls", "partitions")
# https://bencher.dev/bmf.json
BMF = {"$schema": "http://json-schema.org/draft-07/schema", "type": "object", "patternProperties": {".+": {
    "type": "object", "patternProperties": {".+": {"type": "object", "required": ["value"], "properties": {
        name: {"type": "number"} for name in ("value", "lower_value", "upper_value")}}}}}}
COMPARE = "/usr/share/benchmark/compare.py"  # Debian: libbenchmark-tools, with python3-scipy


def summaries(trace):
    """The rows of export --summary, of all kinds."""
    with h5py.File(trace) as file:
        kinds = [kind for kind in KINDS if any(len(s["visits"]) for s in file.get(kind, {}).values())]
    return [row for kind in kinds for row in csv.DictReader(io.StringIO(run("export", trace, "--table", kind, "--summary").out))]


def formats_of_other_tools(trace):
    """A figure for each row of --summary, to its last digit, under a name that no other has."""
    rows, name = summaries(trace), os.path.basename(trace)
    told = json.loads(run("export", trace, "--format", "gbench").out)["benchmarks"]
    check(len({b["name"] for b in told}) == len(told) == len(rows), f"{name}: {len(told)} benchmarks, {len(rows)} rows, all names differ")
    good = [row for row in rows if not row["unusable"]]
    for row, b in zip(rows, told):
        if row["unusable"]:
            check(b["error_occurred"] and b["error_message"] == row["unusable"], f"{name}: {b['name']} has an error")
            continue
        same = (b["real_time"] == float(row["time_us"]) and b["value"] == float(row["value"]) and b["label"] == row["unit"]
                and b["iterations"] == int(row["trials"]) and b["time_unit"] == "us")
        check(same, f"{name}: gbench: {b} is not {row}")
        check(row["unit"] != "B/s" or b["bytes_per_second"] == float(row["value"]), f"{name}: bytes_per_second of {b['name']}")
    names = [b["name"] for b in told if "error_occurred" not in b]

    told = json.loads(run("export", trace, "--format", "bencher").out)
    check(list(told) == names, f"{name}: bencher has the same names")
    for row, measures in zip(good, told.values()):
        time = measures["latency"]
        check(abs(time["value"] / 1e3 / float(row["time_us"]) - 1) < 1e-15, f"{name}: latency in ns: {time}")
        rates = {"B/s": "bytes-per-second", "FLOP/s": "flop-per-second", "OP/s": "op-per-second", "atomics/s": "atomics-per-second"}
        if row["unit"] in rates:
            rate = measures[rates[row["unit"]]]
            bounds = [float(row[k]) for k in ("low", "high") if row[k]]
            check([rate["value"], *(rate[k] for k in ("lower_value", "upper_value") if k in rate)] == [float(row["value"]), *bounds],
                  f"{name}: bencher: {rate} is not {row}")
        else:
            check(list(measures) == ["latency"], f"{name}: bencher: {measures}")
    try:
        import jsonschema
        jsonschema.validate(told, BMF)
    except ImportError:
        pass

    line = run("export", trace, "--format", "superbench").out
    check(line.count("\n") == 1 and line.endswith("\n"), f"{name}: superbench is one line")
    told = json.loads(line)
    check(told.pop("node") == rows[0]["host"], f"{name}: superbench: the node")
    check(list(told.values()) == [float(row["value"]) for row in good], f"{name}: superbench: {len(told)} metrics, {len(good)} rows")
    check(all(m.startswith("npgpu-") and m.count("/") == 1 and m.count(":") <= 1 and " " not in m for m in told), f"{name}: metrics' names")


def read_by_compare_py(where, a, b):
    if not os.path.exists(COMPARE) or importlib.util.find_spec("scipy") is None:
        print("skipped: Google Benchmark's compare.py or scipy is not installed (Debian: libbenchmark-tools python3-scipy)")
        return
    paths = []
    for trace in (a, b):
        paths.append(os.path.join(where, os.path.basename(trace) + ".json"))
        check(run("export", trace, "--format", "gbench", "--output", paths[-1]).code == 0, "export to a file")
    told = subprocess.run([sys.executable, COMPARE, "--no-color", "benchmarks", *paths], capture_output=True, text=True)
    check(told.returncode == 0 and len(told.stdout.splitlines()) > 1000, f"compare.py: {told.stdout[-200:]}{told.stderr}")
    # 0.0370 slower: the times of h200_run_a and h200_run_b.
    first = next(l for l in told.stdout.splitlines() if "h2d pinned stream async gated/bytes:1 " in l)
    times = [next(float(r["time_us"]) for r in summaries(t) if r["kind"] == "transfers") for t in (a, b)]
    check(f"{times[1] / times[0] - 1:+.4f}" in first, first)


with folder() as where:
    trace = os.path.join(where, "t.h5")
    made = run("transfer", "--device", "sim:plain", "--direction", "h2d,d2h", "--end", "64KiB", "--schedule", "classic", "--target-time", "5ms", "--quiet", "--output", trace)
    check(made.code == 0, made.err)

    if shutil.which("h5dump"):
        dumped = subprocess.run(["h5dump", "-H", trace], capture_output=True, text=True)
        check(dumped.returncode == 0 and "H5T_COMPOUND" in dumped.stdout and '"units.host_us"' in dumped.stdout, "h5dump")
        shown = subprocess.run(["h5dump", "-a", "/schema_name", trace], capture_output=True, text=True)
        check("npgpu-trace" in shown.stdout, "h5dump of an attribute")
    else:
        print("skipped: h5dump is not installed")

    with h5py.File(trace) as f:
        series = f["transfers/0000"]
        frame = pandas.DataFrame(series["samples"][:]).join(pandas.DataFrame(series["visits"][:])["bytes"], on="visit")
        check(set(frame.columns) >= {"visit", "trial", "repeats", "host_us", "device_us", "intact", "bytes"}, "pandas columns")
        median = (frame.host_us / frame.repeats).groupby(frame.bytes).median()
        check(median.is_monotonic_increasing, "larger copies take longer")
        for table in ("visits", "samples"):
            units = {k for k in series[table].attrs if k.startswith("units.")}
            check(units == {"units." + c for c in series[table].dtype.names}, f"a unit for every column of {table}")
        check(isinstance(series.attrs["direction"], str), "attributes are UTF-8 strings")

    rows = list(csv.DictReader(io.StringIO(run("export", trace, "--format", "csv").out)))
    with h5py.File(trace) as f:
        samples = sum(len(s["samples"]) for s in f["transfers"].values())
    check(len(rows) == samples, f"csv: {len(rows)} rows, {samples} samples")
    whole = json.loads(run("export", trace, "--format", "json").out)
    check(len(whole["transfers"]) == 2, "json holds both series")

    npout = os.path.join(where, "np.out")
    check(run("export", trace, "--format", "npout").code == 2, "np.out holds one series only")
    check(run("export", trace, "--format", "npout", "--case", "transfers:0", "--output", npout).code == 0, "np.out of one")
    lines = [line.split() for line in open(npout)]
    check(all(len(line) == 5 for line in lines), "five columns")
    check([int(line[0]) for line in lines] == sorted(int(line[0]) for line in lines), "sizes ascend")
    check(all(float(l[2]) <= float(l[1]) + 1e-3 and float(l[1]) <= float(l[3]) + 1e-3 for l in lines), "min <= avg <= max")
    if shutil.which("gnuplot"):
        # The same commands that NetPIPE's npplot writes: logscale x, columns 1:2 to 1:5.
        picture = os.path.join(where, "np.png")
        drawn = subprocess.run(["gnuplot"], input=f'''set logscale x
set terminal png
set output "{picture}"
plot "{npout}" using 1:2 with lines, "{npout}" using 1:3 with lines, "{npout}" using 1:4 with lines, "{npout}" using 1:5 with lines
''', capture_output=True, text=True)
        check(drawn.returncode == 0 and not drawn.stderr and os.path.getsize(picture) > 1000, f"gnuplot: {drawn.stderr}")
    else:
        print("skipped: gnuplot is not installed")
    traces = {os.path.basename(t): t for t in sorted(glob.glob(os.path.join(SOURCE, "data", "traces", "*.h5")))}
    for trace in ("h200_check.h5", "h200_onchip.h5", "h200_partition.h5", "h200x2_matrix.h5", "h200_run_c.h5"):
        formats_of_other_tools(traces[trace])
    read_by_compare_py(where, traces["h200_run_a.h5"], traces["h200_run_b.h5"])
    refused = run("export", traces["h200.h5"], "--format", "xml")
    check(refused.code == 2 and "gbench, bencher, superbench" in refused.err, refused.err)
    check(run("export", traces["h200.h5"], "--format", "gbench", "--summary").code == 2, "--summary is csv's")
check.finish()
