#!/usr/bin/env python3
"""Whether runs of `npgpu energy` on one device agree, and whether power adds up.

    energy_runs.py build/default/npgpu run_1.h5 run_2.h5 ...

A line for each work: of each run the energy of a byte or operation with half its 95 % interval (at rest: the power), and
how many of the runs' figures lie in the intervals of the other runs. Then, over all runs: power by the counter over power
by readings of the instantaneous power in the same windows; and what idle power and energy times rate add up to, over
those readings.
"""
import argparse
import json
import statistics
import subprocess


def figures(npgpu, path):
    text = subprocess.run([npgpu, "report", path, "--json"], check=True, capture_output=True, text=True).stdout
    return {f["work"]: f for f in json.loads(text)["energy_figures"]}


def estimate(figure):
    return figure["power_w"] if figure["work"].startswith("idle") else figure["each_pj"]


def half(e):
    return max(e["high"] - e["value"], e["value"] - e["low"]) / e["value"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npgpu")
    parser.add_argument("trace", nargs="+")
    args = parser.parse_args()
    runs = [figures(args.npgpu, path) for path in args.trace]
    inside_all = pairs_all = 0
    ratios, sums = [], []
    print(f"{'work':24}" + "".join(f"{'run ' + str(i + 1):>17}" for i in range(len(runs))) +
          "  inside  counter/readings  sum/readings")
    for title in runs[0]:
        having = [run for run in runs if title in run and not run[title]["error"]]
        seen = [run[title] for run in having]
        if not seen:
            continue
        each = [estimate(f) for f in seen]
        inside = sum(b["low"] <= a["value"] <= b["high"] for a in each for b in each if a is not b)
        pairs = len(each) * (len(each) - 1)
        inside_all, pairs_all = inside_all + inside, pairs_all + pairs
        by_readings = [f["power_w"]["value"] / f["read_power_w"]["value"] for f in seen if f["read_power_w"]["value"]]
        added = []
        for f, run in zip(seen, having):
            rest = next(r for r in run.values() if r["work"] == "idle")["power_w"]["value"]
            if f["work"] != "idle" and f["read_power_w"]["value"]:
                added.append((rest + f["each_pj"]["value"] * 1e-12 * f["rate_per_s"]["value"]) /
                             f["read_power_w"]["value"])
        ratios += by_readings
        sums += added
        print(f"{title:24}" + "".join(f"{e['value']:10.4g} {100 * half(e):4.1f} %" for e in each) +
              f"  {inside:2} of {pairs}" + f"{statistics.median(by_readings):14.3f}" +
              (f"{statistics.median(added):18.3f}" if added else ""))
    print(f"\n{inside_all} of {pairs_all} figures lie in another run's interval")
    for name, values in (("counter over readings", ratios), ("idle and energy times rate over readings", sums)):
        print(f"{name}: median {statistics.median(values):.3f}, {min(values):.3f} to {max(values):.3f}")


if __name__ == "__main__":
    main()
