"""Whole runs on a simulated device with known truth, and on the host."""
import json
import os

import h5py
import numpy as np

from npgpu_run import SOURCE, Checks, folder, run

check = Checks()

with folder() as where:
    trace = os.path.join(where, "t.h5")
    made = run("transfer", "--device", "sim:plain", "--direction", "h2d,d2h", "--start", "1", "--end", "4MiB", "--target-time", "5ms", "--json",
               "--output", trace)
    check(made.code == 0, made.err)
    report = json.loads(made.out)
    check(len(report["sweeps"]) == 2, "two directions, two sweeps")
    # Expected times come from the spec by hand: a blocking copy costs call + latency + bytes/rate.
    spec = json.load(open(os.path.join(SOURCE, "data/devices/plain.json")))
    with h5py.File(trace) as f:
        check(f.attrs["schema_name"] == "npgpu-trace", "schema name")
        check(f.attrs["complete"] == 1, "a finished run is complete")
        sweeps = f["sweeps"]
        check(len(sweeps) == 2, "two sweeps in the trace")
        for sweep in sweeps.values():
            points, samples = sweep["points"][:], sweep["samples"][:]
            check(len(points) > 60, f"{len(points)} points from 1 B to 4 MiB")
            check(points["bytes"][-1] == 4194307, "the last is 4 MiB + 3")
            check(len(samples) == 7 * len(points), "seven trials a point")
            check(set(samples["intact"]) <= {1, -1} and (samples["intact"] == 1).sum() == len(points), "one check a point")
            us = samples["host_us"] / samples["repeats"]
            size = points["bytes"][samples["point"]]
            slope, offset = np.polyfit(size, us, 1)
            true = spec["links"][sweep.attrs["direction"]]["pinned"]
            check(abs(1e-3 / slope - true["rate_gb_s"]) < 1e-6, f"rate {1e-3 / slope} GB/s, {true} in the spec")
            residual = us - (offset + slope * size)
            check(np.max(np.abs(residual)) < 1e-6, f"a straight line: worst residual {np.max(np.abs(residual))} us")

    shown = run("report", trace)
    check(shown.code == 0 and "SIMULATED" in shown.out, "a simulated report says so")
    check("10.0" in shown.out, "its rate is shown")

    again = os.path.join(where, "again.h5")
    run("transfer", "--device", "sim:plain", "--direction", "h2d,d2h", "--end", "4MiB", "--target-time", "5ms", "--quiet", "--output", again)
    with h5py.File(trace) as a, h5py.File(again) as b:
        check(a["sweeps/0000/samples"][:].tobytes() == b["sweeps/0000/samples"][:].tobytes(), "simulated runs repeat exactly")
    check(run("compare", trace, again).code == 0, "equal traces compare equal")

    slow = os.path.join(where, "slow.json")
    spec["links"]["h2d"]["pinned"]["rate_gb_s"] = 5
    json.dump(spec, open(slow, "w"))
    slower = os.path.join(where, "slower.h5")
    made = run("transfer", "--device", "sim:" + slow, "--direction", "h2d,d2h", "--end", "4MiB", "--target-time", "5ms", "--quiet", "--output", slower)
    check(made.code == 0, made.err)
    compared = run("compare", trace, slower)
    check(compared.code == 3, f"half the rate is a regression: {compared.code}")
    check(run("compare", trace, slower, "--tolerance", "300%").code == 0, "unless it is tolerated")
    check(run("compare", slower, trace).code == 0, "and faster is none")

    every = os.path.join(where, "every.h5")
    made = run("characterize", "--device", "sim:plain,host", "--output", every, "--trial-time", "200us", "--budget", "10ms")
    check(made.code == 0, made.err)
    check("SIMULATED" in made.out and "h2h" in made.out, "characterize summarizes both devices")
    check(made.err.count("\nsaved ") > 300, "a line a point once saved")
    for pattern in ("duplex", "pingpong"):
        check(pattern in run("report", every, "--overview").out, pattern + " is in the overview")

    dry = run("characterize", "--device", "host", "--dry-run", "--output", os.path.join(where, "dry.h5"))
    check(dry.code == 0 and "points" in dry.out and not os.path.exists(os.path.join(where, "dry.h5")), "dry run only says")
    check(json.loads(run("characterize", "--device", "host", "--dry-run", "--json").out)["about_s"] > 0, "also in JSON")

    env = run("transfer", "--quiet", "--json", "--output", os.path.join(where, "env.h5"),
              env={"NPGPU_DEVICE": "sim:plain", "NPGPU_SIZES": "64", "NPGPU_SCHEDULE": "adaptive"})
    check(env.code == 0 and json.loads(env.out)["sweeps"][0]["lanes"][0]["points"][0]["bytes"] == 64, "options from the environment")

    for arguments in ([], ["--help"], ["--version"], ["list"], ["list", "--json"], ["info"], ["info", "--json"],
                      *[[c, "--help"] for c in ("transfer", "characterize", "report", "compare", "export", "info", "list")]):
        shown = run(*arguments)
        check(shown.code == 0 and shown.out and not shown.err, f"{arguments}: {shown.code} {shown.err}")
check.finish()
