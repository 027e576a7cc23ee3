#!/usr/bin/env python3
"""The adaptive schedule's medians beside the classic schedule's, and the time each takes.

    adaptive_against_classic.py build/default/npgpu [--sizes 8,4KiB,...] [-- options of npgpu transfer]

Both schedules run on every case, the classic one between two adaptive runs (A C A), so that drift of the machine
shows as a difference between the two adaptive runs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

STANDARD = "1,8,64,512,4KiB,12KiB,32KiB,128KiB,512KiB,2MiB,8MiB,32MiB,64MiB,192MiB"


def measure(program, folder, schedule, sizes, case):
    path = os.path.join(folder, "t.h5")
    done = subprocess.run([program, "transfer", "--schedule", schedule, "--sizes", sizes, "--output", path, "--force", "--json",
                           *case], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    points, wall = {}, 0.0
    for number, sweep in enumerate(json.loads(done.stdout)["sweeps"]):
        for point in sweep["points"]:
            points[number, point["bytes"], point["lane"]] = point["time_us"]["value"]
        seen = {}
        for point in sweep["points"]:
            seen[point["bytes"]] = point["wall_us"]
        wall += sum(seen.values()) * 1e-6
    return points, wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npgpu")
    parser.add_argument("--sizes", default=STANDARD)
    parser.add_argument("--case", action="append", help="options of npgpu transfer for one case, in one string")
    options = parser.parse_args()
    cases = options.case or ["--device host"]
    total = within = drifted = 0
    adaptive_s = classic_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            words = case.split()
            first, t1 = measure(options.npgpu, folder, "adaptive", options.sizes, words)
            classic, t2 = measure(options.npgpu, folder, "classic", options.sizes, words)
            last, t3 = measure(options.npgpu, folder, "adaptive", options.sizes, words)
            adaptive_s += (t1 + t3) / 2
            classic_s += t2
            worst = []
            for key, reference in classic.items():
                off = first[key] / reference - 1
                total += 1
                within += abs(off) <= 0.01
                if abs(off) > 0.01:
                    drifted += abs(last[key] / first[key] - 1) > 0.01
                    worst.append((abs(off), key, off, last[key] / reference - 1))
            print(f"{case}: {len(classic)} points, {len(worst)} beyond 1 %, adaptive {t1:.2f} s, classic {t2:.2f} s")
            for _, (_, size, lane), off, again in sorted(worst, reverse=True)[:5]:
                print(f"    {size} B lane {lane}: {off * 100:+.2f} %, second adaptive run {again * 100:+.2f} %")
    print(f"within 1 %: {within} of {total} ({100 * within / total:.1f} %); of the others {drifted} differ as much between the two "
          f"adaptive runs; time {adaptive_s:.2f} s against {classic_s:.2f} s (1/{classic_s / adaptive_s:.1f})")


main()
