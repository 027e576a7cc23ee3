#!/usr/bin/env python3
"""Messages between two ranks of this machine: module ucx, UCX's own ucx_perftest (tag_lat), and module mpi, in turn.

    ucx_beside_mpi.py NPGPU [--rounds 5] [--sizes 8,4096,1048576,16777216] [--mpirun "mpirun -n 2"]

All send and receive blocking, each rank on a processor of its own. Of npgpu the fastest of many trials of half a
millisecond counts, or of one message where that takes longer; of ucx_perftest, which reads the clock at every message,
the median. The table has the least over rounds, of the time one way: what else the machine does only adds to it.
ucx_perftest is Debian's package ucx-utils; where it is missing its column is left out."""
import argparse
import csv
import os
import shlex
import shutil
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("npgpu", type=os.path.abspath)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--sizes", default="8,4096,1048576,16777216")
parser.add_argument("--mpirun", default="mpirun -n 2")
given = parser.parse_args()
sizes = [int(size) for size in given.sizes.split(",")]
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def repeats(size):
    return max(1, int(0.0005 / (2e-6 + size / 5e9)))


def trials(size):
    return 300 if size < 8 << 20 else 150


def by_npgpu(module):
    def measure(size):
        with tempfile.TemporaryDirectory() as where:
            subprocess.run([*shlex.split(given.mpirun), given.npgpu, "transfer", "--module", module, "--schedule",
                            "classic", "--trials", str(trials(size)), "--repeats", str(repeats(size)), "--sizes",
                            str(size), "--wait-quiet", "0", "--quiet", "--output", "bench.h5"],
                           cwd=where, env=environment, check=True, capture_output=True)
            table = subprocess.run([given.npgpu, "export", "bench-rank0.h5", "--format", "csv"], cwd=where, check=True,
                                   capture_output=True, text=True).stdout
        names, *rows = csv.reader(table.splitlines())
        host, repeat = names.index("host_us"), names.index("repeats")
        return min(float(row[host]) / int(row[repeat]) for row in rows) / 2
    return measure


def by_perftest(size):
    server = subprocess.Popen(["ucx_perftest", "-c", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    done = subprocess.run(["ucx_perftest", "localhost", "-c", "1", "-f", "-t", "tag_lat", "-s", str(size), "-n",
                           str(repeats(size) * trials(size)), "-w", str(repeats(size))],
                          check=True, capture_output=True, text=True, timeout=100)
    server.wait(20)
    return float(done.stdout.splitlines()[-1].split()[1])  # after the iterations: the median


means = {"ucx": by_npgpu("ucx"), "mpi": by_npgpu("mpi")}
if shutil.which("ucx_perftest"):
    means["ucx_perftest"] = by_perftest
times = {}
for number in range(given.rounds):
    for size in sizes:
        for name in sorted(means, reverse=number % 2 == 1):
            times.setdefault((size, name), []).append(means[name](size))

print("| bytes | " + " | ".join(f"{name} us" for name in means) + " |" +
      "".join(f" ucx / {name} |" for name in list(means)[1:]))
print("| --- " * (2 * len(means)) + "|")
for size in sizes:
    least = {name: min(times[size, name]) for name in means}
    print(f"| {size} | " + " | ".join(f"{us:.4g}" for us in least.values()) + " |" +
          "".join(f" {least['ucx'] / least[name]:.3f} |" for name in list(means)[1:]))
