#!/usr/bin/env python3
"""How far predicted times of kernels are from measured ones, beside those of a plain roofline.

    npgpu characterize --device cuda:0 -o node.h5
    npgpu_bench_frozen_shapes > shapes.csv; npgpu_bench_foreign_kernels > foreign.csv
    tests/bench/kernel_times.py build/npgpu node.h5 shapes.csv foreign.csv
"""
import csv
import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def predicted(program, trace, row):
    flags = ["--blocks", row["blocks"], "--threads", row["threads"], "--registers", row["registers"]]
    if float(row["flops"]):
        flags += ["--flops", str(int(float(row["flops"]))), "--type", row["type"]]
    if float(row["bytes"]):
        flags += ["--bytes-moved", str(int(float(row["bytes"]))), "--bytes-written", str(int(float(row["written"]))),
                  "--words", row["word"]]
    if row["in_flight"] != "0":
        flags += ["--in-flight", row["in_flight"]]
    if row["registers_read"] != "0":
        flags += ["--source-registers", row["registers_read"]]
    if row["random"] != "0":
        flags += ["--random"]
    if row["shared"] != "0":
        flags += ["--shared", row["shared"]]
    got = subprocess.run([program, "predict", trace, *flags, "--json"], capture_output=True, text=True)
    if got.returncode:
        return {"why": got.stderr.strip()}
    return json.loads(got.stdout)["kernel"]


def of_share(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def line(name, rows):
    """Errors of the model and of the roofline, the part inside the interval, and its width."""
    errors = [abs(r["model"] / r["us"] - 1) for r in rows]
    roof = [abs(r["roof"] / r["us"] - 1) for r in rows]
    inside = sum(r["low"] <= r["us"] <= r["high"] for r in rows) / len(rows)
    width = of_share([r["high"] / r["low"] for r in rows], 0.5)
    print(f"{name:34} {len(rows):4} {100 * of_share(errors, .5):7.1f} {100 * of_share(errors, .95):7.1f} "
          f"{100 * inside:6.0f} {width:6.2f} {100 * of_share(roof, .5):8.1f} {100 * of_share(roof, .95):7.1f}")


def main():
    program, trace, *files = sys.argv[1:]
    for file in files:
        rows = list(csv.DictReader(open(file)))
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda row: predicted(program, trace, row), rows))
        known = []
        for row, answer in zip(rows, answers):
            row["us"] = float(row["us"])
            if "why" in answer:
                print(f"{row['name']}: {answer['why']}")
                continue
            used = {u["key"]: u["value"] for u in answer["used"]}
            clock = used.get("shader_clock_mhz", math.nan) * 1e6
            lanes = used.get("lanes" if row["type"] == "fp32" else f"instructions_{row['type']}_lanes", math.nan)
            flops, moved = float(row["flops"]), float(row["bytes"])
            row["roof"] = 1e6 * max(flops / (2 * lanes * used["sms"] * clock) if flops else 0,
                                    moved / (1e9 * used["memory_gb_s"]) if moved else 0)
            row["model"], row["low"], row["high"] = (answer[k] for k in ("likely_us", "low_us", "high_us"))
            row["high"] = row["high"] or math.inf  # of accesses that lie anywhere, a time is a lower bound
            row["bound"] = answer["bound"]
            known.append(row)
        print(f"\n{file}\n{'kernels':34} {'n':>4} {'median %':>7} {'p95':>6} {'inside':>6} {'width':>6} {'roofline':>8} {'p95':>7}")
        groups = {}
        for row in known:
            groups.setdefault(row["name"].split()[0] if len(known) > 100 else "of what it knows", []).append(row)
        for name, group in groups.items():
            inner = [r for r in group if r["outside"] == "0"]
            if inner:
                line(name, inner)
            outer = [r for r in group if r["outside"] != "0"]
            if outer:
                line("outside of it", outer)
        print(f"\n{'':40} {'blocks':>8} {'threads':>7} {'us':>9} {'model':>9} {'low':>9} {'high':>9} {'error %':>7} bound")
        for r in sorted(known, key=lambda r: -abs(math.log(r["model"] / r["us"])))[:60 if len(known) > 100 else 100]:
            print(f"{r['name'][:32] + ' ' + r['type']:40} {r['blocks']:>8} {r['threads']:>7} {r['us']:9.2f} {r['model']:9.2f} "
                  f"{r['low']:9.2f} {r['high']:9.2f} {100 * (r['model'] / r['us'] - 1):7.1f} {r['bound']}")


if __name__ == "__main__":
    main()
