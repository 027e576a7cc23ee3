#!/usr/bin/env python3
"""Our rates beside nvbandwidth's, alternating in one run: medians over the rounds, and their ratios.

    against_nvbandwidth.py build/default/npgpu /path/to/nvbandwidth [--rounds 5]

On the first GPU: copies to, from and within it, by copy engines, over a whole run of `npgpu transfer`. Then each of
nvbandwidth's cases that has a counterpart in `npgpu matrix`: copies of the host by engines and by kernels, one way and
both, latencies, and where there are several GPUs those between them and of many at once. Some of these measure
something else than ours of the same name (docs/dev/compared.md says which). nvbandwidth
(https://github.com/NVIDIA/nvbandwidth) is not part of npgpu; build it from its own sources.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

# our direction, nvbandwidth's test
ONE_WAY = [("h2d", "host_to_device_memcpy_ce"), ("d2h", "device_to_host_memcpy_ce"), ("d2d", "device_local_copy")]
DUPLEX_PEER = ["host_to_device_bidirectional_memcpy_ce", "device_to_host_bidirectional_memcpy_ce"]
EXECUTORS = {"ce": "copy-engine", "sm": "sm-kernel"}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def ours(program, folder, arguments, size):
    path = os.path.join(folder, "t.h5")
    done = run([program, "transfer", "--module", "cudaMemcpy", "--timing", "gated", "--sizes", size, "--schedule",
                "adaptive", "--budget", "1s", "--output", path, "--force", "--json", *arguments])
    return json.loads(done)["transfers"][0]


def rate(curve):
    return curve["points"][0]["rate_bytes_per_s"]["value"] / 1e9


def theirs(program, tests, mebibytes):
    """Of each test its matrix, with None where a cell is empty."""
    done = run([program, "-j", "-b", str(mebibytes), *[a for t in tests for a in ("-t", t)]])
    found = json.loads(done[done.index("{"):])["nvbandwidth"]["testcases"]

    def number(cell):
        try:
            return float(cell)
        except ValueError:
            return None
    return {t["name"]: [[number(cell) for cell in row] for row in t["bandwidth_matrix"]] for t in found
            if "bandwidth_matrix" in t}


def gpus(program):
    return [d["id"] for d in json.loads(run([program, "info", "--json"]))["devices"] if d["id"].startswith("cuda:")]


# ---- several GPUs: our matrix beside all of nvbandwidth's cases --------------------------------------------------------

def cells_of(report, executor, access="write", both_ways=False, latency=False):
    for m in report["matrix"]["matrices"]:
        if (m["executor"], m["access"], m["both_ways"], m["unit"] == "us") == (executor, access, both_ways, latency):
            return {(c["source"], c["target"]): c["value"]["value"] * (1e3 if latency else 1e-9) for c in m["cells"]}
    return {}


def sums_of(report, executor):
    return {t["name"]: t for t in report["matrix"]["together"] if t["executor"] == executor}


def mean(values):
    known = [v for v in values if v is not None]
    return statistics.fmean(known) if known else None


def mean_of(matrix):
    return mean(v for row in matrix for v in row)


def pairs(cells):
    return [v for (a, b), v in cells.items() if "host" not in (a, b) and a != b]


def our_figures(report, ids):
    """By nvbandwidth's names of its cases, what each of its cells is on average."""
    all_of = {}
    for short, executor in EXECUTORS.items():
        one, two = cells_of(report, executor), cells_of(report, executor, both_ways=True)
        all_of[f"host_to_device_memcpy_{short}"] = mean(one.get(("host", i)) for i in ids)
        all_of[f"device_to_host_memcpy_{short}"] = mean(one.get((i, "host")) for i in ids)
        all_of[f"host_to_device_bidirectional_memcpy_{short}"] = mean(two.get(("host", i)) for i in ids)
        all_of[f"device_to_host_bidirectional_memcpy_{short}"] = mean(two.get((i, "host")) for i in ids)
        for access in ("read", "write"):
            there = mean(pairs(cells_of(report, executor, access)))
            all_of[f"device_to_device_memcpy_{access}_{short}"] = there
            all_of[f"device_to_device_bidirectional_memcpy_{access}_{short}"] = mean(
                pairs(cells_of(report, executor, access, True)))
            if len(ids) == 2:  # to all others is to the other
                all_of[f"one_to_all_{access}_{short}"] = all_of[f"all_to_one_{access}_{short}"] = there
        together = sums_of(report, executor)
        for ours_name, name in ((f"host to {len(ids)} GPUs", "host_to_all_memcpy"), (f"{len(ids)} GPUs to host", "all_to_host_memcpy")):
            if ours_name in together:
                all_of[f"{name}_{short}"] = mean(c["value"]["value"] / 1e9 for c in together[ours_name]["lanes"])
        both = together.get(f"host to and from {len(ids)} GPUs")
        if both:
            for name, end in (("host_to_all_bidirectional_memcpy", "source"), ("all_to_host_bidirectional_memcpy", "target")):
                all_of[f"{name}_{short}"] = mean(c["value"]["value"] / 1e9 for c in both["lanes"] if c[end] == "host")
        if short == "ce":
            all_of["device_local_copy"] = mean(one.get((i, i)) for i in ids)
    loads = cells_of(report, "sm-kernel", latency=True)
    all_of["host_device_latency_sm"] = mean(loads.get((i, "host")) for i in ids)
    all_of["device_to_device_latency_sm"] = mean(pairs(loads))
    return {name: value for name, value in all_of.items() if value is not None}


def compare_node(options, folder, ids):
    path = os.path.join(folder, "matrix.h5")
    mine, peer, took = {}, {}, []
    for _ in range(options.rounds):
        begin = time.monotonic()
        report = json.loads(run([options.npgpu, "matrix", "--output", path, "--force", "--json"]))
        took.append(time.monotonic() - begin)
        figures = our_figures(report, ids)
        for name, matrix in theirs(options.nvbandwidth, list(figures), options.mebibytes).items():
            # Of such a pair nvbandwidth has both directions, and then both together: three matrices, one below the other.
            if "device_to_device_bidirectional" in name and len(matrix) == 3 * len(ids):
                matrix = matrix[:2 * len(ids)]
            value = mean_of(matrix)
            if name in figures and value is not None:
                mine.setdefault(name, []).append(figures[name])
                peer.setdefault(name, []).append(value)
    print(f"\nGPUs: {len(ids)}, {options.rounds} rounds alternating: npgpu matrix ({statistics.median(took):.0f} s a round) "
          f"and nvbandwidth ({options.mebibytes} MiB); GB/s, mean of the cells; latencies in ns")
    show(mine, peer, 46)


def show(mine, peer, width):
    print(f"{'':{width}} {'npgpu':>9} {'min..max':>19} {'nvbandwidth':>12} {'min..max':>19} {'ratio':>7}")
    for name, values in mine.items():
        line = f"{name:{width}} {statistics.median(values):9.2f} {min(values):9.2f}..{max(values):<8.2f}"
        if name in peer:
            other = peer[name]
            ratio = statistics.median(a / b for a, b in zip(values, other))
            line += f" {statistics.median(other):12.2f} {min(other):9.2f}..{max(other):<8.2f} {ratio:7.4f}"
        print(line)


def compare_one(options, folder):
    size = f"{options.mebibytes}MiB"
    mine, peer = {}, {}

    def first(test, found):
        return found[test][0][0]
    for _ in range(options.rounds):
        for name, test in ONE_WAY:
            sweep = ours(options.npgpu, folder, ["--direction", name, "--async"], size)
            mine.setdefault(name, []).append(rate(sweep["lanes"][0]))
            peer.setdefault(name, []).append(first(test, theirs(options.nvbandwidth, [test], options.mebibytes)))
        sweep = ours(options.npgpu, folder, ["--pattern", "duplex", "--async"], size)
        for key, curve in (("duplex h2d", sweep["lanes"][0]), ("duplex d2h", sweep["lanes"][1]), ("duplex sum", sweep["together"])):
            mine.setdefault(key, []).append(rate(curve))
        rates = theirs(options.nvbandwidth, DUPLEX_PEER, options.mebibytes)
        for key, test in zip(("duplex h2d", "duplex d2h"), DUPLEX_PEER):
            peer.setdefault(key, []).append(first(test, rates))
    print(f"{options.rounds} rounds alternating, {size}, pinned, gated; decimal GB/s, a device-to-device copy's bytes once")
    show(mine, peer, 12)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npgpu")
    parser.add_argument("nvbandwidth")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mebibytes", type=int, default=512)
    parser.add_argument("--only-node", action="store_true", help="leave out the first comparison, of the first GPU alone")
    options = parser.parse_args()
    ids = gpus(options.npgpu)
    with tempfile.TemporaryDirectory() as folder:
        if not options.only_node:
            compare_one(options, folder)
        compare_node(options, folder, ids)


main()
