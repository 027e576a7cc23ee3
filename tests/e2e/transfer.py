"""Whole runs on a simulated device with known truth, and on the host."""
import json
import os
import re
import shutil
import subprocess

import numpy as np

from npgpu_run import PROGRAM, SOURCE, Checks, folder, needs, run, written

h5py = needs("h5py")
check = Checks()

with folder() as where:
    trace = os.path.join(where, "t.h5")
    made = run("transfer", "--device", "sim:plain", "--direction", "h2d,d2h", "--start", "1", "--end", "4MiB", "--schedule", "classic", "--target-time", "5ms", "--json",
               "--output", trace)
    check(made.code == 0, made.err)
    report = json.loads(made.out)
    check(len(report["transfers"]) == 2, "two directions, two series")
    # Expected times come from the spec by hand: a blocking copy costs call + latency + bytes/rate.
    spec = json.load(open(os.path.join(SOURCE, "data/devices/plain.json")))
    with h5py.File(trace) as f:
        check(f.attrs["schema_name"] == "npgpu-trace", "schema name")
        check(f.attrs["complete"] == 1, "a finished run is complete")
        all_series = f["transfers"]
        check(len(all_series) == 2, "two series in the trace")
        for series in all_series.values():
            visits, samples = series["visits"][:], series["samples"][:]
            check(len(visits) > 60, f"{len(visits)} points from 1 B to 4 MiB")
            check(visits["bytes"][-1] == 4194307, "the last is 4 MiB + 3")
            check(len(samples) == 7 * len(visits), "seven trials a point")
            check(set(samples["intact"]) <= {1, -1} and (samples["intact"] == 1).sum() == len(visits), "one check a point")
            us = samples["host_us"] / samples["repeats"]
            size = visits["bytes"][samples["visit"]]
            slope, offset = np.polyfit(size, us, 1)
            true = spec["links"][series.attrs["direction"]]["pinned"]
            check(abs(1e-3 / slope - true["rate_gb_s"]) < 1e-6, f"rate {1e-3 / slope} GB/s, {true} in the spec")
            residual = us - (offset + slope * size)
            check(np.max(np.abs(residual)) < 1e-6, f"a straight line: worst residual {np.max(np.abs(residual))} us")

    shown = run("report", trace, "--all")
    check(shown.code == 0 and "SIMULATED" in shown.out, "a simulated report says so")
    check("10.0" in shown.out, "its rate is shown")

    again = os.path.join(where, "again.h5")
    run("transfer", "--device", "sim:plain", "--direction", "h2d,d2h", "--end", "4MiB", "--schedule", "classic", "--target-time", "5ms", "--quiet", "--output", again)
    with h5py.File(trace) as a, h5py.File(again) as b:
        check(a["transfers/0000/samples"][:].tobytes() == b["transfers/0000/samples"][:].tobytes(), "simulated runs repeat exactly")
    check(run("compare", trace, again).code == 0, "equal traces compare equal")

    slow = os.path.join(where, "slow.json")
    spec["links"]["h2d"]["pinned"]["rate_gb_s"] = 5
    written(slow, spec)
    slower = os.path.join(where, "slower.h5")
    made = run("transfer", "--device", "sim:" + slow, "--direction", "h2d,d2h", "--end", "4MiB", "--schedule", "classic", "--target-time", "5ms", "--quiet", "--output", slower)
    check(made.code == 0, made.err)
    compared = run("compare", trace, slower)
    check(compared.code == 3, f"half the rate is a regression: {compared.code}")
    check(run("compare", trace, slower, "--tolerance", "300%").code == 0, "unless it is tolerated")
    check(run("compare", slower, trace).code == 0, "and faster is none")
    broken = os.path.join(where, "broken.h5")
    shutil.copy(trace, broken)
    with h5py.File(broken, "r+") as f:
        rows = f["transfers/0000/samples"][:]
        rows["intact"][rows["visit"] == 0] = 0
        f["transfers/0000/samples"][:] = rows
    for pair in ((trace, broken), (broken, trace)):
        compared = run("compare", *pair)
        check(compared.code == 6 and "1 broken" in compared.out, f"a point with wrong results is a failure: {compared.code}")

    every = os.path.join(where, "every.h5")
    made = run("characterize", "--device", "sim:plain,host", "--output", every, "--rounds", "1", "--trial-time", "200us", "--budget", "10ms")
    check(made.code == 0, made.err)
    check("SIMULATED" in made.out and "\n  copy within the host " in made.out, "characterize summarizes both devices")
    cases = [line for line in made.err.splitlines() if re.match(r"\d+/\d+ ", line)]
    with h5py.File(every) as f:
        check(len(cases) == sum(len(f[kind]) for kind in ("transfers", "probes", "jobs", "calls") if kind in f), f"a line for each case: {len(cases)}")
    check("\nsaved " not in made.err, "and none for each point")
    screen = run("report", every, "--overview").out
    for case in ("H2D pinned, async", "both ways pinned, async", "D2D, async"):
        check(case in screen, case + " is in the overview")
    short, whole = (run("report", every, *options, "--json").out for options in (["--overview"], []))
    check(json.loads(short)["document"] == "npgpu-overview" and 10 * len(short) < len(whole),
          f"the overview in JSON is short: {len(short)} of {len(whole)} characters")
    check(f"shown are 1 of {len(cases)} series" in run("report", every, "--case", "transfers:0").out, "one case of many says so")

    dry = run("characterize", "--device", "host", "--dry-run", "--output", os.path.join(where, "dry.h5"))
    check(dry.code == 0 and "points" in dry.out and not os.path.exists(os.path.join(where, "dry.h5")), "dry run only says")
    check(json.loads(run("characterize", "--device", "host", "--dry-run", "--json").out)["about_s"] > 0, "also in JSON")

    env = run("transfer", "--quiet", "--json", "--output", os.path.join(where, "env.h5"),
              env={"NPGPU_DEVICE": "sim:plain", "NPGPU_SIZES": "64", "NPGPU_SCHEDULE": "adaptive"})
    check(env.code == 0 and json.loads(env.out)["transfers"][0]["lanes"][0]["points"][0]["bytes"] == 64, "options from the environment")

    # What a user reads first.
    quiet = run("transfer", "--device", "sim:plain", "--sizes", "8,64", "--quiet", "--output", os.path.join(where, "quiet.h5"))
    check(quiet.code == 0 and quiet.err == "" and quiet.out.count("\n") == 1, f"--quiet ends with one line: {quiet.out} {quiet.err}")
    check(quiet.out.startswith("done: 2 points measured") and quiet.out.endswith("quiet.h5\n"), f"its verdict and the trace's name: {quiet.out}")
    lines = run("transfer", "--device", "sim:plain", "--sizes", "8,64", "--progress", "points", "--output", os.path.join(where, "p.h5"))
    check(re.findall(r"^saved (/transfers/0000 \d+): (\d+ B) .* GB/s|B/s", lines.err, re.M), f"a line for each point if asked: {lines.err}")
    two = [subprocess.Popen([PROGRAM, "transfer", "--device", "sim:plain", "--sizes", "8", "--quiet"], cwd=where, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    names = {one.communicate()[0].split("trace: ")[1] for one in two}
    check([one.returncode for one in two] == [0, 0] and len(names) == 2, f"two runs at once have traces of their own: {names}")
    check(all(name.startswith("npgpu-traces/") and os.path.exists(os.path.join(where, name.strip())) for name in names) and
          not [name for name in os.listdir(where) if name.startswith("npgpu-") and name.endswith(".h5")], f"in one folder: {names}")
    for command in (["transfer"], ["calls"], ["energy"], ["probe", "compute"], ["characterize"]):  # of a node all GPUs
        planned = run(*command, "--device", "sim:h200x2", "--dry-run", cwd=where)
        check(planned.code == 0 and all(f"sim:h200x2:{gpu}" in planned.out for gpu in range(2)), f"{command} of a node: {planned.err}")
    for columns in (60, 80, 100):
        for arguments in (["transfer", "--help"], ["characterize", "--device", "host", "--dry-run"], ["info", "--words"], ["info"]):
            shown = run(*arguments, env={"COLUMNS": str(columns)})
            before = shown.out.split("\nExamples:")[0]
            wide = [line for line in before.splitlines() if len(line) > columns and " " in line[31:]]
            check(not wide, f"{arguments} at {columns} columns: {wide[:3]}")
    shown = run("transfer", "-h")
    check(shown.out == run("help", "transfer").out == run("transfer", "--help").out, "three ways to ask for help")

    # A user's own jobs end with the best cut, and ask for nothing that was not asked for.
    own = run("streams", "--device", "sim:h200", "--bytes-in", "8MiB", "--bytes-out", "8MiB", "--kernel", "compute",
              "--iterations", "16", "--chunks", "1,2,8", "--output", os.path.join(where, "own.h5"))
    check(own.code == 0 and re.search(r"^best of measured: 8 MiB in, .* 8 streams: ", own.out, re.M), f"own jobs: {own.out[-300:]}")
    check("missing" not in own.out, f"own jobs lack nothing: {own.out[-600:]}")

    # A measured node can be simulated, and a prediction drawn.
    costs = os.path.join(where, "costs.h5")
    run("streams", "--device", "sim:h200", "--experiment", "overheads", "--quiet", "--output", costs)
    job = ["--bytes-in", "64MB", "--kernel-ms", "1", "--bytes-out", "1KiB"]
    predicted = run("predict", costs, *job, "--draw")
    check(predicted.code == 0 and "64 MB in" in predicted.out and "copies below 4 KiB were not measured" in predicted.out, predicted.out[-600:] + predicted.err)
    simulated = run("simulate", "--trace", costs, *job, "--streams", "8")
    drawing = [line for line in simulated.out.splitlines() if "copy-in" in line or "compute" in line]
    check(simulated.code == 0 and drawing and all(line in predicted.out for line in drawing), f"the same drawing: {drawing}")

    # A file that is replaced stays as it was if the new one cannot be written.
    old = os.path.join(where, "old.csv")
    open(old, "w").write("precious\n")
    failed = subprocess.run(["sh", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$0" "$@"', PROGRAM, "export", trace, "--force", "-o", old],
                            capture_output=True, text=True)
    check(failed.returncode == 1 and "old.csv" in failed.stderr, f"an export that does not fit: {failed.returncode} {failed.stderr}")
    check(open(old).read() == "precious\n" and [n for n in os.listdir(where) if n.endswith(".tmp")] == [], "leaves the old file")
    check(run("export", trace, "--force", "-o", old).code == 0 and open(old).read().count("\n") > 100, "and one that fits replaces it")

    for arguments in ([], ["--help"], ["--version"], ["info", "--words"], ["info"], ["info", "--json"],
                      *[[c, "--help"] for c in ("transfer", "characterize", "report", "compare", "export", "info")]):
        shown = run(*arguments)
        check(shown.code == 0 and shown.out and not shown.err, f"{arguments}: {shown.code} {shown.err}")
check.finish()
