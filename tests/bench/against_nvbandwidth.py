#!/usr/bin/env python3
"""Our rates beside nvbandwidth's, alternating in one run on one GPU: medians over the rounds, and their ratios.

    against_nvbandwidth.py build/default/npgpu /path/to/nvbandwidth [--rounds 5]

nvbandwidth (https://github.com/NVIDIA/nvbandwidth) is not part of npgpu; build it from its own sources.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

# our direction, nvbandwidth's test
ONE_WAY = [("h2d", "host_to_device_memcpy_ce"), ("d2h", "device_to_host_memcpy_ce"), ("d2d", "device_local_copy")]
DUPLEX_PEER = ["host_to_device_bidirectional_memcpy_ce", "device_to_host_bidirectional_memcpy_ce"]


def ours(program, folder, arguments, size):
    path = os.path.join(folder, "t.h5")
    done = subprocess.run([program, "transfer", "--module", "cudaMemcpy", "--timing", "gated", "--sizes", size,
                           "--schedule", "adaptive", "--budget", "1s", "--output", path, "--force", "--json", *arguments],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["transfers"][0]


def rate(curve):
    return curve["points"][0]["rate_bytes_per_s"]["value"] / 1e9


def theirs(program, tests, mebibytes):
    done = subprocess.run([program, "-j", "-b", str(mebibytes), *[a for t in tests for a in ("-t", t)]],
                          capture_output=True, text=True, check=True)
    found = json.loads(done.stdout[done.stdout.index("{"):])["nvbandwidth"]["testcases"]
    return {t["name"]: float(t["bandwidth_matrix"][0][0]) for t in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npgpu")
    parser.add_argument("nvbandwidth")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mebibytes", type=int, default=512)
    options = parser.parse_args()
    size = f"{options.mebibytes}MiB"
    mine, peer = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name, test in ONE_WAY:
                sweep = ours(options.npgpu, folder, ["--direction", name, "--async"], size)
                mine.setdefault(name, []).append(rate(sweep["lanes"][0]))
                peer.setdefault(name, []).append(theirs(options.nvbandwidth, [test], options.mebibytes)[test])
            sweep = ours(options.npgpu, folder, ["--pattern", "duplex", "--async"], size)
            for key, curve in (("duplex h2d", sweep["lanes"][0]), ("duplex d2h", sweep["lanes"][1]), ("duplex sum", sweep["together"])):
                mine.setdefault(key, []).append(rate(curve))
            rates = theirs(options.nvbandwidth, DUPLEX_PEER, options.mebibytes)
            for key, test in zip(("duplex h2d", "duplex d2h"), DUPLEX_PEER):
                peer.setdefault(key, []).append(rates[test])
    print(f"{options.rounds} rounds alternating, {size}, pinned, gated; decimal GB/s, a device-to-device copy's bytes once")
    print(f"{'':12} {'npgpu':>9} {'min..max':>19} {'nvbandwidth':>12} {'min..max':>19} {'ratio':>7}")
    for name, values in mine.items():
        line = f"{name:12} {statistics.median(values):9.2f} {min(values):9.2f}..{max(values):<8.2f}"
        if name in peer:
            other = peer[name]
            ratio = statistics.median(a / b for a, b in zip(values, other))
            line += f" {statistics.median(other):12.2f} {min(other):9.2f}..{max(other):<8.2f} {ratio:7.4f}"
        print(line)


main()
