#!/usr/bin/env python3
"""Runs npgpu alone and beside processes that use the GPU or the host: are figures that they disturb marked?

    neighbours.py ./npgpu tests/gpu/npgpu_tests_gpu --times 10
    neighbours.py ./npgpu --times 10                                without a GPU: the host's copies and probes

For each kind of neighbour and each command: in how many runs a mark names the expected cause, and how many figures were
off by more than 10 % from those of the quiet runs without a mark.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

GPU_COMMANDS = {
    "transfer": ["transfer", "--device", "cuda:0", "--sizes", "4KiB,1MiB,64MiB", "--rounds", "2"],
    "probe": ["probe", "compute", "--device", "cuda:0", "--type", "fp32,fp64", "--shape",
              "blocks=132,threads=1024,ilp=4", "--rounds", "2"],
    "streams": ["streams", "--device", "cuda:0", "--bytes-in", "8MiB", "--bytes-out", "8MiB", "--streams", "1,4",
                "--chunks", "4", "--rounds", "2"],
}
HOST_COMMANDS = {
    "transfer": ["transfer", "--device", "host", "--sizes", "4KiB,256KiB,64MiB", "--budget", "60ms"],
    "compute": ["probe", "compute", "--device", "host", "--type", "fp32,fp64", "--shape", "blocks=1,threads=1,ilp=4",
                "--budget", "60ms"],
    "bandwidth": ["probe", "bandwidth", "--device", "host", "--operation", "read", "--shape",
                  "blocks=1,threads=1,ilp=8,access=8,bytes=64MiB", "--budget", "60ms"],
}
EXPECTED = {"compute": "used the device", "copy": "used the device|over the link", "memory": "used the device",
            "one": "processors|no core", "cpu": "processors|no core"}


def figures(document):
    """(name, time or rate, mark) of each point of a report."""
    found = []

    def walk(node, path):
        if isinstance(node, dict):
            if "disturbed" in node:
                values = (v.get("value") for v in node.values() if isinstance(v, dict))
                found.append((path, next((v for v in values if isinstance(v, (int, float))), None), node["disturbed"]))
            for key, value in node.items():
                walk(value, path + "/" + key)
        elif isinstance(node, list):
            for i, value in enumerate(node):
                walk(value, f"{path}[{i}]")
    walk({k: v for k, v in document.items() if k not in ("provenance", "run")}, "")
    return found


def measure(program, command, folder):
    trace = os.path.join(folder, "t.h5")
    done = subprocess.run([program, *command, "--wait-quiet", "0.3s", "--output", trace, "--force", "--json"],
                          capture_output=True, text=True, timeout=120)
    if done.returncode:
        return done.returncode, done.stderr.strip().splitlines()[-1:], []
    return 0, [], figures(json.loads(done.stdout))


def start(kind, busy):
    if kind == "quiet":
        return []
    if kind in ("one", "cpu"):
        loops = 1 if kind == "one" else len(os.sched_getaffinity(0))
        return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    one = subprocess.Popen([busy, "--keep-busy", kind], stdout=subprocess.PIPE)
    if one.stdout.read(1) != b".":
        sys.exit(f"{busy} --keep-busy {kind} did not start")
    # Its pipe is read by a process that forgets.
    drain = subprocess.Popen(["cat"], stdin=one.stdout, stdout=subprocess.DEVNULL)
    return [one, drain]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("busy", nargs="?", help="npgpu_tests_gpu; without it the host is measured")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--kinds", help="default: quiet,compute,copy,memory,cpu; of a host quiet,one,cpu")
    parser.add_argument("--commands", help="default: all")
    options = parser.parse_args()
    commands = GPU_COMMANDS if options.busy else HOST_COMMANDS
    kinds = (options.kinds or ("quiet,compute,copy,memory,cpu" if options.busy else "quiet,one,cpu")).split(",")
    chosen = options.commands.split(",") if options.commands else list(commands)
    quiet = {}
    print(f"{'neighbour':10} {'command':9} {'runs':>5} {'failed':>6} {'marked':>6} {'right cause':>11} {'points':>7} "
          f"{'marked':>7} {'off, unmarked':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            for command in chosen:
                failed = marked = right = points = marked_points = wrong = 0
                causes, worst, whys = set(), [], set()
                others = start(kind, options.busy)
                try:
                    runs = [measure(options.program, commands[command], folder) for _ in range(options.times)]
                finally:
                    for process in others:
                        process.kill()
                        process.wait()
                for code, why, found in runs:
                    failed += code != 0
                    whys.update(why)
                    marks = [mark for _, _, mark in found if mark]
                    causes.update(marks)
                    marked += bool(marks)
                    right += any(word in mark for mark in marks for word in EXPECTED.get(kind, "?").split("|"))
                    points += len(found)
                    marked_points += len(marks)
                    for name, time, mark in found:
                        if kind == "quiet":
                            if time:
                                quiet.setdefault((command, name), []).append(time)
                        elif not mark and time and (command, name) in quiet:
                            off = time / statistics.median(quiet[command, name]) - 1
                            if abs(off) > 0.1:
                                wrong += 1
                                worst.append((off, name, time))
                print(f"{kind:10} {command:9} {options.times:5} {failed:6} {marked:6} {right:11} {points:7} {marked_points:7} {wrong:13}",
                      flush=True)
                for cause in sorted(causes)[:4]:
                    print("      ", cause)
                for why in whys:
                    print("       failed:", why)
                for off, name, time in sorted(worst, key=lambda w: -abs(w[0]))[:3]:
                    print(f"       unmarked {100 * off:+.0f} %: {name} {time}")


main()
