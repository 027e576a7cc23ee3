"""Devices of OpenCL on the processor, by PoCL: skipped, with the reason, where there is none."""
import json
import os
import sys

from npgpu_run import Checks, folder, run

check = Checks()
with folder() as where:
    cache = {"POCL_CACHE_DIR": os.path.join(where, "cache")}
    trace = os.path.join(where, "t.h5")
    found = {id: facts for id, facts in json.loads(run("info", "--json", env=cache).out).items() if id.startswith("opencl:")}
    here = [id for id, facts in found.items() if facts["device_type"] == "CPU"]
    if not here:
        why = run("info", "--device", "opencl:0", env=cache).err.strip() or f"it has {', '.join(found)}"
        print(f"skipped: OpenCL has no device that is a processor: {why}")
        sys.exit(77)
    cpu = here[0]
    check(found[cpu]["same_as"] == "host" and found[cpu]["compute_units"] >= 1, found[cpu])

    copies = run("transfer", "--device", cpu, "--async", "--direction", "h2d,d2h,d2d", "--sizes", "64,64KiB", "--rounds", "1",
                 "--output", trace, "--json", env=cache)
    check(copies.code == 0, copies.err)
    all_series = json.loads(copies.out)["transfers"]
    check([s["title"].split()[2] for s in all_series] == ["h2d", "d2h", "d2d"] and not any(s["error"] for s in all_series),
          copies.out)
    blocking = run("transfer", "--device", cpu, "--direction", "h2d,d2h", "--executor", "copy-engine,cpu", "--memory",
                   "pinned,pageable", "--pattern", "stream,pingpong", "--sizes", "64,64KiB", "--rounds", "1", "--output", trace,
                   "--force", env=cache)
    check(blocking.code == 0 and "NOT RUN" not in blocking.out, blocking.out + blocking.err)

    # Calls, and jobs of all kernels and orders, whose every word is compared.
    calls = run("calls", "--device", cpu, "--call", "launch,event-record,event-wait,event-elapsed,memset,malloc-free", "--rounds",
                "1", "--output", trace, "--force", env=cache)
    check(calls.code == 0 and "NOT RUN" not in calls.out and "launch" in calls.out, calls.out + calls.err)
    left_out = run("calls", "--device", cpu, "--call", "graph-launch", "--rounds", "1", "--output", trace, "--force", env=cache)
    check(left_out.code in (2, 77) and "OpenCL has no call like graph-launch" in left_out.err, left_out.err)
    jobs = run("streams", "--device", cpu, "--bytes-in", "64KiB", "--bytes-out", "32KiB", "--kernel", "none,increment,memory,compute",
               "--iterations", "3", "--chunks", "1,3", "--order", "breadth-first,depth-first,independent", "--pool",
               "pooled,fresh", "--threads", "64", "--rounds", "1", "--output", trace, "--force", env=cache, timeout=600)
    check(jobs.code == 0 and "NOT RUN" not in jobs.out and "failed" not in jobs.err, jobs.out + jobs.err)
    for words, text in ((("--issue", "graph"), "graphs are CUDA's"), (("--threads", "1024"), None)):
        refused = run("streams", "--device", cpu, "--bytes-in", "64KiB", "--chunks", "1", "--rounds", "1", "--output", trace, "--force",
                      *words, env=cache)
        check(refused.code == (2 if text else 0) and (text or "") in refused.err, f"{words}: {refused.code} {refused.err}")

    # Memory of an unknown limit has a figure all the same: nothing that was to be measured is missing.
    judged = run("check", "--level", "1", "--device", cpu, "--json", env=cache, timeout=600)
    rates = {f["metric"]: f["value"] for f in json.loads(judged.out)["findings"]}
    check(judged.code != 1 and rates.get("memory_read_rate", 0) > 0 and "memory_rate" not in rates, f"{judged.code} {rates} {judged.err}")

check.finish()
