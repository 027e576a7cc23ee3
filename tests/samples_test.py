#!/usr/bin/env python3
"""README and docs show what the program prints: every line of their samples that come from kept traces is printed today,
and what they leave out is marked by "...".

    samples_test.py NPGPU
"""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PROGRAM = os.path.abspath(sys.argv[1])
PAGES = "\n\n".join(open(path, encoding="utf-8").read() for path in
                    [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True))])
# A block that names no command, by its first line.
WITHOUT_COMMAND = {"NVIDIA H200 on vm": "report data/traces/h200_node.h5",
                   "cuda:0 (NVIDIA H200): 132 multiprocessors": "derive data/traces/h200_probes.h5"}

# As it is installed: hints then begin with "npgpu". In a pipe text has 100 columns, and tables have all theirs.
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k != "COLUMNS"}, "NO_COLOR": "1",
               "PATH": os.path.dirname(PROGRAM) + os.pathsep + os.environ.get("PATH", "")}
failures = []
samples = 0


def printed(command):
    ran = subprocess.run([PROGRAM, *command.split()], cwd=ROOT,
                         capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    if ran.returncode:
        failures.append(f"npgpu {command}: exit {ran.returncode}: {ran.stderr.strip()}")
    return [line.rstrip() for line in ran.stdout.splitlines()]


def compare(command, lines):
    """Each line is there, in this order, and next to the one before but for "..."."""
    global samples
    samples += 1
    output = [line for line in printed(command) if line]
    place, is_cut = 0, True  # a sample may begin anywhere
    for line in lines:
        if line.strip() == "...":
            is_cut = True
        if line.strip() in ("", "..."):
            continue
        # A table that is shown in part may be narrower, as its columns fit its rows.
        same = [i for i in range(place, len(output)) if output[i].split() == line.split()]
        if not same:
            failures.append(f"npgpu {command}: does not print, where a page has it:\n    {line}")
            continue
        if same[0] > place and not is_cut:
            failures.append(f"npgpu {command}: a page leaves out, without a mark:\n    {output[place]}")
        place, is_cut = same[0] + 1, False


for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", PAGES, re.M):
    lines = [line[4:].rstrip() for line in block.strip("\n").split("\n")]
    first = lines[0]
    for start, command in WITHOUT_COMMAND.items():
        if first.startswith(start):
            compare(command, lines)
    at = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for here, after in zip(at, at[1:] + [len(lines)]):
        shown = lines[here + 1:after]
        if lines[here].startswith("$ npgpu") and "data/traces/" in lines[here]:
            compare(lines[here].removeprefix("$ npgpu "), shown)

if samples != len(WITHOUT_COMMAND) + 9:
    failures.append(f"{samples} samples were found")
for failure in failures:
    print(failure)
print(f"{samples} samples, {len(failures)} failures")
sys.exit(1 if failures else 0)
