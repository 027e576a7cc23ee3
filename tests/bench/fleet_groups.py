#!/usr/bin/env python3
"""npgpu fleet of groups of simulated H200s that scatter as cards do: how often it names a healthy one, and how often it
finds a slow one.

    fleet_groups.py PROGRAM [--traces 120] [--fleets 100] [--sizes 5,8,16,64] [--scatter 0.01,0.02] [--slow 0.05,0.1]
                    [--seed 1] [--jobs 2] [--ceiling]

Each GPU has rates of its own: those of its link and its memory are drawn from a normal distribution with this relative
standard deviation. Clocks are at their maximum, or, with --ceiling, at it for half of the GPUs, and below it by the lower half
of that distribution for the others. A trace is of check --level 1, with another seed of the noise. A fleet is drawn from the healthy
ones, so that fleets of many GPUs have most of them in common. Of a slow GPU one of the three rates is lower by this share.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import tempfile

from simulated_fleet import DEVICES, host_of, judged, traced

# By rate: where the spec has it, and what an H200 has.
RATES = {"link": (("links", "h2d", "pinned", "rate_gb_s"), 55.57), "back": (("links", "d2h", "pinned", "rate_gb_s"), 55.44),
         "memory": (("links", "d2d", "rate_gb_s"), 2141), "clock": (("hardware", "shader_clock_mhz"), 1980)}
SLOW = {"link": ("link", "back"), "memory": ("memory",), "clock": ("clock",)}


def numbers(text):
    return [float(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for name, usual in (("--traces", 120), ("--fleets", 100), ("--seed", 1), ("--jobs", 2)):
        parser.add_argument(name, type=int, default=usual)
    for name, usual in (("--sizes", "5,8,16,64"), ("--scatter", "0.01,0.02"), ("--slow", "0.05,0.1")):
        parser.add_argument(name, type=numbers, default=numbers(usual))
    parser.add_argument("--ceiling", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    seeds = iter(range(100000 * options.seed, 100000 * options.seed + 100000))

    with tempfile.TemporaryDirectory() as where, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def spec_of(scatter, lower=()):
            """A seed, and the spec of a GPU with it."""
            seed = next(seeds)
            spec = {"like": os.path.join(DEVICES, "h200-node.json"), "noise": {"drift": 0.002, "cost_drift": 0.05, "seed": seed}}
            one = chance.gauss(1, scatter)
            for name, (path, value) in RATES.items():
                factor = one if name in SLOW["link"] else chance.gauss(1, scatter)  # both ways of a link are alike
                if name == "clock":
                    factor = min(factor, 1) if options.ceiling else 1
                place = spec
                for key in path[:-1]:
                    place = place.setdefault(key, {})
                place[path[-1]] = value * factor * dict(lower).get(name, 1)
            return seed, spec

        def traces(scatter, count, lower=()):
            return list(pool.map(lambda one: traced(options.program, where, *one), [spec_of(scatter, lower) for _ in range(count)]))

        def all_judged(fleets):
            return list(pool.map(lambda files: judged(options.program, files), fleets))

        print(f"{'scatter':>8} {'GPUs':>5} {'fleets':>7}  of healthy ones: exit codes; suspects")
        pools = {}
        for scatter in options.scatter:
            pools[scatter] = traces(scatter, options.traces)
            for size in options.sizes:
                results = all_judged([chance.sample(pools[scatter], int(size)) for _ in range(options.fleets)])
                codes = collections.Counter(code for code, _ in results)
                print(f"{scatter:8.3f} {int(size):5} {len(results):7}  {dict(sorted(codes.items()))}; "
                      f"{sum(len(named) for _, named in results)}", flush=True)
        print(f"{'scatter':>8} {'GPUs':>5} {'slow':>5} {'rate':>7}  fleets; the slow one found, others named")
        for scatter in options.scatter:
            for share in options.slow:
                for rate, names in SLOW.items():
                    slow = traces(scatter, max(1, options.fleets // 10), [(name, 1 - share) for name in names])
                    for size in options.sizes:
                        fleets = [[one, *chance.sample(pools[scatter], int(size) - 1)] for one in slow]
                        found = others = 0
                        for (_, named), one in zip(all_judged(fleets), slow):
                            found += host_of(one) in named
                            others += len(set(named) - {host_of(one)})
                        print(f"{scatter:8.3f} {int(size):5} {share:5.2f} {rate:>7}  {len(fleets)}; {found}, {others}", flush=True)


main()
