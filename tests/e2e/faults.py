"""The k-th device call fails, for every k: no crash, an honest exit code, and a trace that opens and holds every
point that was announced as saved. With STRIDE=7 in the environment for every seventh k, which
meets every call of a loop of fewer: for a program that is slow."""
import json
import os
import re

from npgpu_run import SOURCE, Checks, folder, needs, run

h5py = needs("h5py")
check = Checks()
STRIDE = int(os.environ.get("STRIDE", "1"))
BASE = json.load(open(os.path.join(SOURCE, "data/devices/plain.json")))
ARGUMENTS = ["transfer", "--sizes", "8,4096", "--schedule", "classic", "--repeats", "2", "--trials", "2", "--progress", "points"]
BOTH = ["--direction", "h2d,d2h"]
CASES = [BOTH, BOTH + ["--async"], BOTH + ["--pattern", "pingpong"], ["--async", "--pattern", "duplex"]]


def faulty(where, faults):
    path = os.path.join(where, "faulty.json")
    json.dump({**BASE, "faults": faults}, open(path, "w"))
    return path


def look(trace, result, what):
    check(result.code in (0, 1), f"{what}: exit {result.code}: {result.err[-300:]}")
    saved = re.findall(r"^saved /(\w+/\d+) (\d+):", result.err, re.M)
    if not os.path.exists(trace):
        check(not saved, f"{what}: announced points, but no trace")
        return
    with h5py.File(trace) as f:
        for series, point in saved:
            check(int(point) < len(f[series]["visits"]), f"{what}: {series} {point} was announced")
        if result.code == 1:
            errors = [s.attrs["error"] for s in f["transfers"].values()]
            check(any(errors), f"{what}: the trace says what failed: {errors}")


# A device with few shapes: blocks of one warp, two to an SM.
SMALL = json.load(open(os.path.join(SOURCE, "data/devices/gts250.json")))
SMALL["hardware"].update(sms=2, block_threads=32, warps=2, blocks=2)
PROBES = ["probe", "compute,bandwidth", "--operation", "fma,read", "--schedule", "classic", "--repeats", "2", "--trials", "2", "--progress", "points"]


def look_at_probes(trace, result, what):
    """Every shape that was announced is in the trace, and a case that failed says so there. The cases with an error."""
    check(result.code in (0, 1), f"{what}: exit {result.code}: {result.err[-300:]}")
    saved = [int(n) for n in re.findall(r"^saved /probes/(\d+) ", result.err, re.M)]
    if not os.path.exists(trace):
        check(not saved, f"{what}: announced shapes, but no trace")
        return []
    with h5py.File(trace) as f:
        for probe in set(saved):
            check(len(f[f"probes/{probe:04d}/visits"]) >= saved.count(probe), f"{what}: {probe} lacks shapes that were announced")
        errors = [p.attrs["error"] for p in f["probes"].values()]
        check(bool(any(errors)) == (result.code == 1), f"{what}: the trace says what failed: {errors}")
        return [bool(error) for error in errors]


def probes(where):
    def attempt(k, kind):
        trace = os.path.join(where, "p.h5")
        spec = os.path.join(where, "small.json")
        json.dump({**SMALL, "faults": [{"call": k, "kind": kind}]}, open(spec, "w"))
        result = run(*PROBES, "--device", "sim:" + spec, "--output", trace, "--force")
        what = f"probes: call {k} {kind}"
        wrong = look_at_probes(trace, result, what)
        if result.code:
            failed = [line for line in result.err.splitlines() if line.startswith("failed: ")]
            check(len(failed) == sum(wrong), f"{what}: a sentence for each case that failed: {failed}")
            check(result.err.splitlines()[-1] == f"npgpu: {len(failed)} failed, see above", f"{what}: and how many: {result.err[-200:]}")
        return trace, result, wrong

    whole, _, _ = attempt(10**6, "fail")
    with h5py.File(whole) as f:
        shapes = [len(p["visits"]) for p in f["probes"].values()]
    check(len(shapes) == 2 and min(shapes) >= 3, f"two cases of a few shapes: {shapes}")
    # Each case opens the device anew, so both fail at their k-th call, until one has no so many.
    for kind in ("fail", "lost"):
        k, seen = 0, set()
        while k < 400:
            k += STRIDE
            trace, result, wrong = attempt(k, kind)
            seen.add(tuple(wrong))
            if result.code == 0:
                break
            if os.path.exists(trace):
                with h5py.File(trace) as f:
                    for number, probe in enumerate(f["probes"].values()):
                        check(wrong[number] or len(probe["visits"]) == shapes[number], f"probes: call {k} {kind}: {number} is whole")
        check(10 < k < 400, f"probes {kind}: every call up to {k} failed once")
        # A lost device stays lost until the program ends.
        check(((True, False) in seen) == (kind == "fail"), f"probes {kind}: whether the second carried on: {seen}")

    found = 0
    for k in range(1, 30, STRIDE):
        trace, result, _ = attempt(k, "corrupt")
        if result.code == 0:
            continue
        found += 1
        check(" wrong at " in result.err and "byte" in result.err, f"probes: corrupt {k}: {result.err[-300:]}")
        with h5py.File(trace) as f:
            check(any((p["samples"]["intact"] == 0).any() for p in f["probes"].values()), f"probes: corrupt {k}: kept as measured")
            check([len(p["visits"]) for p in f["probes"].values()] == shapes, f"probes: corrupt {k}: the rest carried on")
        check(run("derive", trace).code == 0, f"probes: corrupt {k}: the rest is derived")
    check(found >= max(1, 3 // STRIDE), f"probes: corrupt results found at {found} calls")


JOBS = ["streams", "--bytes-in", "4KiB", "--bytes-out", "4KiB", "--kernel", "compute,none", "--threads", "32", "--chunks", "1,2",
        "--schedule", "classic", "--trials", "2", "--progress", "points"]


def jobs(where):
    """Likewise for jobs in streams: two cases of two jobs, which one runner serves."""
    spec = os.path.join(where, "jobs.json")

    def attempt(k, kind):
        trace = os.path.join(where, "j.h5")
        if os.path.exists(trace):
            os.remove(trace)
        json.dump({**SMALL, "faults": [{"call": k, "kind": kind}]}, open(spec, "w"))
        result = run(*JOBS, "--device", "sim:" + spec, "--output", trace)
        what = f"jobs: call {k} {kind}"
        check(result.code in (0, 1), f"{what}: exit {result.code}: {result.err[-300:]}")
        saved = [int(n) for n in re.findall(r"^saved /jobs/(\d+) ", result.err, re.M)]
        if not os.path.exists(trace):
            check(not saved, f"{what}: announced jobs, but no trace")
            return result, [], []
        with h5py.File(trace) as f:
            held = [len(s["visits"]) for s in f["jobs"].values()]
            wrong = [bool(s.attrs["error"]) for s in f["jobs"].values()]
            for case in set(saved):
                check(held[case] >= saved.count(case), f"{what}: {case} lacks jobs that were announced")
            check(any(wrong) == (result.code == 1), f"{what}: the trace says what failed: {wrong}")
            if kind == "corrupt" and result.code:
                check(any((s["samples"]["intact"] == 0).any() for s in f["jobs"].values()), f"{what}: kept as measured")
        return result, held, wrong

    whole = attempt(10**6, "fail")
    check(whole[0].code == 0 and whole[1] == [2, 2], f"two cases of two jobs: {whole[1:]}")
    for kind in ("fail", "lost"):
        k, seen = 0, set()
        while k < 100:
            k += STRIDE
            result, held, wrong = attempt(k, kind)
            if result.code == 0:
                break
            seen.add(tuple(wrong))
            check(all(bad or n == 2 for bad, n in zip(wrong, held)), f"jobs: call {k} {kind}: a case without error is whole: {held}")
        check(10 < k < 100, f"jobs {kind}: every call up to {k} failed once")
        check(((True, False) in seen) == (kind == "fail"), f"jobs {kind}: whether the second case carried on: {seen}")
    found = [k for k in range(1, k, STRIDE) if attempt(k, "corrupt")[0].code]
    check(len(found) >= max(1, 4 // STRIDE), f"jobs: corrupt results found at calls {found}")


with folder() as where:
    probes(where)
    jobs(where)
    for extra in CASES:
        for kind in ("fail", "lost"):
            k, clean = 0, 0
            while clean < 1 and k < 400:
                k += STRIDE
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
    for k in range(1, 60, STRIDE):
        trace = os.path.join(where, "c.h5")
        result = run(*ARGUMENTS, *BOTH, "--device", "sim:" + faulty(where, [{"call": k, "kind": "corrupt"}]), "--output", trace, "--force")
        look(trace, result, f"corrupt {k}")
        if result.code == 1:
            found += 1
            check(" wrong at " in result.err, f"corrupt {k}: {result.err[-200:]}")
            with h5py.File(trace) as f:
                check(any((s["samples"]["intact"] == 0).any() for s in f["transfers"].values()), f"corrupt {k}: kept as measured")
                check(len(f["transfers"]) == 2 and len(f["transfers/0001/visits"]) == 2, f"corrupt {k}: the rest carried on")
    check(found >= max(1, 4 // STRIDE), f"corrupt payloads found at {found} calls")
check.finish()
