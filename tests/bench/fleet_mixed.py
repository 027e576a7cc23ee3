#!/usr/bin/env python3
"""npgpu fleet of simulated nodes with other cards and drivers: whom it names of healthy ones, and whether a slow card is
found that has few of its like.

    fleet_mixed.py PROGRAM [--traces 16] [--fleets 40] [--slow 5] [--seed 1]

A fleet is drawn from traces of check --level 1, with other noise each: 8 H200s, 6 H200s of another driver, 3 L40S and 2
A100. Slow: an L40S with half of its link, an A100 with half of its memory's rate, an H200 with 10 % less of its link."""
import argparse
import collections
import os
import random
import tempfile

from simulated_fleet import DEVICES, host_of, judged, traced

OTHER = {"facts": {"driver_version": "570.211.01"}}
KINDS = {"h200": ("h200-node", {}, 8), "h200-570": ("h200-node", OTHER, 6), "l40s": ("models/l40s", {}, 3), "a100": ("models/a100-sxm", {}, 2)}
SLOW = {"l40s": {"links": {"h2d": {"pinned": {"rate_gb_s": 13}}, "d2h": {"pinned": {"rate_gb_s": 13}}}},
        "a100": {"links": {"d2d": {"rate_gb_s": 500}}}, "h200-570": {**OTHER, "links": {"h2d": {"pinned": {"rate_gb_s": 50}}}}}
NOISE = {"sigma": 0.002, "operation_sigma": 0.01, "outlier_rate": 0.01, "outlier_factor": 1.2, "drift": 0.002, "cost_drift": 0.05}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for name, usual in (("--traces", 16), ("--fleets", 40), ("--slow", 5), ("--seed", 1)):
        parser.add_argument(name, type=int, default=usual)
    options = parser.parse_args()
    random.seed(options.seed)
    seeds = iter(range(1000 * options.seed, 1000 * options.seed + 1000))

    with tempfile.TemporaryDirectory() as where:
        def trace_of(kind, extra):
            seed = next(seeds)
            return traced(options.program, where, seed,
                          {"like": os.path.join(DEVICES, KINDS[kind][0] + ".json"), "noise": {**NOISE, "seed": seed}, **extra})

        healthy = {kind: [trace_of(kind, extra) for _ in range(options.traces)] for kind, (_, extra, _) in KINDS.items()}
        drawn = lambda less=None: [one for kind, (_, _, n) in KINDS.items() for one in random.sample(healthy[kind], n - (kind == less))]
        told = collections.Counter(str(judged(options.program, drawn())) for _ in range(options.fleets))
        print(f"healthy: exit code and who is named: {dict(told)}", flush=True)
        for kind, extra in SLOW.items():
            told = collections.Counter()
            for _ in range(options.slow):
                slow = trace_of(kind, extra)
                code, named = judged(options.program, drawn(kind) + [slow])
                told[f"{code}, {'it alone' if named == [host_of(slow)] else named}"] += 1
            print(f"slow {kind}: {dict(told)}", flush=True)


main()
