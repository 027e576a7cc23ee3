#!/usr/bin/env python3
"""Scores a model's predictions of jobs in CUDA streams: score.py SET ENTRY.csv

SET is a folder of this one (h200, h200-small). ENTRY has a row for each job and number of streams of its measured.csv:
job, streams, predicted_us and, optionally, chosen: 1 in the row of the number of streams that the model chooses for the
job. Without that column the choice is the number with the least predicted time. README.md says what is scored. Needs
nothing but Python."""
import argparse
import csv
import json
import math
import os
import statistics
import sys


class BadEntry(Exception):
    """One sentence that names the file and the row."""


def rows_of(path):
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise BadEntry(f"{path}: {error.strerror}") from None


def measured(folder):
    """{job: {streams: (time, low, high)}} in us; where no interval is known, the time itself."""
    jobs = {}
    for row in rows_of(os.path.join(folder, "measured.csv")):
        us = float(row["measured_us"])
        jobs.setdefault(row["job"], {})[int(row["streams"])] = (us, float(row["low_us"] or us), float(row["high_us"] or us))
    return jobs


def entry(path, jobs):
    """({job: {streams: predicted us or None}}, {job: chosen streams}); every job and number that was measured is there."""
    predicted, chosen = {}, {}
    for at, row in enumerate(rows_of(path), 2):
        try:
            job, streams, text = row["job"], int(row["streams"]), row.get("predicted_us") or ""
            known = jobs[job][streams]
            us = float(text) if text else None
            if us is not None and not math.isfinite(us):
                raise ValueError
        except KeyError as missing:
            if missing.args[0] in ("job", "streams"):
                raise BadEntry(f"{path}: has no column {missing.args[0]}") from None
            raise BadEntry(f"{path}:{at}: job {row['job']} was not measured in {row['streams']} streams") from None
        except (TypeError, ValueError):
            raise BadEntry(f"{path}:{at}: streams and predicted_us are numbers") from None
        if streams in predicted.setdefault(job, {}):
            raise BadEntry(f"{path}:{at}: a second row of job {job} in {streams} streams")
        predicted[job][streams] = us
        if (row.get("chosen") or "0") == "1":
            if job in chosen:
                raise BadEntry(f"{path}:{at}: a second choice for job {job}")
            chosen[job] = streams
    for job, times in jobs.items():
        lacking = [str(n) for n in times if n not in predicted.get(job, {})]
        if lacking:
            raise BadEntry(f"{path}: lacks job {job} in {', '.join(lacking)} streams")
        if job not in chosen:
            if None in predicted[job].values():
                raise BadEntry(f"{path}: job {job} has neither a choice nor a time for each number of streams")
            chosen[job] = min(sorted(predicted[job]), key=predicted[job].get)
    return predicted, chosen


def spread(values):
    """Median; the least value that 95 of 100 are not greater than; the greatest. As npgpu has them."""
    values = sorted(values)
    if not values:
        return {"median": None, "p95": None, "most": None}
    return {"median": statistics.median(values), "p95": values[max(1, math.ceil(0.95 * len(values))) - 1], "most": values[-1]}


def score(jobs, predicted, chosen):
    """error: |predicted / measured - 1| over all numbers of streams but 1. regret: time at the chosen number over the best
    measured, less 1. hits: the share of jobs whose chosen time is within the noise of the best one's."""
    errors, regrets, hits = [], [], 0
    for job, times in jobs.items():
        errors += [abs(predicted[job][n] / us - 1) for n, (us, _, _) in times.items() if n != 1 and predicted[job][n] is not None]
        best = min(sorted(times), key=lambda n: times[n][0])
        regrets.append(times[chosen[job]][0] / times[best][0] - 1)
        hits += times[chosen[job]][1] <= times[best][2]
    return {"jobs": len(jobs), "predictions": len(errors), "error": spread(errors), "regret": spread(regrets), "hits": hits / len(jobs)}


def percent(value):
    return "-" if value is None else f"{100 * value:.2f} %"


def main():
    parser = argparse.ArgumentParser(description="Scores a model's predictions of jobs in CUDA streams (README.md).")
    parser.add_argument("set", help="folder of the benchmark: h200 or h200-small, beside this script, or a path")
    parser.add_argument("entry", help="csv with the columns job, streams, predicted_us and, optionally, chosen")
    parser.add_argument("--json", action="store_true", help="the figures as JSON, in full")
    args = parser.parse_args()
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), args.set)
    try:
        jobs = measured(args.set if os.path.isdir(args.set) else beside)
        told = score(jobs, *entry(args.entry, jobs))
    except BadEntry as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(told, indent=1))
        return 0
    print(f"{told['jobs']} jobs, {told['predictions']} predicted times of split jobs")
    print(f"{'':10}{'median':>9}{'p95':>11}{'most':>11}")
    for name in ("error", "regret"):
        print(f"{name:10}{percent(told[name]['median']):>9}{percent(told[name]['p95']):>11}{percent(told[name]['most']):>11}")
    print(f"hits      {percent(told['hits']):>9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
