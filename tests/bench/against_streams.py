#!/usr/bin/env python3
"""Our memory bandwidth beside BabelStream's and gpu-stream's, alternating in one run on one GPU.

    against_streams.py build/default/npgpu --babel /path/to/cuda-stream --gpu-stream /path/to/cuda-stream [--rounds 3]

For each operation the best rate of any shape, the median over the rounds, and our ratio to the better peer. Bytes are
counted alike: what is read plus what is written. BabelStream (https://github.com/UoB-HPC/BabelStream) and gpu-stream
(of https://github.com/RRZE-HPC/gpu-benches) are not part of npgpu; build them from their own sources.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile

FAR = 1 << 30  # bytes: sets that no cache holds


def ours(program, device):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "probe", "bandwidth", "--device", device, "--form", "streaming", "--json",
                               "--output", os.path.join(folder, "t.h5")], capture_output=True, text=True, check=True)
    best = {}
    for probe in json.loads(done.stdout)["probes"]:
        rates = [p["rate_per_s"]["value"] for p in probe["points"] if p["bytes"] >= FAR]
        best[probe["case"]["operation"]] = max(rates) / 1e9
    return best


def babel(program):
    """Its own arrays of 2 GiB of double; dot reads two arrays and writes nothing."""
    done = subprocess.run([program, "-s", str(1 << 28), "-n", "30"], capture_output=True, text=True, check=True)
    rates = {m[1]: float(m[2]) / 1e3 for m in re.finditer(r"^(Copy|Mul|Triad|Dot)\s+([0-9.]+)", done.stdout, re.M)}
    return {"copy": max(rates["Copy"], rates["Mul"]), "triad": rates["Triad"], "read": rates["Dot"]}


def gpu_stream(program):
    """Columns init, read, scale (a copy) of double over its occupancies; its triad reads three arrays, ours two."""
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    rows = [[float(x) for x in line.split("GB/s:")[1].split()] for line in done.stdout.splitlines() if "GB/s:" in line]
    return {name: max(row[i] for row in rows) for i, name in enumerate(("write", "read", "copy"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npgpu")
    parser.add_argument("--babel")
    parser.add_argument("--gpu-stream")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tools = {"npgpu": lambda: ours(options.npgpu, options.device)}
    if options.babel:
        tools["BabelStream"] = lambda: babel(options.babel)
    if options.gpu_stream:
        tools["gpu-stream"] = lambda: gpu_stream(options.gpu_stream)
    seen = {tool: {} for tool in tools}
    for _ in range(options.rounds):
        for tool, ask in tools.items():
            for operation, rate in ask().items():
                seen[tool].setdefault(operation, []).append(rate)
    print(f"{options.rounds} rounds alternating, decimal GB/s, read and write counted, best shape of each tool")
    print(f"{'':6}" + "".join(f"{tool:>14}" for tool in tools) + "   ours / better peer")
    for operation, rates in seen["npgpu"].items():
        medians = [statistics.median(seen[tool][operation]) if operation in seen[tool] else None for tool in tools]
        peers = [m for m in medians[1:] if m]
        ratio = f"{medians[0] / max(peers):.4f}" if peers else "-"
        print(f"{operation:6}" + "".join(f"{m:14.1f}" if m else f"{'-':>14}" for m in medians) + f"   {ratio}")


if __name__ == "__main__":
    main()
