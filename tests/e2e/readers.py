"""Real tools read our files: h5dump, h5py, pandas, csv, json, gnuplot."""
import csv
import io
import json
import os
import shutil
import subprocess

from npgpu_run import Checks, folder, needs, run

h5py, pandas = needs("h5py", "pandas")
check = Checks()


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
    refused = run("export", trace, "--format", "xml")
    check(refused.code == 2 and "csv, json, npout" in refused.err, refused.err)
    check(run("export", trace, "--format", "json", "--summary").code == 2, "--summary is csv's")
check.finish()
