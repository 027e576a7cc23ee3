#!/usr/bin/env python3
"""How good npgpu's advice on copies of pieces is: pairs of numbers and sizes that the costs do not hold.

Measures the usual grid, then 30 random pairs between its points, each in all ways; asks npgpu predict for each pair; and
prints what the chosen way cost over the best one: the raw regret (of the median times), and the cross-validated one, in
which each round is compared with the way that the other rounds call best.

    pieces_regret.py NPGPU [--device cuda:0] [--direction h2d] [--seed 1] [--folder .]
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def between(draw, low, high, count, step=1):
    """So many numbers, one from each part of the range, evenly over its logarithm; none is a power of two."""
    width = math.log(high / low) / count
    found = []
    for part in range(count):
        while True:
            one = step * round(low * math.exp(width * (part + draw.random())) / step)
            if math.log2(one) % 1:
                break
        found.append(one)
    return found


def blocks_of(seed):
    """(numbers, sizes): 3 x 5 of few pieces of any size, and 3 x 5 of many small ones. The grid has powers of two."""
    draw = random.Random(seed)
    return [(between(draw, 2, 60, 3), between(draw, 300, 900_000, 5, 16)),
            (between(draw, 65, 3500, 3), between(draw, 300, 16_000, 5, 16))]


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def times_by_round(trace, pairs, direction):
    """Of each pair and way, the median time of each round, from the trace's samples."""
    document = json.loads(run(NPGPU, "export", trace, "--format", "json"))
    times = {}
    for series in document["pieces"]:
        if series["case"]["direction"] != direction:
            continue
        visits, samples = series["visits"], series["samples"]
        each = {}
        for visit, repeats, done in zip(samples["visit"], samples["repeats"], samples["done_us"]):
            each.setdefault(visit, []).append(done / repeats)
        for number, us in each.items():
            pair = (visits["pieces"][number], visits["piece_bytes"][number])
            if pair in pairs:
                times.setdefault(pair, {}).setdefault(visits["way"][number], {})[visits["round"][number]] = statistics.median(us)
    return times


def cross_validated(ways, chosen):
    """The median over rounds of the chosen way's time over that of the way that the other rounds call best."""
    regrets = []
    for out in ways[chosen]:
        others = {way: statistics.median(us for r, us in by.items() if r != out) for way, by in ways.items() if len(by) > 1}
        best = min(others, key=others.get)
        if out in ways[best]:
            regrets.append(ways[chosen][out] / ways[best][out] - 1)
    return statistics.median(regrets)


parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("npgpu")
parser.add_argument("--device", default="cuda:0")
parser.add_argument("--direction", default="h2d", help="h2d, d2h or d2d")
parser.add_argument("--layout", default="scattered")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--folder", default=".")
asked = parser.parse_args()
NPGPU = asked.npgpu

costs = os.path.join(asked.folder, f"pieces_costs_{asked.direction}.h5")
of_pairs = os.path.join(asked.folder, f"pieces_pairs_{asked.direction}.h5")
like_this = ("--device", asked.device, "--direction", asked.direction, "--layout", asked.layout, "--quiet")
if not os.path.exists(costs):
    run(NPGPU, "pieces", *like_this, "--output", costs)
pairs = []
for block, (numbers, sizes) in enumerate(blocks_of(asked.seed)):
    run(NPGPU, "pieces", *like_this, "--pieces", ",".join(map(str, numbers)), "--piece-bytes", ",".join(map(str, sizes)),
        "--output", of_pairs, "--append" if block else "--force")
    pairs += [(pieces, size) for pieces in numbers for size in sizes]
measured = times_by_round(of_pairs, set(pairs), asked.direction)

WORDS = ("loop", "copy-2d", "copy-3d", "batch", "graph", "kernel")
raw, validated, missed = [], [], []
print(f"{'pieces':>7} {'size':>8}  {'chosen':<8} {'best':<8} {'regret %':>9} {'cross-validated %':>18} {'predicted us':>13} {'measured us':>12}")
for pieces, size in pairs:
    advice = json.loads(run(NPGPU, "predict", costs, "--pieces", str(pieces), "--piece-bytes", str(size), "--direction",
                            asked.direction, "--layout", asked.layout, "--json"))["advice"][0]
    ways = {way if isinstance(way, str) else WORDS[way]: by for way, by in measured[(pieces, size)].items()}
    times = {way: statistics.median(by.values()) for way, by in ways.items()}
    chosen = next(one["way"] for one in advice["ways"] if one["way"] in times)
    predicted = {one["way"]: one["time_us"]["value"] for one in advice["ways"]}
    best = min(times, key=times.get)
    raw.append(times[chosen] / times[best] - 1)
    validated.append(cross_validated(ways, chosen))
    missed += [abs(predicted[way] / us - 1) for way, us in times.items() if way in predicted]
    print(f"{pieces:>7} {size:>8}  {chosen:<8} {best:<8} {100 * raw[-1]:>9.2f} {100 * validated[-1]:>18.2f} {predicted[chosen]:>13.2f} {times[chosen]:>12.2f}")
for name, regrets in (("regret", raw), ("cross-validated regret", validated), ("error of predicted times", missed)):
    print(f"{name}: median {100 * statistics.median(regrets):.2f} %, p95 {100 * quantile(regrets, 0.95):.2f} %, mean {100 * statistics.mean(regrets):.2f} %, n {len(regrets)}")
