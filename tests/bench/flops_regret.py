#!/usr/bin/env python3
"""What a number of streams costs that was chosen from counted operations and bytes, over the best that was measured.

    npgpu characterize -o node.h5; npgpu streams --experiment design -o design.h5
    tests/bench/flops_regret.py build/npgpu node.h5 design.h5

The design's kernels are counted here: compute has 4 chains of 8 multiply-adds an iteration, memory reads a word of 4 bytes an
iteration, 8 in flight. increment reads, adds and writes one word again and again: npgpu cannot know its time, and it is left out.
"""
import collections
import csv
import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CHAINS, STEPS = 4, 8


def counted(job):
    words, iterations = int(job["kernel_bytes"]) // 4, int(job["iterations"])
    if job["workload"] == "compute":
        return ["--flops", 2 * words * iterations * CHAINS * STEPS, "--in-flight", CHAINS, "--source-registers", 2]
    return ["--bytes-moved", 4 * words * (iterations + 2), "--bytes-written", 4 * words, "--in-flight", 8]


def main():
    program, node, design = sys.argv[1:]
    table = subprocess.run([program, "export", design, "--table", "jobs", "--summary"], check=True, capture_output=True, text=True).stdout
    jobs = collections.defaultdict(dict)
    for row in csv.DictReader(io.StringIO(table)):
        if row["workload"] in ("compute", "memory") and row["chunks"] == row["streams"]:
            key = tuple(row[name] for name in ("workload", "bytes_in", "bytes_out", "kernel_bytes", "iterations", "threads"))
            jobs[key][int(row["streams"])] = (float(row["value"]), row)

    def regret(times):
        job = next(iter(times.values()))[1]
        threads = int(job["threads"])
        words = [program, "predict", node, "--bytes-in", job["bytes_in"], "--bytes-out", job["bytes_out"], "--blocks",
                 (int(job["kernel_bytes"]) // 4 + threads - 1) // threads, "--threads", threads, "--json"]
        done = subprocess.run([*map(str, words), *map(str, counted(job))], capture_output=True, text=True)
        if done.returncode:
            return job["workload"], done.stderr.strip()
        told = {c["streams"]: c["time_us"] for c in json.loads(done.stdout)["candidates"] if c["streams"] in times}
        chosen = min(n for n, us in told.items() if us <= 1.01 * min(told.values()))
        measured = {n: us for n, (us, _) in times.items()}
        return job["workload"], measured[chosen] / min(measured.values()) - 1, told[1] / measured[1] - 1

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(regret, jobs.values()))
    for workload in ("compute", "memory", None):
        of = [a for a in answers if len(a) == 3 and workload in (a[0], None)]
        regrets, errors = sorted(a[1] for a in of), sorted(abs(a[2]) for a in of)
        at = lambda values, share: f"{100 * values[int(share * (len(values) - 1))]:6.2f}"
        print(f"{workload or 'both':8} {len(of):4} jobs: regret {at(regrets, .5)} % (median) {at(regrets, .95)} % (95 % below); "
              f"unsplit off by {at(errors, .5)} % and {at(errors, .95)} %")
    for workload, why in (a for a in answers if len(a) == 2):
        print(f"left out, {workload}: {why}")


main()
