#!/usr/bin/env python3
"""Messages between two ranks, by npgpu and by NetPIPE's own NPmpi, in turn.

    against_netpipe.py NPGPU NPMPI [--rounds 7] [--sizes 8,4096,1048576,16777216] [--pattern pingpong]
                       [--mpirun "mpirun -n 2"]

Both post their receives early, have as many repeats in a trial (such that it takes some 0.1 s), seven trials, and print
the average of these; the table has medians over rounds, of the time one way. In a pingpong npgpu's second rank returns
what it has just received. NetPIPE's returns a buffer that nobody writes to, so that the caches of both ranks may hold
it. In a stream there is no such difference. NetPIPE's executable is built by whoever runs this; NetPIPE 5 prints the
average rate with three decimals, which is what its time is taken from."""
import argparse
import os
import shlex
import statistics
import subprocess
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("npgpu", type=os.path.abspath)
parser.add_argument("npmpi", type=os.path.abspath)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--sizes", default="8,4096,1048576,16777216")
parser.add_argument("--pattern", choices=["pingpong", "stream"], default="pingpong")
parser.add_argument("--mpirun", default="mpirun -n 2")
given = parser.parse_args()
sizes = [int(size) for size in given.sizes.split(",")]
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def average_us(np_out, size):
    """The second column is the average rate in Gbit/s."""
    for line in np_out.splitlines():
        columns = line.split()
        if columns and int(columns[0]) == size:
            return size * 8 / (float(columns[1]) * 1e3)
    raise SystemExit(f"no line of {size} B in np.out:\n{np_out}")


def run(where, *words):
    done = subprocess.run([*shlex.split(given.mpirun), *map(str, words)], cwd=where, env=environment,
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{words[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def repeats(size):
    """NetPIPE's own first guess is 25,000, whatever the size."""
    return max(20, int(0.1 / (1e-6 + size / 5e9)))


def by_npgpu(where, size):
    run(where, given.npgpu, "transfer", "--module", "mpi", "--async", "--pattern", given.pattern, "--schedule", "classic",
        "--sizes", size, "--repeats", repeats(size), "--wait-quiet", "0", "--quiet", "--force", "--output", "bench.h5")
    return average_us(subprocess.run([given.npgpu, "export", "bench-rank0.h5", "--format", "npout"], cwd=where,
                                     capture_output=True, text=True, check=True).stdout, size)


def by_netpipe(where, size):
    run(where, given.npmpi, "--end", size, "--start", size, "--pert", 0, "--repeats", repeats(size),
        *["--stream"] * (given.pattern == "stream"), "-o", "np.out")
    with open(os.path.join(where, "np.out"), encoding="ascii") as file:
        return average_us(file.read(), size)


times = {}
with tempfile.TemporaryDirectory() as folder:
    for number in range(given.rounds):
        for size in sizes:
            order = [("npgpu", by_npgpu), ("NetPIPE", by_netpipe)]
            for name, measure in order if number % 2 == 0 else order[::-1]:
                times.setdefault((size, name), []).append(measure(folder, size))

print("| bytes | npgpu us | NetPIPE us | ratio of medians | of minima |\n| --- | --- | --- | --- | --- |")
for size in sizes:
    ours, theirs = times[size, "npgpu"], times[size, "NetPIPE"]
    print(f"| {size} | {statistics.median(ours):.4g} | {statistics.median(theirs):.4g} "
          f"| {statistics.median(ours) / statistics.median(theirs):.4f} | {min(ours) / min(theirs):.4f} |")
