#!/usr/bin/env python3
"""Runs of one command, one after the other on one machine: does a run's interval tell where the next runs land?

    repeated_runs.py ./npgpu run_1.h5 run_2.h5 ...

For each class of measurement: how far a run's median is from the median over the runs of its GPU, how wide a run's 95 %
interval is, and how often it holds that median. Then npgpu compare of each pair: how many end with 0, and what is called
slower. Pairs of two GPUs are counted by themselves.
"""
import argparse
import itertools
import json
import subprocess
import tempfile

import numpy
import pandas

TABLES = ("transfers", "probes", "jobs", "calls")
CLASSES = ("kernels", "copies, timed by the device", "copies, timed by the host", "pageable copies, host copies",
           "jobs in streams", "calls", "computing on the host")


def class_of(row):
    if row.kind == "transfers":
        if row.memory == "pageable" or row.module == "memcpy":
            return CLASSES[3]
        return CLASSES[1] if row.timing == "gated" else CLASSES[2]
    if row.kind == "probes":
        return CLASSES[6] if row.device == "host" else CLASSES[0]
    return CLASSES[4] if row.kind == "jobs" else CLASSES[5]


def points_of(program, path):
    """UUID of the GPU, and (point, lane) -> value, low, high, class, mark."""
    found, gpu = {}, ""
    for table in TABLES:
        with tempfile.TemporaryFile() as out:
            subprocess.run([program, "export", path, "--table", table, "--summary"], stdout=out, check=True)
            out.seek(0)
            rows = pandas.read_csv(out, keep_default_na=False)
        if rows.empty:
            continue
        gpu = gpu or next((uuid for uuid in rows.device_uuid.astype(str) if uuid), "")
        named = list(rows.columns)
        of_case = [c for c in named[:named.index("value")] if c not in ("run_uuid", "host", "date", "series", "device_uuid")]
        for (_, row), key in zip(rows.iterrows(), rows[of_case].astype(str).itertuples(index=False, name=None)):
            numbers = [float(x or "nan") for x in (row.value, row.low, row.high)]
            found[key] = (*numbers, class_of(row), row.disturbed)
    return gpu, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--no-pairs", action="store_true", help="leave out npgpu compare of each pair")
    options = parser.parse_args()
    gpus, runs = zip(*(points_of(options.program, path) for path in options.traces))
    shared = [key for key in runs[0] if all(key in run for run in runs)]
    print(f"{len(runs)} runs of {len(set(gpus))} GPUs, {len(shared)} points in all of them, "
          f"{max(map(len, runs)) - len(shared)} points in some; marked: {[sum(bool(p[4]) for p in run.values()) for run in runs]}")
    off, width, held = ({name: [] for name in (*CLASSES, "all")} for _ in range(3))
    held_by_run = [{name: [] for name in (*CLASSES, "all")} for _ in runs]
    for key in shared:
        points = [run[key] for run in runs]
        for i, (value, low, high, name, _) in enumerate(points):
            middle = numpy.median([p[0] for p, gpu in zip(points, gpus) if gpu == gpus[i]])
            if not numpy.isfinite(middle) or middle == 0:
                continue
            holds = low <= middle <= high
            for into in (name, "all"):
                off[into].append(abs(value / middle - 1))
                width[into].append((high - low) / 2 / middle)
                held[into].append(holds)
                held_by_run[i][into].append(holds)
    print(f"\n{'class':30} {'points':>6} {'off: median':>12} {'90 % below':>11} {'interval':>10} {'in interval':>11}"
          f" {'least of the runs':>18}")
    for name in (*CLASSES, "all"):
        if off[name]:
            least = min(numpy.mean(run[name]) for run in held_by_run)
            print(f"{name:30} {len(off[name]) // len(runs):6} {numpy.median(off[name]):12.2%} "
                  f"{numpy.quantile(off[name], 0.9):11.2%} {numpy.median(width[name]):10.2%} {numpy.mean(held[name]):11.1%}"
                  f" {least:18.1%}")
    if options.no_pairs:
        return
    for same_gpu in (True, False):
        codes, slower, key_figures = [], [], 0
        for (a, of_a), (b, of_b) in itertools.combinations(zip(options.traces, gpus), 2):
            if (of_a == of_b) != same_gpu:
                continue
            done = subprocess.run([options.program, "compare", a, b, "--json"], capture_output=True, text=True)
            codes.append(done.returncode)
            report = json.loads(done.stdout)
            key_figures += sum(f["verdict"] == "slower" for f in report["figures"])
            slower += [c["title"] for c in report["cases"] if c["verdict"] == "slower"]
        if codes:
            print(f"\npairs of {'one GPU' if same_gpu else 'two GPUs'}: {len(codes)}, exit codes "
                  f"{{{', '.join(f'{c}: {codes.count(c)}' for c in sorted(set(codes)))}}}; key figures slower: {key_figures}")
        for title in sorted(set(slower)):
            print(f"  slower in {slower.count(title)}: {title}")


main()
