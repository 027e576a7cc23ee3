#!/usr/bin/env python3
"""Makes the benchmark from the traces that are kept: make.py NPGPU [-o FOLDER]

For each set, from its two traces in data/traces: training.csv (npgpu export); jobs.csv, measured.csv, simulator.csv and
models.csv (python -m npgpu.study). The tests compare the result with what is here."""
import argparse
import csv
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "plots"))
from npgpu.study import scores  # noqa: E402

TRACES = os.path.join(HERE, "..", "traces")
SETS = {"h200": ("h200_streams.h5", "h200_design.h5"), "h200-small": ("h200_small_streams.h5", "h200_small_design.h5")}
JOB = ("workload", "order", "bytes_in", "bytes_out", "kernel_bytes", "iterations", "threads")
STAGES = ("h2d_us", "kernel_us", "d2h_us")


def told(*command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if ran.returncode:
        sys.exit(f"make.py: {' '.join(command)} ended with {ran.returncode}")
    return ran.stdout


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def make(npgpu, folder, training, held_out):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "training.csv"), "wb") as file:
        file.write(told(npgpu, "export", training, "--table", "jobs", "--summary"))
    document = scores.of_trace(training, held_out)
    jobs = list(enumerate(document["workloads"], 1))
    points = [(number, job, at, point) for number, job in jobs for at, point in enumerate(job["points"])]
    write(os.path.join(folder, "jobs.csv"), ["job", *JOB, "unsplit_us", *STAGES],
          [[number, *(job[w] for w in JOB), job["points"][0]["measured_us"], *(job[s] for s in STAGES)] for number, job in jobs])
    write(os.path.join(folder, "measured.csv"), ["job", "streams", "measured_us", "low_us", "high_us"],
          [[number, *(point[c] for c in ("streams", "measured_us", "low_us", "high_us"))] for number, _, _, point in points])
    write(os.path.join(folder, "simulator.csv"), ["job", "streams", "predicted_us"],
          [[number, point["streams"], point["predicted_us"]] for number, _, _, point in points])
    write(os.path.join(folder, "models.csv"),
          ["model", "fitted", *(f"{what}_{which}" for what in ("error", "regret") for which in ("median", "p95", "most")), "hits", "source"],
          [[m["model"], int(m["fitted"]), *(m[what][which] for what in ("error", "regret") for which in ("median", "p95", "most")),
            m["hits"], m["source"]] for m in document["models"]])


def main():
    parser = argparse.ArgumentParser(description="Makes the benchmark's files from the traces that are kept.")
    parser.add_argument("npgpu", help="the program")
    parser.add_argument("-o", "--output", default=HERE, metavar="FOLDER", help="default: where this script is")
    args = parser.parse_args()
    os.environ["NPGPU"] = args.npgpu
    for name, (training, held_out) in SETS.items():
        make(args.npgpu, os.path.join(args.output, name), os.path.join(TRACES, training), os.path.join(TRACES, held_out))


if __name__ == "__main__":
    main()
