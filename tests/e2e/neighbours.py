"""Beside busy processes: what they disturb is marked with cause and name, and --require-quiet does not begin."""
import json
import os
import re
import subprocess
import sys

from npgpu_run import Checks, folder, run

check = Checks()
HOST = ["transfer", "--device", "host", "--sizes", "64,4KiB,1MiB", "--budget", "60ms"]


def busy(count):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]


with folder() as where:
    others = busy(len(os.sched_getaffinity(0)))
    try:
        names = {f"({process.pid})" for process in others}
        trace = os.path.join(where, "refused.h5")
        refused = run(*HOST, "--require-quiet", "--wait-quiet", "0.1s", "--output", trace)
        check(refused.code == 4 and "others used the host's processors" in refused.err, f"not beside others: {refused}")
        # Or another program that is as busy.
        named = re.search(r"most of all by .*?\((\d+)\)", refused.err)
        check(named and (f"({named[1]})" in names or os.path.exists(f"/proc/{named[1]}")), f"one is named: {refused.err}")
        check(not os.path.exists(trace), "and nothing is written")

        trace = os.path.join(where, "beside.h5")
        beside = run(*HOST, "--wait-quiet", "0.1s", "--output", trace)
        check(beside.code == 0 and "not quiet: host: others used" in beside.err, f"goes on and says so: {beside.err}")
        check("disturbed (" in beside.out.splitlines()[-1], f"the last line says so: {beside.out[-200:]}")
        points = json.loads(run("report", trace, "--json").out)["transfers"][0]["lanes"][0]["points"]
        check(len(points) == 3, f"{len(points)} points")
        for point in points:
            check("others used the host's processors" in (point["disturbed"] or ""), f"{point['bytes']} B: {point['disturbed']}")
        check(any(name in point["disturbed"] for name in names for point in points), f"named: {points[0]['disturbed']}")
        csv = run("export", trace, "--table", "transfers", "--summary").out
        check(csv.count("host-busy") == 3, "csv marks them too")
    finally:
        for process in others:
            process.kill()
            process.wait()
check.finish()
