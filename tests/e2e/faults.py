"""The k-th device call fails, for every k: no crash, an honest exit code, and a trace that opens and holds every
point that was announced as saved. With STRIDE=7 in the environment for every seventh k, which
meets every call of a loop of fewer: for a program that is slow."""
import json
import os
import re

from npgpu_run import SOURCE, Checks, folder, needs, run, written

h5py = needs("h5py")
check = Checks()
STRIDE = int(os.environ.get("STRIDE", "1"))
QUICK = ["--schedule", "classic", "--trials", "2", "--progress", "points"]
BASE = json.load(open(os.path.join(SOURCE, "data/devices/plain.json")))
COPIES = ["transfer", "--sizes", "8,4096", "--repeats", "2", *QUICK]
BOTH = ["--direction", "h2d,d2h"]
# A device with few shapes: blocks of one warp, two to an SM.
SMALL = json.load(open(os.path.join(SOURCE, "data/devices/gts250.json")))
SMALL["hardware"].update(sms=2, block_threads=32, warps=2, blocks=2)
# Of each kind its device, its commands, and how many calls a run has: two cases, or one.
KINDS = {
    "probes": (SMALL, [["probe", "compute,bandwidth", "--operation", "fma,read", "--type", "fp32", "--repeats", "2", *QUICK]], 10, 400),
    "jobs": (SMALL, [["streams", "--bytes-in", "4KiB", "--bytes-out", "4KiB", "--kernel", "compute,none", "--threads", "32", "--chunks", "1,2",
                      *QUICK]], 10, 100),
    "transfers": (BASE, [[*COPIES, *BOTH], [*COPIES, *BOTH, "--async"], [*COPIES, *BOTH, "--pattern", "pingpong"],
                         [*COPIES, "--async", "--pattern", "duplex"]], 5, 400)}


def attempt(where, kind, spec, arguments, call, fault):
    """Every point that was announced is in the trace, and a case that failed says so there. Returns the result, and of each
    case how many visits it has and whether it has an error."""
    trace, what = os.path.join(where, "t.h5"), f"{' '.join(arguments[:2] + arguments[-3:])}: call {call} {fault}"
    if os.path.exists(trace):
        os.remove(trace)
    device = written(os.path.join(where, "faulty.json"), {**spec, "faults": [{"call": call, "kind": fault}]})
    result = run(*arguments, "--device", "sim:" + device, "--output", trace)
    check(result.code in (0, 1), f"{what}: exit {result.code}: {result.err[-300:]}")
    saved = re.findall(rf"^saved /({kind}/\d+) ", result.err, re.M)
    if not os.path.exists(trace):
        check(not saved, f"{what}: announced points, but no trace")
        return result, [], []
    with h5py.File(trace) as f:
        for series in set(saved):
            check(len(f[series]["visits"]) >= saved.count(series), f"{what}: {series} lacks points that were announced")
        cases = list(f[kind].values())
        held, wrong = [len(s["visits"]) for s in cases], [bool(s.attrs["error"]) for s in cases]
        check(any(wrong) == (result.code == 1), f"{what}: the trace says what failed: {wrong}")
        if result.code and fault == "corrupt":
            check(any((s["samples"]["intact"] == 0).any() for s in cases), f"{what}: kept as measured")
    if result.code:
        failed = [line for line in result.err.splitlines() if line.startswith("failed: ")]
        check(len(failed) == sum(wrong), f"{what}: a sentence for each case that failed: {failed}")
        check(result.err.splitlines()[-1] == f"npgpu: {len(failed)} failed, see above", f"{what}: and how many: {result.err[-200:]}")
    return result, held, wrong


with folder() as where:
    for kind, (spec, commands, least, most) in KINDS.items():
        for arguments in commands:
            done, whole, _ = attempt(where, kind, spec, arguments, 10**6, "fail")
            check(done.code == 0 and len(whole) == 1 + ("duplex" not in arguments) and min(whole) >= 2, f"{arguments}: a few points: {whole}")
            for fault in ("fail", "lost"):
                k, code, seen = 0, 1, set()
                while code and k < most:
                    k += STRIDE
                    result, held, wrong = attempt(where, kind, spec, arguments, k, fault)
                    code = result.code
                    seen.add(tuple(wrong))
                    check(all(bad or n == every for bad, n, every in zip(wrong, held, whole)), f"{arguments}: call {k} {fault}: the others are whole: {held}")
                check(least < k < most, f"{arguments} {fault}: every call up to {k} failed once")
                # A lost device stays lost until the program ends.
                check(kind == "transfers" or ((True, False) in seen) == (fault == "fail"), f"{kind} {fault}: whether the second carried on: {seen}")
            if kind == "transfers" and arguments is not commands[0]:
                continue

            # A corrupt byte is found at whatever call it happens, if its target is what the check looks at.
            found = 0
            for call in range(1, {"probes": 30, "jobs": k, "transfers": 60}[kind], STRIDE):
                result, held, _ = attempt(where, kind, spec, arguments, call, "corrupt")
                if result.code:
                    found += 1
                    check(" wrong at " in result.err, f"{kind}: corrupt {call}: {result.err[-300:]}")
                    check(held == whole, f"{kind}: corrupt {call}: the rest carried on: {held}")
                    check(kind != "probes" or "byte" in result.err and run("derive", os.path.join(where, "t.h5")).code == 0,
                          f"probes: corrupt {call}: the rest is derived")
            check(found >= max(1, (3 if kind == "probes" else 4) // STRIDE), f"{kind}: corrupt results found at {found} calls")
check.finish()
