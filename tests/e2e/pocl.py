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

check.finish()
