"""The figures: a trace written by h5py after data/TRACE_FORMAT.md gives pictures that are not blank and say what they
must; the numbers behind them are right by hand, and the same as the program's; bad files end with one sentence.

    plots_test.py NPGPU
"""
import json
import math
import os
import subprocess
import tempfile

from figures import PROGRAM, check, script  # first: it finds what follows
import h5py  # noqa: E402
import matplotlib.image  # noqa: E402
import numpy as np  # noqa: E402
import loader  # noqa: E402


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9)


POINT = np.dtype([("bytes", "u8"), ("first_sample", "u8"), ("samples", "u4"), ("stop", "i4"), ("wall_us", "f8"),
                  ("sm_clock_mhz", "f8"), ("memory_clock_mhz", "f8"), ("power_w", "f8"), ("temperature_c", "f8"),
                  ("throttle_reasons", "u8")])
SAMPLE = np.dtype([("point", "u4"), ("trial", "u4"), ("lane", "u4"), ("intact", "i4"), ("repeats", "u8"),
                   ("host_us", "f8"), ("device_us", "f8")])


def write_trace(path, sweeps, simulated=0, **root):
    """`sweeps`: [(attributes, {bytes: [[times of lane 0], [times of lane 1]]})], host times of one repeat."""
    with h5py.File(path, "w") as file:
        attributes = {"schema_name": "npgpu-trace", "schema_version": "1.0", "complete": np.uint8(1), "run_uuid": "u",
                      "tool_version": "0", "git_commit": "c", "argv": "npgpu", "start_time_utc": "2026-11-21T06:19:25Z",
                      "hostname": "node17", **root}
        for name, value in attributes.items():
            file.attrs[name] = value
        file.create_group("provenance")
        for number, (case, sizes) in enumerate(sweeps):
            group = file.create_group(f"sweeps/{number:04}")
            words = {"module": "cudaMemcpy", "device": "cuda:0", "pattern": "stream", "direction": "h2d",
                     "memory": "pinned", "timing": "host", "cache": "warm", "async": np.uint8(0), "bind": np.uint8(1),
                     "source_offset_bytes": np.uint64(0), "target_offset_bytes": np.uint64(0), "schedule": "classic",
                     "device_uuid": "", "device_name": "Test GPU", "simulated": np.uint8(simulated),
                     "limit_bytes_per_s": 2e9, "limit_source": "by hand", "binding": "", "error": "", **case}
            for name, value in words.items():
                group.attrs[name] = value
            points, samples = [], []
            for i, (size, lanes) in enumerate(sizes.items()):
                rows = [(i, t, lane, -1, 1, us, np.nan) for lane, times in enumerate(lanes) for t, us in enumerate(times)]
                points.append((size, len(samples), len(rows), 0, 0, 0, 0, 0, 0, 0))
                samples += rows
            group["points"] = np.array(points, dtype=POINT)
            group["samples"] = np.array(samples, dtype=SAMPLE)


def line(size):
    """5 us + 1 ns a byte, seven trials with a little spread."""
    us = 5 + size / 1000
    return [us * f for f in (1, 1, 1, 0.99, 0.995, 1.01, 1.04)]


SIZES = [1, 2, 3, 4, 6, 8, 12, 13, 16, 19] + [2 ** k + d for k in range(5, 24) for d in (-3, 0, 3)]
ONE_WAY = {n: [line(n)] for n in SIZES}
BOTH = {n: [line(n), line(n)] for n in SIZES}


def ink(path):
    """Share of pixels that are not white, and how many different colours there are."""
    pixels = (matplotlib.image.imread(path)[..., :3] * 255).round().astype(int).reshape(-1, 3)
    colors = np.bincount(pixels // 32 @ (64, 8, 1))  # eight shades of each of red, green and blue
    return np.mean(np.any(pixels < 250, axis=1)), np.count_nonzero(colors)


def numbers_by_hand(where):
    path = os.path.join(where, "hand.h5")
    write_trace(path, [
        ({"pattern": "pingpong"}, {1000: [[4, 2, 6]]}),
        ({"pattern": "duplex"}, {1000: [[1, 1, 1], [2, 4, 2]]}),
        ({}, {1000: [[2, 2, 2, 2, 2, 2, 8]], 3000: [[4, 4, 4, 4, 4, 4, 4]]}),
    ])
    with h5py.File(path, "a") as file:  # two repeats each
        for s in file["sweeps"].values():
            rows = s["samples"][()]
            rows["repeats"] = 2
            rows["host_us"] *= 2
            s["samples"][...] = rows
    pingpong, duplex, stream = loader.load([path])
    (c,) = pingpong.curves()
    check(c.us.tolist() == [2] and c.min_us.tolist() == [1], "a round trip is halved")
    lanes = duplex.curves()
    check([x.words["direction"] for x in lanes] == ["h2d", "d2h", "both"], "a duplex has two lanes and both together")
    check([x.us[0] for x in lanes] == [1, 2, 2], "both take the longer time, trial by trial")
    check([x.rate(x.us)[0] for x in lanes] == [1e9, 500e6, 1e9], "both move twice the bytes")
    check(lanes[2].limit == 4e9 and lanes[0].limit == 2e9, "and have both directions' limits")
    (c,) = stream.curves()
    check((c.low_us[0], c.high_us[0]) == (2, 8), "of seven, the interval of the median is least and greatest")
    t0, rate = c.fit()
    check(near(t0, 1) and near(rate, 1e9), f"the line through 1000 bytes in 2 us and 3000 in 4: {t0} us, {rate}")
    check(all(math.isnan(b) for b in loader.median_interval([1, 2, 3, 4, 5])), "five values carry no 95 % interval")
    check(loader.perturbed([1, 13, 16, 19, 21, 24, 27]).tolist() == [False, True, False, True, True, False, True], "neighbours")

    with h5py.File(path, "a") as file:
        rows = file["sweeps/0002/samples"][()]
        rows["intact"][0] = 0
        file["sweeps/0002/samples"][...] = rows
    (c,) = loader.load([path], [2])[0].curves()
    check(c.bytes.tolist() == [3000], "a payload that arrived wrong has no time")


def same_numbers_as_the_program(where):
    path = os.path.join(where, "written.h5")
    write_trace(path, [({}, ONE_WAY), ({"pattern": "duplex"}, BOTH), ({"pattern": "pingpong"}, ONE_WAY)])
    traces = [path]
    mine = os.path.join(where, "own.h5")
    made = subprocess.run([PROGRAM, "transfer", "--device", "sim:plain", "--async", "--pattern", "stream,duplex,pingpong",
                           "--timing", "event", "--end", "1MiB", "--schedule", "adaptive", "--output", mine], capture_output=True, text=True)
    check(made.returncode == 0, f"the program made no trace: {made.stderr}")
    if made.returncode == 0:
        traces.append(mine)
    for trace in traces:
        told = subprocess.run([PROGRAM, "report", trace, "--json"], capture_output=True, text=True)
        check(told.returncode == 0, f"report --json: {told.stderr}")
        if told.returncode:
            continue
        for sweep, says in zip(loader.load([trace]), json.loads(told.stdout)["sweeps"]):
            lanes = says["lanes"] + ([says["together"]] if says["together"] else [])
            for curve, lane in zip(sweep.curves(), lanes):
                what = f"{os.path.basename(trace)}, {says['title']}, {lane['name']}: "
                points = lane["points"]
                check(curve.bytes.tolist() == [p["bytes"] for p in points], what + "sizes")
                check(np.allclose(curve.us, [p["time_us"]["value"] for p in points], rtol=1e-12), what + "medians")
                check(np.allclose(curve.low_us, [p["time_us"]["low"] or np.nan for p in points], rtol=1e-12, equal_nan=True),
                      what + "intervals")
                check(np.allclose(curve.rate(curve.us), [p["rate_bytes_per_s"]["value"] for p in points], rtol=1e-12),
                      what + "rates")
                t0, rate = curve.fit()
                check(np.isclose(t0, lane["curve"]["fit_latency_us"]["value"], rtol=1e-6), what + "fitted latency")
                check(np.isclose(rate, lane["curve"]["fit_rate_bytes_per_s"]["value"], rtol=1e-6), what + "fitted rate")
                percent = 100 * curve.rate(curve.us) / curve.limit
                check(np.allclose(percent, [p["percent_of_limit"] for p in points], rtol=1e-9), what + "percent of the limit")


def pictures(where):
    real = os.path.join(where, "real.h5")
    write_trace(real, [({}, ONE_WAY), ({"direction": "d2h", "memory": "pageable"}, ONE_WAY)])
    many = os.path.join(where, "many.h5")
    write_trace(many, [({"pattern": p, "memory": m, "direction": d}, BOTH if p == "duplex" else ONE_WAY)
                       for p in ("stream", "pingpong", "duplex") for m in ("pinned", "pageable") for d in ("h2d", "d2h")],
                simulated=1)
    one = os.path.join(where, "one.h5")
    write_trace(one, [({"limit_bytes_per_s": math.nan}, {4096: [[5.0]]})])
    cases = [("rate.py", [real]), ("rate.py", [many]), ("rate.py", [one]), ("rate.py", [real, many, "--sweep", "0"]),
             ("rate.py", [real, "--gbit", "--log", "--minimum"]),
             ("latency.py", [real]), ("latency.py", [many]), ("latency.py", [one]), ("latency.py", [real, "--no-fit"]),
             ("samples.py", [real]), ("samples.py", [many, "--sweep", "8"]), ("samples.py", [one]),
             ("samples.py", [real, "--bytes", "32KiB"]), ("samples.py", [one, "--bytes", "4096"])]
    for i, (name, arguments) in enumerate(cases):
        what = f"{name} {' '.join(os.path.basename(a) for a in arguments)}"
        png = os.path.join(where, f"{i}.png")
        drawn = script(name, *arguments, "-o", png)
        check(drawn.returncode == 0 and not drawn.stderr, f"{what}: {drawn.stderr}")
        if drawn.returncode == 0:
            share, colors = ink(png)
            check(0.01 < share < 0.6 and colors >= 8, f"{what}: {100 * share:.1f} % ink, {colors} colours")
    for suffix in ("svg", "pdf"):
        twice = []
        for i in range(2):
            out = os.path.join(where, f"twice{i}.{suffix}")
            check(script("rate.py", real, "-o", out).returncode == 0, f"rate.py -o {suffix}")
            with open(out, "rb") as file:
                twice.append(file.read())
        check(twice[0] == twice[1], f"the same trace gives the same {suffix}")

    def words(name, *arguments):
        out = os.path.join(where, "words.svg")
        script(name, *arguments, "-o", out)
        with open(out, encoding="utf-8") as file:
            return file.read()

    text = words("rate.py", real)
    for word in ("Test GPU on node17: rate of copies", ">GB/s<", "limit 2 GB/s", "1 MiB", "h2d pinned", "d2h pageable",
                 "size of a copy"):
        check(word in text, f"rate.py does not say '{word}'")
    check("SIMULATED" not in text, "a measurement is not called simulated")
    check("Gbit/s" in words("rate.py", real, "--gbit"), "--gbit")
    text = words("rate.py", many)
    check("SIMULATED Test GPU: rate" in text and "node17" not in text, "a simulated trace says so, and names no host")
    check("limit 4 GB/s both ways" in text, "the limit of both directions")
    text = words("latency.py", real)
    check("5 us + bytes / 1 GB/s" in text and "10 us" in text, "latency.py shows the fit and its units")
    check("us + bytes" not in words("latency.py", real, "--no-fit"), "--no-fit")
    text = words("samples.py", real)
    check("95 % interval of the median" in text and "+2 %" in text, "samples.py shows intervals in percent")
    check("median 37.77 us" in words("samples.py", real, "--bytes", "32KiB"), "samples.py --bytes")


def bad_files(where):
    def path(name):
        return os.path.join(where, name)

    with open(path("text.h5"), "w") as file:
        file.write("no HDF5")
    open(path("empty.h5"), "w").close()
    write_trace(path("good.h5"), [({}, ONE_WAY)])
    with open(path("good.h5"), "rb") as whole, open(path("half.h5"), "wb") as half:
        half.write(whole.read()[:3000])
    h5py.File(path("foreign.h5"), "w").close()
    write_trace(path("newer.h5"), [({}, ONE_WAY)], schema_version="2.0")
    write_trace(path("nothing.h5"), [])
    write_trace(path("probes.h5"), [], schema_version="1.1")
    with h5py.File(path("probes.h5"), "a") as file:
        group = file.create_group("probes/0000")
        for name in ("probe", "device", "operation", "type", "form", "space"):
            group.attrs[name] = "x"
        for name, columns in (("points", "blocks threads ilp access_bytes bytes alone work first_sample samples stop"),
                              ("samples", "intact repeats host_us device_us cycles")):
            group[name] = np.zeros(0, dtype=[(c, "f8") for c in columns.split()])
    write_trace(path("pointless.h5"), [({}, {})])
    write_trace(path("timeless.h5"), [({}, {8: [[math.nan]]})])
    write_trace(path("column.h5"), [({}, ONE_WAY)])
    with h5py.File(path("column.h5"), "a") as file:
        rows = file["sweeps/0000/samples"][()]
        del file["sweeps/0000/samples"]
        file["sweeps/0000/samples"] = rows[["trial", "lane", "repeats"]]
    write_trace(path("table.h5"), [({}, ONE_WAY)])
    with h5py.File(path("table.h5"), "a") as file:
        del file["sweeps/0000/points"]
    write_trace(path("word.h5"), [({}, ONE_WAY)])
    with h5py.File(path("word.h5"), "a") as file:
        del file["sweeps/0000"].attrs["pattern"]
    table = [("nosuch.h5", "no such file"), (".", "folder"), ("text.h5", "no HDF5"), ("empty.h5", "no HDF5"),
             ("half.h5", "half.h5"), ("foreign.h5", "no npgpu trace"), ("newer.h5", "2.0"), ("nothing.h5", "no sweep"),
             ("probes.h5", "holds probes only"),
             ("pointless.h5", "no usable point"), ("timeless.h5", "no usable point"), ("column.h5", "no column"),
             ("table.h5", "no table 'points'"), ("word.h5", "no attribute 'pattern'")]
    for name in ("rate.py", "latency.py", "samples.py"):
        for bad, word in table if name == "rate.py" else table[::5]:  # they share the loader
            out = path("bad.png")
            ended = script(name, path(bad), "-o", out)
            check(ended.returncode == 2, f"{name} {bad}: exit code {ended.returncode}")
            check(word in ended.stderr and "Traceback" not in ended.stderr and bad in ended.stderr,
                  f"{name} {bad}: {ended.stderr}")
            check(not os.path.exists(out), f"{name} {bad} left a picture")
    for name, arguments, word in [("rate.py", ["--sweep", "7"], "no sweep 7"), ("rate.py", ["-o", path("x.gif")], "x.gif"),
                                  ("rate.py", ["--sweep", "x"], "x"), ("samples.py", ["--bytes", "5"], "5 B"),
                                  ("samples.py", ["--bytes", "many"], "many"),
                                  ("latency.py", ["-o", path("no/such/x.png")], "cannot write")]:
        ended = script(name, path("good.h5"), "-o", path("x.png"), *arguments)
        check(ended.returncode == 2 and word in ended.stderr and "Traceback" not in ended.stderr,
              f"{name} {arguments}: {ended.returncode} {ended.stderr}")


with tempfile.TemporaryDirectory(prefix="npgpu-plots-") as folder:
    numbers_by_hand(folder)
    same_numbers_as_the_program(folder)
    pictures(folder)
    bad_files(folder)
check.finish()
