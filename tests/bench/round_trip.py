#!/usr/bin/env python3
"""Whether a device that is simulated from figures gives these figures again when it is characterized.

    tests/bench/round_trip.py build/npgpu data/traces/h200_node.h5 data/devices/gtx480.json

Of a trace, the twin that npgpu derives from it. A figure is found again where its interval holds the first value, or
where it is within 1 % of it. What the second one does not have is named.
"""
import json
import os
import subprocess
import sys
import tempfile


def figures(path):
    """Name: value, low, high."""
    spec = json.load(open(path))
    bounds = spec.get("figures", {})
    found = {}
    for name, value in spec.get("hardware", {}).items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            own = bounds.get(name, {})
            found[name] = (value, own.get("low", value), own.get("high", value))
    for way in ("h2d", "d2h"):
        rate = spec.get("links", {}).get(way, {}).get("pinned", {}).get("rate_gb_s")
        if rate:
            found[way + " GB/s"] = (rate, rate, rate)
    for name, value in spec["duplex"].items() if isinstance(spec.get("duplex"), dict) else ():
        found["duplex " + name] = (value, value, value)
    return found


def main():
    program, *inputs = sys.argv[1:]
    run = lambda *words: subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
    inside = everything = 0
    for source in inputs:
        with tempfile.TemporaryDirectory() as folder:
            at = lambda name: os.path.join(folder, name)
            spec = source
            if source.endswith(".h5"):
                spec = at("twin.json")
                run("derive", source, "--twin", spec)
            run("characterize", "--device", "sim:" + os.path.abspath(spec), "--output", at("again.h5"), "--quiet")
            run("derive", at("again.h5"), "--twin", at("again.json"))
            first, second = figures(spec), figures(at("again.json"))
        both = [name for name in first if name in second]
        off = [name for name in both
               if not second[name][1] <= first[name][0] <= second[name][2] and
               not abs(second[name][0] - first[name][0]) <= 0.01 * abs(first[name][0])]
        inside, everything = inside + len(both) - len(off), everything + len(both)
        print(f"{os.path.basename(source)}: {len(both) - len(off)} of {len(both)} found again"
              + "".join(f"; {name} {first[name][0]:.4g}, now {second[name][0]:.4g}" for name in off)
              + (f"; not told: {', '.join(sorted(set(first) - set(second)))}" if set(first) - set(second) else ""), flush=True)
    print(f"in all {inside} of {everything}")


if __name__ == "__main__":
    main()
