#!/usr/bin/env python3
"""What npgpu compare finds of slow-downs that are planted in kept traces, and what it says of pairs without one.

    planted.py NPGPU [--pairs 40] [--plants 20] [--traces run_1.h5 run_2.h5 run_3.h5] [--only KIND]

The traces are runs of one GPU; A is one of them and B another. Without a plant there are all their ordered pairs, and
pairs of two halves of the rounds of one run, up to so many. A plant scales the samples of one series of B's, or of all of
one class, by 1.05 or 1.1. It is found where compare calls its class slower, or a key figure of the class, or a part or point that has changed by it.
What is not found has to be called cannot tell or disturbed, and never the same.
"""
import argparse
import collections
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
KIB, MIB = 1 << 10, 1 << 20
SCALED = ("host_us", "device_us", "done_us", "cycles")


class Kind(collections.namedtuple("Kind", "name group time_class factor sizes must_be_found")):
    def has(self, case):
        if self.group == "transfers":
            pageable = case["memory"] in ("pageable", "managed") or case["direction"] == "h2h"
            if self.time_class == "pageable-copies":
                return pageable
            return not pageable and (case["timing"] == "host") == (self.time_class == "host-copies")
        if self.group == "probes":
            return not case["device"].startswith("host")
        if self.group == "jobs":
            return (case["gating"] == "gated") == (self.time_class == "gated-jobs")
        return True


KINDS = [
    Kind("kernels", "probes", "kernels", 1.05, None, True),
    Kind("copies timed by the device", "transfers", "device-copies", 1.05, None, True),
    Kind("large copies timed by the host", "transfers", "host-copies", 1.05, (MIB, 1 << 60), True),
    Kind("small copies timed by the host", "transfers", "host-copies", 1.10, (0, 64 * KIB), False),
    Kind("pageable copies", "transfers", "pageable-copies", 1.10, None, False),
    Kind("jobs", "jobs", "jobs", 1.10, None, False),
    Kind("jobs timed by the device", "jobs", "gated-jobs", 1.10, None, False),
    Kind("calls", "calls", "calls", 1.10, None, False),
]


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def case_of(series):
    return {key: text(value) for key, value in series.attrs.items()}


def slow(series, kind):
    """Scales the samples of those visits that the kind is about; False if there are none."""
    visits, samples = series["visits"][:], series["samples"][:]
    if not len(visits) or not len(samples):
        return False
    chosen = numpy.ones(len(visits), bool)
    if kind.sizes:
        chosen = (visits["bytes"] >= kind.sizes[0]) & (visits["bytes"] <= kind.sizes[1])
    rows = numpy.zeros(len(samples), bool)
    for visit in visits[chosen]:
        rows[visit["first_sample"]:visit["first_sample"] + visit["samples"]] = True
    for column in SCALED:
        if column in samples.dtype.names:
            samples[column][rows] *= kind.factor
    series["samples"][:] = samples
    return bool(rows.any())


def replace(series, table, rows):
    attributes = dict(series[table].attrs)
    del series[table]
    series.create_dataset(table, data=rows, chunks=(max(len(rows), 1),), maxshape=(None,))
    series[table].attrs.update(attributes)


def halves(path, seed, where):
    """Two traces: each has half of the rounds."""
    rounds = list(range(24))
    random.Random(seed).shuffle(rounds)
    names = []
    for half in range(2):
        names.append(os.path.join(where, f"half{half}.h5"))
        shutil.copy(path, names[-1])
        with h5py.File(names[-1], "r+") as file:
            for group in ("transfers", "probes", "jobs", "calls"):
                for series in file.get(group, {}).values():
                    visits, samples = series["visits"][:], series["samples"][:]
                    # Of the first four rounds two each, of the first six three each, and so on.
                    mine = [r for first in (0, 4, 6, 12) for r in sorted((r for r in rounds if first <= r < {0: 4, 4: 6, 6: 12, 12: 24}[first]),
                                                                        key=rounds.index)[half::2]]
                    of_visit = numpy.flatnonzero(numpy.isin(visits["round"], mine))
                    rows = [samples[v["first_sample"]:v["first_sample"] + v["samples"]] for v in visits[of_visit]]
                    kept = visits[of_visit]
                    kept["first_sample"] = numpy.cumsum([0, *(len(row) for row in rows)])[:len(rows)]
                    for i, row in enumerate(rows):
                        row["visit"] = i
                    replace(series, "visits", kept)
                    replace(series, "samples", numpy.concatenate(rows) if rows else samples[:0])
    return names


def compared(program, a, b):
    done = subprocess.run([program, "compare", a, b, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 3, 5, 6):
        sys.exit(f"compare {a} {b}: {done.returncode} {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def slower_in(found):
    """Titles of slower cases, and slower classes."""
    cases = [c["title"] for c in found["cases"] if c["verdict"] == "slower"]
    classes = [c["class"] for c in found["classes"] if any(s["verdict"] == "slower" for s in c["shared"])]
    return cases, classes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--traces", nargs="+", default=[os.path.join(ROOT, f"data/traces/h200_run_{x}.h5") for x in "cde"])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--plants", type=int, default=20)
    parser.add_argument("--only")
    options = parser.parse_args()
    pairs = list(itertools.permutations(options.traces, 2))
    failed, before = 0, {}
    with tempfile.TemporaryDirectory() as where:
        if options.pairs:
            false = collections.Counter()
            for number in range(options.pairs):
                if number < len(pairs):
                    a, b = pairs[number]
                else:
                    a, b = halves(options.traces[number % len(options.traces)], number, where)
                code, found = compared(options.program, a, b)
                cases, classes = slower_in(found)
                figures = [f["name"] for f in found["figures"] if f["verdict"] == "slower"]
                false.update(cases + classes + figures)
                failed += code != 0
                if code:
                    print(f"  pair {number}: {code}: {cases} {classes} {figures}")
                    sys.stdout.flush()
            print(f"{options.pairs} pairs without a plant: something is slower in {failed}")

        for kind in KINDS:
            if options.only and options.only not in kind.name:
                continue
            rng = random.Random(kind.name)
            told = collections.Counter()
            for number in range(options.plants):
                a, b = pairs[number % len(pairs)]
                planted = os.path.join(where, "planted.h5")
                shutil.copy(b, planted)
                whole = number < 3  # all of the class
                with h5py.File(planted, "r+") as file:
                    series = [one for one in file[kind.group].values() if kind.has(case_of(one))]
                    rng.shuffle(series)
                    chosen = []
                    for one in series:
                        if slow(one, kind):
                            chosen.append(one.name)
                            if not whole:
                                break
                if (a, b) not in before:
                    before[a, b] = compared(options.program, a, b)[1]
                _, found = compared(options.program, a, planted)
                verdict = told_of(before[a, b], found, kind)
                told[verdict] += 1
                if not set(verdict.split(", ")) <= {"found", "cannot-tell", "disturbed"} or (kind.must_be_found and verdict != "found"):
                    print(f"  {kind.name}, {os.path.basename(a)} and {os.path.basename(b)}, {chosen[:3]}: {verdict}")
                    failed += 1
                sys.stdout.flush()
            print(f"{kind.factor - 1:.0%} in {kind.name}: {dict(told)}")
            sys.stdout.flush()
    sys.exit(1 if failed else 0)


def told_of(before, found, kind):
    """found; else the worst of what is said of the parts that were scaled, which are those that have changed."""
    if kind.time_class in slower_in(found)[1] and kind.time_class not in slower_in(before)[1]:
        return "found"
    for figure, was in zip(found["figures"], before["figures"]):
        if figure["class"] == kind.time_class and figure["verdict"] == "slower" and was["verdict"] != "slower":
            return "found"
    scaled, verdicts = 1 + 0.7 * (kind.factor - 1), set()
    for case, was in zip(found["cases"], before["cases"]):
        for name in ("parts", "points"):
            for one, other in zip(case[name], was[name]):
                if one["b"] and other["b"] and one["b"] / other["b"] > scaled:
                    if one["verdict"] == "slower" and other["verdict"] != "slower":
                        return "found"
                    if name == "parts":
                        verdicts.add(one["verdict"])
    for worst in ("same", "faster", "slower"):
        if worst in verdicts:
            return worst
    return ", ".join(sorted(verdicts)) or "not compared"


if __name__ == "__main__":
    main()
