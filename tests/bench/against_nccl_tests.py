#!/usr/bin/env python3
"""npgpu collectives beside nccl-tests on this node's GPUs, by turns in one run: the ratio of the times of each size.

    against_nccl_tests.py NPGPU FOLDER_OF_NCCL_TESTS [--rounds 5] [--gpus 2] [--start BYTES] [--end BYTES] [--sizes BYTES,...]
                          [--collective all-reduce,...] [--graph] [--control] [--type fp32|int8]

Both are asked for the same: one process with all GPUs, out of place, host time of many operations in a row. npgpu's buffers
are of cudaMalloc. With NCCL 2.19 and later nccl-tests' are of ncclMemAlloc, which NCCL registers in graphs. With --graph both
launch CUDA graphs of 16 operations, so that times of small sizes do not depend on the host's launches.
nccl-tests reports the mean of its iterations; so many are asked for that one launch and one wait count for nothing, and that
a size takes some 20 ms. It checks its results once for each size (-c 1); without that it fills no buffer. It takes another
part of its largest buffer for each iteration, so that the L2 cache has none of it; npgpu stays in one place. So sizes about
that of the cache are asked for one by one, where both find it there. Interrupted, it prints what the rounds so far gave.
--type is that of the elements, by default fp32. With int8 both move random bytes (nccl-tests has uint8).
With --control nccl-tests runs before npgpu and again after it. npgpu's time is divided by the mean of the two, and the second
by the first: so far nccl-tests differs from itself in the same rounds.
Prints, for each operation and size, the median over the rounds of npgpu's time over nccl-tests', and both medians.
Exit code 1 where a median ratio from 1 MiB on is more than 1 % from 1, or below that more than 3 %, unless nccl-tests differs
from itself by as much in the middle round.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = {"all-reduce": "all_reduce_perf", "all-gather": "all_gather_perf", "reduce-scatter": "reduce_scatter_perf",
            "all-to-all": "alltoall_perf", "send-receive": "sendrecv_perf"}
FACTOR = 8
SMALL = 1 << 20
CACHED, BEYOND_CACHE = 1 << 20, 1 << 27
OF_GRAPH = 16
TYPES = {"fp32": "float", "int8": "uint8"}


def sizes_to(end):
    sizes = [64]  # below it nccl-tests has no block for each GPU
    while sizes[-1] * FACTOR < end:
        sizes.append(sizes[-1] * FACTOR)
    return [*sizes, end]


def of_npgpu(npgpu, operations, sizes, gpus, folder, graph, element):
    """us by operation and size."""
    trace = os.path.join(folder, "ours.h5")
    devices = ",".join(f"cuda:{i}" for i in range(gpus))
    done = subprocess.run([npgpu, "collectives", "--device", devices, "--collective", ",".join(operations), "--sizes",
                           ",".join(map(str, sizes)), "--launch", "graph" if graph else "eager", "--type", element, "--rounds", "1",
                           "--output", trace, "--force", "--json", "--progress", "none"], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(f"npgpu collectives: exit code {done.returncode}: {done.stderr.strip()}")
    times = {}
    for series in json.loads(done.stdout)["collectives"]:
        for point in series["points"]:
            times[series["case"]["operation"], point["bytes"]] = point["time_us"]["value"]
    return times


def of_nccl_tests(folder, operation, sizes, gpus, graph, element):
    """us by size: out of place."""
    times = {}
    middle = [[size] for size in sizes if CACHED <= size < BEYOND_CACHE]
    for some in ([size for size in sizes if size < CACHED], *middle, [size for size in sizes if size >= BEYOND_CACHE]):
        if not some:
            continue
        iterations = 2000 if some[-1] < BEYOND_CACHE else 150
        in_graphs = ["-n", str(OF_GRAPH), "-G", str(iterations // OF_GRAPH)]
        done = subprocess.run([os.path.join(folder, PROGRAMS[operation]), "-t", "1", "-g", str(gpus), "-b", str(some[0]), "-e", str(some[-1]), "-f", str(FACTOR),
                               *(in_graphs if graph else ["-n", str(iterations)]), "-w", "20", "-c", "1", "-d", TYPES[element]],
                              capture_output=True, text=True)
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) > 6 and words[0].isdigit():
                times[int(words[0])] = float(words[5])
        if not times:
            sys.exit(f"{PROGRAMS[operation]}: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npgpu")
    parser.add_argument("nccl_tests")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--end", type=int, default=1 << 30)
    parser.add_argument("--collective", default=",".join(PROGRAMS))
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--start", type=int, default=64)
    parser.add_argument("--sizes", help="these sizes, in place of --start to --end")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--type", choices=list(TYPES), default="fp32")
    arguments = parser.parse_args()
    operations = [o for o in arguments.collective.split(",")
                  if os.path.exists(os.path.join(arguments.nccl_tests, PROGRAMS[o]))]
    if not operations:
        sys.exit(f"none of nccl-tests' programs is in {arguments.nccl_tests}")
    sizes = ([int(size) for size in arguments.sizes.split(",")] if arguments.sizes
             else [size for size in sizes_to(arguments.end) if size >= arguments.start])
    ours, theirs, again = {}, {}, {}

    def ask_nccl_tests(times):
        for operation in operations:
            for size, us in of_nccl_tests(arguments.nccl_tests, operation, sizes, arguments.gpus, arguments.graph,
                                          arguments.type).items():
                times.setdefault((operation, size), []).append(us)

    with tempfile.TemporaryDirectory() as folder:
        try:
            for _ in range(arguments.rounds):
                ask_nccl_tests(theirs)
                for key, us in of_npgpu(arguments.npgpu, operations, sizes, arguments.gpus, folder, arguments.graph,
                                        arguments.type).items():
                    ours.setdefault(key, []).append(us)
                if arguments.control:
                    ask_nccl_tests(again)
        except KeyboardInterrupt:
            pass
    return compare(ours, theirs, again if arguments.control else theirs)


def compare(ours, theirs, again):
    """Prints the table; its exit code."""
    print(f"{'operation':16}{'bytes':>12}{'npgpu us':>12}{'nccl-tests':>12}{'ratio':>8}{'itself':>8}  of each round")
    compared = apart = 0
    for key in sorted(theirs):
        rounds = list(zip(ours.get(key, []), theirs[key], again.get(key, [])))
        if not rounds:
            continue
        ratios = [2 * a / (b + c) for a, b, c in rounds]
        ratio = statistics.median(ratios)
        itself = 1 + statistics.median(abs(c / b - 1) for _, b, c in rounds)
        compared += 1
        is_apart = abs(ratio - 1) > max(0.03 if key[1] < SMALL else 0.01, itself - 1)
        apart += is_apart
        print(f"{key[0]:16}{key[1]:12}{statistics.median(a for a, _, _ in rounds):12.2f}"
              f"{statistics.median((b + c) / 2 for _, b, c in rounds):12.2f}{ratio:8.3f}{itself:8.3f}"
              f"{' *' if is_apart else '  '}{' '.join(f'{r:.3f}' for r in ratios)}  {' '.join(f'{c / b:.3f}' for _, b, c in rounds)}")
    print(f"{apart} of {compared} median ratios are more than 1 % from 1 (below 1 MiB 3 %), and further than nccl-tests from itself")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
