"""The k-th device call fails, for every k: no crash, an honest exit code, and a trace that opens and holds every
point that was announced as saved."""
import json
import os
import re

import h5py

from npgpu_run import SOURCE, Checks, folder, run

check = Checks()
BASE = json.load(open(os.path.join(SOURCE, "data/devices/plain.json")))
ARGUMENTS = ["transfer", "--sizes", "8,4096", "--schedule", "classic", "--repeats", "2", "--trials", "2"]
BOTH = ["--direction", "h2d,d2h"]
CASES = [BOTH, BOTH + ["--async"], BOTH + ["--pattern", "pingpong"], ["--async", "--pattern", "duplex"]]


def faulty(where, faults):
    path = os.path.join(where, "faulty.json")
    json.dump({**BASE, "faults": faults}, open(path, "w"))
    return path


def look(trace, result, what):
    check(result.code in (0, 1), f"{what}: exit {result.code}: {result.err[-300:]}")
    saved = re.findall(r"^saved (\d+) (\d+):", result.err, re.M)
    if not os.path.exists(trace):
        check(not saved, f"{what}: announced points, but no trace")
        return
    with h5py.File(trace) as f:
        for sweep, size in saved:
            check(int(size) in f[f"sweeps/{int(sweep):04d}/points"]["bytes"], f"{what}: {sweep} {size} was announced")
        if result.code == 1:
            errors = [s.attrs["error"] for s in f["sweeps"].values()]
            check(any(errors), f"{what}: the trace says what failed: {errors}")


with folder() as where:
    for extra in CASES:
        for kind in ("fail", "lost"):
            k, clean = 0, 0
            while clean < 1 and k < 400:
                k += 1
                trace = os.path.join(where, "t.h5")
                result = run(*ARGUMENTS, *extra, "--device", "sim:" + faulty(where, [{"call": k, "kind": kind}]),
                             "--output", trace, "--force")
                what = f"{' '.join(extra)}: call {k} {kind}"
                look(trace, result, what)
                clean += result.code == 0
                if result.code:
                    check("npgpu: " in result.err and "failed" in result.err, f"{what}: said so")
            check(5 < k < 400, f"{extra} {kind}: every call up to {k} failed once")
            if os.path.exists(trace):
                os.remove(trace)

    # A corrupt byte is found at whatever call it happens, if its target is what the check looks at; and it is kept.
    found = 0
    for k in range(1, 60):
        trace = os.path.join(where, "c.h5")
        result = run(*ARGUMENTS, *BOTH, "--device", "sim:" + faulty(where, [{"call": k, "kind": "corrupt"}]), "--output", trace, "--force")
        look(trace, result, f"corrupt {k}")
        if result.code == 1:
            found += 1
            check("payload wrong" in result.err, f"corrupt {k}: {result.err[-200:]}")
            with h5py.File(trace) as f:
                check(any((s["samples"]["intact"] == 0).any() for s in f["sweeps"].values()), f"corrupt {k}: kept as measured")
                check(len(f["sweeps"]) == 2 and len(f["sweeps/0001/points"]) == 2, f"corrupt {k}: the rest carried on")
    check(found >= 4, f"corrupt payloads found at {found} calls")
check.finish()
