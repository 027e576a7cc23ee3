#!/usr/bin/env python3
"""What differs from one run to the next of the same machine, beyond what a run's own visits show: where the numbers of
netpipe/engine/statistics.cpp come from.

    run_to_run.py run_1.h5 run_2.h5 ...       runs of the same plan on one GPU (default: h200_run_c, _d, _e)

For each class of measurement and each band of a point's time, the least standard deviation with which the interval of a
run holds 85 % of the medians of each other run. It is added in quadrature to the interval over the run's visits and to
the run's own drift, as with_drift() does. Two runs that have nothing but chance between them hold 83 % of each other's
medians in intervals of 95 %. Then, with the numbers of netpipe/engine/statistics.cpp: that share by class, in all pairs and in
the worst. Then the same where no number was fitted to a run that it is tested on: of each run in turn the numbers are those
of the pairs of the others.
And what the visits beyond the planned rounds brought: by how much they made intervals narrower.
"""
import argparse
import collections
import itertools
import os
import re

import h5py
import numpy

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
CLASSES = ("device-copies", "host-copies", "pageable-copies", "kernels", "host-probes", "calls", "jobs", "gated-jobs")
BANDS = ("below 10 us", "100 us", "1 ms", "above")
OF_95 = 1.959964
SLOWED = 0x4 | 0x8 | 0x20 | 0x40 | 0x80  # as slowing_reasons of npgpu/vocabulary/series.hpp
# 0.975 quantiles of Student's t, of 1 to 4 degrees of freedom.
STUDENT = (None, 12.7062, 4.3027, 3.1824, 2.7764)
NO_CASE = ("schedule", "device_uuid", "device_name", "simulated", "binding", "error", "library", "limit_per_s",
           "limit_source", "units", "lanes", "max_threads_per_block", "max_threads_per_unit", "max_blocks_per_unit",
           "cache_bytes", "near_cache_bytes", "memory_bytes", "clock_mhz", "registers_per_unit", "shared_bytes_per_unit",
           "shared_bytes_per_block", "shared_bytes_reserved")


def band(us):
    return int(us >= 10) + int(us >= 100) + int(us >= 1000)


def class_of(kind, case):
    if kind == "transfers":
        if case["memory"] in ("pageable", "managed") or case["direction"] == "h2h":
            return "pageable-copies"
        return "host-copies" if case["timing"] == "host" else "device-copies"
    if kind == "probes":
        return "host-probes" if case["device"].startswith("host") else "kernels"
    if kind == "jobs":
        return "gated-jobs" if case["gating"] == "gated" else "jobs"
    return "calls"


def times_of(kind, case, samples):
    """Lane and time in us of one repeat, for each trial."""
    lanes = samples["lane"] if kind == "transfers" else numpy.zeros(len(samples), int)
    repeats = samples["repeats"] if "repeats" in samples.dtype.names else 1
    if kind == "transfers":
        us = samples["host_us" if case["timing"] == "host" else "device_us"]
        us = us / (2 if case["pattern"] in ("pingpong", "flag") else 1)
    elif kind == "jobs":
        us = samples["device_us" if case["gating"] == "gated" else "host_us"]
    else:
        first = "done_us" if kind == "calls" else "device_us"
        us = numpy.where(samples[first] > 0, samples[first], samples["host_us"])
    return lanes, us / repeats


Point = collections.namedtuple("Point", "name visits planned")  # visits: round, median


def points_of(path):
    """(kind, case, axes, lane) -> its class and counted visits."""
    found = {}
    with h5py.File(path) as file:
        for kind in ("transfers", "probes", "jobs", "calls"):
            for series in file.get(kind, {}).values():
                case = {k: v.decode() if isinstance(v, bytes) else v for k, v in series.attrs.items()}
                key = tuple((k, str(v)) for k, v in sorted(case.items()) if k not in NO_CASE and "." not in k)
                visits, samples = series["visits"][:], series["samples"][:]
                axes = visits.dtype.names[:visits.dtype.names.index("round")]
                for visit in visits:
                    first = visit["first_sample"]
                    lanes, us = times_of(kind, case, samples[first:first + visit["samples"]])
                    disturbed = visit["disturbed"] or int(visit["throttle_reasons"]) & SLOWED
                    for lane in numpy.unique(lanes):
                        mine = us[(lanes == lane) & (us > 0)]
                        if len(mine):
                            where = (kind, key, tuple(visit[name].item() for name in axes), int(lane))
                            found.setdefault(where, (class_of(kind, case), []))[1].append(
                                (int(visit["round"]), float(numpy.median(mine)), bool(disturbed)))
    points = {}
    for where, (name, visits) in found.items():
        quiet = [v for v in visits if not v[2]]
        counted = quiet if 2 * len(quiet) >= len(visits) else visits
        points[where] = Point(name, [v[:2] for v in counted], 4 if where[0] == "probes" else 6)
    return points


def coverage(n):
    """Of the pairs of order statistics r and n + 1 - r: how often they hold the median."""
    total, term, all_ = 0.0, 0.5 ** n, []
    for k in range(n // 2 + 1):
        total += term
        term = term * (n - k) / (k + 1)
        all_.append(1 - 2 * total)
    return all_


def interval(us):
    """Median and its interval, as median_over_visits() has them."""
    v = numpy.sort(us)
    n, middle = len(v), float(numpy.median(v))
    if n < 2:
        return middle, None
    if n < 6:
        logs = numpy.log(v)
        half = STUDENT[n - 1] * logs.std(ddof=1) / numpy.sqrt(n)
        return middle, (min(middle, numpy.exp(logs.mean() - half)), max(middle, numpy.exp(logs.mean() + half)))
    held = coverage(n)
    r = 1
    while held[r] >= 0.95:
        r += 1
    much = (held[r - 1] - 0.95) / (held[r - 1] - held[r])
    inwards = (n - r) * much / (r + (n - 2 * r) * much)
    return middle, (v[r - 1] + inwards * (v[r] - v[r - 1]), v[n - r] - inwards * (v[n - r] - v[n - r - 1]))


def drifts_of(points):
    """By class and band, as npgpu/model/result.hpp has it."""
    of_class = collections.defaultdict(list)
    for point in points.values():
        if len(point.visits) > 1:
            logs = [(r, numpy.log(us)) for r, us in point.visits]
            middle = numpy.median([log for _, log in logs])
            of_class[point.name, band(numpy.exp(middle))].append([(r, log - middle) for r, log in logs])
    drifts = collections.defaultdict(float)
    for key, all_ in of_class.items():
        rounds = collections.defaultdict(list)
        for logs in all_:
            for r, log in logs:
                rounds[r].append(log)
        rounds = [numpy.array(logs) for logs in rounds.values() if 2 * len(logs) >= len(all_)]
        if len(all_) < 10 or len(rounds) < 2:
            continue
        medians = [numpy.median(logs) for logs in rounds]
        own = numpy.mean([1.5708 * (1.4826 * numpy.median(abs(logs - numpy.median(logs)))) ** 2 / len(logs) for logs in rounds])
        drifts[key] = numpy.sqrt(max(numpy.var(medians, ddof=1) - own, 0))
    return drifts


def share_held(rows, shares):
    """Of rows (below, above, change, drift): how many changes lie within."""
    more = (OF_95 * rows[:, 3]) ** 2 + (OF_95 * shares) ** 2
    return float(numpy.mean((rows[:, 2] >= -numpy.sqrt(rows[:, 0] ** 2 + more)) & (rows[:, 2] <= numpy.sqrt(rows[:, 1] ** 2 + more))))


def least_share(rows):
    """With which 85 % of the changes lie within; 0 of fewer than 20."""
    share = 0.0
    while len(rows) >= 20 and share_held(rows, share) < 0.85:
        share += 0.0001
    return share


def print_held(title, by_pair, widths):
    """By class: in all pairs and in the worst."""
    print(f"\n{title:16} {'medians of another run in the interval':>40} {'in the worst pair':>18}" + (f" {'half width':>11}" if widths else ""))
    for name in CLASSES:
        all_ = [numpy.array(of_class[name]) for of_class in by_pair if of_class[name]]
        if all_:
            rows = numpy.concatenate(all_)
            wide = numpy.sqrt(((rows[:, 0] + rows[:, 1]) / 2) ** 2 + OF_95 ** 2 * (rows[:, 3] ** 2 + rows[:, 4] ** 2))
            print(f"{name:16} {share_held(rows, rows[:, 4]):40.1%} {min(share_held(r, r[:, 4]) for r in all_):18.1%}" +
                  (f" {numpy.median(wide):11.2%}" if widths else ""))


def held_out(rows_of, runs):
    """Pairs that a run has a part in, with numbers of the pairs that it has none in."""
    tested = []
    for left in range(runs):
        fitted = collections.defaultdict(list)
        for (i, j), by_key in rows_of.items():
            if left not in (i, j):
                for key, rows in by_key.items():
                    fitted[key] += rows
        share = {key: least_share(numpy.array(rows)) for key, rows in fitted.items()}
        for (i, j), by_key in rows_of.items():
            if left in (i, j):
                of_class = collections.defaultdict(list)
                for key, rows in by_key.items():
                    of_class[key[0]] += [(*row, share.get(key, 0.0)) for row in rows]
                tested.append(of_class)
    return tested


def numbers_of_drift_cpp():
    text = open(os.path.join(ROOT, "netpipe/engine/statistics.cpp"), encoding="utf-8").read()
    rows = re.findall(r"\{\{([\d., ]+)\}\},\s+// ([\w-]+)", text)
    return {name: [float(x) for x in numbers.split(",")] for numbers, name in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", default=[os.path.join(ROOT, f"data/traces/h200_run_{x}.h5") for x in "cde"])
    options = parser.parse_args()
    runs = [points_of(path) for path in options.traces]
    drifts = [drifts_of(points) for points in runs]
    used = numbers_of_drift_cpp()

    pairs, rows_of = {}, collections.defaultdict(lambda: collections.defaultdict(list))  # by class and band; the same by pair
    by_pair = collections.defaultdict(lambda: collections.defaultdict(list))  # class -> rows
    for i, j in itertools.permutations(range(len(runs)), 2):
        for where, point in runs[i].items():
            other = runs[j].get(where)
            middle, bounds = interval([us for _, us in point.visits])
            if other is None or bounds is None:
                continue
            change = numpy.median([us for _, us in other.visits]) / middle - 1
            row = (1 - bounds[0] / middle, bounds[1] / middle - 1, change, drifts[i][point.name, band(middle)])
            pairs.setdefault((point.name, band(middle)), []).append(row)
            rows_of[i, j][point.name, band(middle)].append(row)
            by_pair[i, j][point.name].append((*row, used[point.name][band(middle)]))

    print(f"{'class':16} {'time':12} {'pairs':>6} {'held by visits':>15} {'least share':>12} {'used':>7}")
    for name in CLASSES:
        for b, text in enumerate(BANDS):
            rows = numpy.array(pairs.get((name, b), []))
            if len(rows) < 20:
                continue
            print(f"{name:16} {text:12} {len(rows):6} {share_held(rows, 0):15.1%} {least_share(rows):12.2%} {used[name][b]:7.2%}")

    print_held("class", by_pair.values(), True)
    if len(runs) > 2:
        print_held("by other runs", held_out(rows_of, len(runs)), False)

    print("\nvisits beyond the planned rounds, of points whose interval is wider than 1 %")
    for text, much in (("all", 0), ("where they scatter", 2)):
        narrower = []
        for points, drift in zip(runs, drifts):
            for point in points.values():
                us = [us for _, us in point.visits]
                if len(us) <= point.planned:
                    continue
                (before, a), (_, b) = interval(us[:point.planned]), interval(us)
                at = band(before)
                shared = OF_95 ** 2 * (drift[point.name, at] ** 2 + used[point.name][at] ** 2)
                squares = [((x[1] - x[0]) / 2 / before) ** 2 for x in (a, b)]
                if squares[0] + shared > 1e-4 and squares[0] > much * shared:
                    narrower.append(1 - numpy.sqrt((squares[1] + shared) / (squares[0] + shared)))
        narrower = numpy.array(narrower)
        if len(narrower):
            print(f"{text:20} {len(narrower):5} points, narrower by {numpy.median(narrower):.1%} in the middle; by less than "
                  f"5 %: {numpy.mean(narrower < 0.05):.0%}, not at all: {numpy.mean(narrower <= 0):.0%}")


main()
