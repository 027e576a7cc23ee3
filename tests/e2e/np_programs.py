"""NPmemcpy, and NPmpi where it is named too: np.out, the last line, the options of NetPIPE 5, and what is refused. Run by
.ci/run once Makefile.legacy has built them: np_programs.py ./NPmemcpy [./NPmpi]"""
import os
import re
import shutil
import subprocess
import sys

from npgpu_run import Checks, Result, folder, run
from rank_jobs import session, shim

check = Checks()
LAST = re.compile(r"^Completed with max bandwidth ([\d.]+) (\S?)bps ([\d.]+) (n|u|m|)secs latency$", re.M)
SCALE = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "n": 1e-9, "u": 1e-6, "m": 1e-3}
SPOIL = """
#include <mpi.h>
#include <string.h>
/* Rank 1 sends payloads (tag 1) of 64 B with byte 17 changed. */
int MPI_Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm all) {
  int rank = 0;
  MPI_Comm_rank(all, &rank);
  char copy[64];
  if (rank != 1 || tag != 1 || count != sizeof copy) return PMPI_Send(from, count, type, to, tag, all);
  memcpy(copy, from, sizeof copy);
  copy[17] ^= 0x40;
  return PMPI_Send(copy, count, type, to, tag, all);
}
"""


def lines(where, name="np.out"):
    with open(os.path.join(where, name), encoding="ascii") as file:
        return [[float(column) for column in line.split()] for line in file]


def check_table(done, rows, sizes, highest, what, pairs=1):
    """Sizes, order of the columns, and the last line as the mean of what np.out has, which is rounded."""
    check(done.code == 0, f"{what}: {done.code}: {done.err[-500:]}")
    check([int(row[0]) for row in rows] == sizes, f"{what}: {rows}")
    check(all(len(row) == 5 and 0 <= row[2] <= row[1] <= row[3] for row in rows), f"{what}: {rows}")
    # Rates have three decimals and times have two, of which the coarser is not asked.
    times = [us if us >= 1 else pairs * size * 8e-3 / average for size, average, _, _, us in rows]
    check(all(abs(average * us * 1e3 / (size * 8 * pairs) - 1) < 0.02 for size, average, _, _, us in rows
              if us >= 1 and average > 0.1), f"{what}: rates and times: {rows}")
    last = LAST.findall(done.out)
    check(len(last) == 1, f"{what}: {done.out}")
    if len(last) == 1:
        rate, rate_unit, time, time_unit = last[0]
        best = sorted((row[1] for row in rows), reverse=True)[:highest]
        check(abs(float(rate) * SCALE[rate_unit] / (1e9 * sum(best) / len(best)) - 1) < 0.01, f"{what}: {last}, {best}")
        mean = sum(times[:10]) / len(times[:10])
        check(abs(float(time) * SCALE[time_unit] / (1e-6 * mean) - 1) < 0.06, f"{what}: {last}, {times[:10]}")


with folder() as where:
    few = ["--repeats", 20]
    sizes = sorted({n for k in range(17) for n in (1 << k, 3 << k >> 1) if n <= 65536})
    check_table(run("--quickest", "--end", 65536, cwd=where), lines(where), sizes, 5, "quickest")
    check_table(run(*few, "--start", 64, "--end", 256, "-o", "o.out", cwd=where), lines(where, "o.out"),
                [61, 64, 67, 93, 96, 99, 125, 128, 131, 189, 192, 195, 253, 256, 259], 10, "perturbed")
    # Sizes that NetPIPE 5 wrote.
    for words, own in {("--end", 35): [1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35],
                       ("--start", 100, "--end", 410): [n + p for n in (100, 150, 200, 300, 400) for p in (-3, 0, 3)],
                       ("--start", 3, "--end", 30, "--pert", 0): [3, 4, 5, 7, 9, 13, 17, 25]}.items():
        run(*few, *words, cwd=where)
        check([int(row[0]) for row in lines(where)] == own, f"{words}: {lines(where)}")
    for word in ("--fac2", "-factorsof2"):
        check_table(run(*few, word, "--start", 100, "--end", 1000, "--outfile=two.out", cwd=where), lines(where, "two.out"),
                    [100, 200, 400, 800], 5, word)
    for words, schedule in {("--quick",): "target 0.1 s trials 3", ("--quicker",): "target 0.1 s trials 1",
                            ("--quickest",): "repeats 1 trials 1", ("--repeat", 9, "--quickest"): "repeats 9 trials 1",
                            ("--repeats", 9): "repeats 9 trials 7"}.items():
        done = run(*words, "--start", 8, "--end", 8, cwd=where)
        check(done.code == 0 and f"classic {schedule}, to np.out" in done.err, f"{words}: {done.err}")
    done = run(*few, "--start", 8, "--end", 8, "--bidirectional", "--send_offset", 1, "--recv_offset", 2, "--perturbation",
               0, "--memcpy", "--cache", "--integrity", "--printhostnames", cwd=where)
    check(done.code == 0 and "duplex" in done.err and "soffset=1 roffset=2" in done.err, f"other spellings: {done.err}")
    check(re.search(r"^rank 0 on \S", done.out) and [int(row[0]) for row in lines(where)] == [16], f"hosts: {done.out}")
    done = run(*few, "--start", 8, "--end", 8, "--inval", cwd=where)  # a machine may have too little memory for it
    check(" cold on " in done.err if done.code == 0 else "--cache cold: " in done.err, f"--inval: {done.err}")

    os.remove(os.path.join(where, "np.out"))
    for words, why in {("-l", 1): "-l: .* --start", ("-u1000",): "-u: .* --end", ("-o",): "-o takes a value",
                       ("-p", 3): "-p: .* --pert", ("-n", 5): "-n: .* --repeats", ("-a",): "-a: .* --async",
                       ("-s",): "-s: .* --stream", ("-2",): "-2: .* --bidir", ("-I",): "-I: .* --nocache",
                       ("-i",): "-i: .* --integrity", ("-O", "1,3"): "-O: .* --soffset and --roffset",
                       ("-S",): "-S: .*leave it out", ("-z",): "-z: .*leave it out", ("-B",): "-B: .*leave it out",
                       ("--workload", "daxpy", 1000): "--workload: .*npgpu streams", ("-burst",): "-burst: .*leave it out",
                       ("--syncSend",): "--syncSend: .*leave it out", ("--anysource",): "--anysource: .*leave it out",
                       ("--doubles",): "--doubles: .*--pert 0", ("--dread",): "--dread: .*npgpu probe bandwidth",
                       ("--pipe",): "--pipe: .*NPmpi", ("--start",): "--start takes a value", ("--sta", 1): "'--sta' is no",
                       ("--quick=3",): "--quick takes no value", ("12",): "'12' is no option: NPmemcpy --help",
                       ("--async",): "--async: memcpy has no", ("--end", "1k"): "--end: '1k' is no whole"}.items():
        done = run(*words, cwd=where)
        check(done.code == 2 and re.fullmatch(f"NPmemcpy: {why}.*\n", done.err), f"{words}: {done.code}: {done.err}")
    check(not os.path.exists(os.path.join(where, "np.out")), "who is refused writes nothing")

if len(sys.argv) > 2 and shutil.which("mpirun"):
    program = os.path.abspath(sys.argv[2])
    with folder() as where:

        def job(ranks, *words, **more):
            return Result(subprocess.run(["mpirun", "-n", str(ranks), program, "--rank-timeout", "30", *map(str, words)],
                                         cwd=where, env={**session(), **more}, timeout=200, stdin=subprocess.DEVNULL,
                                         capture_output=True, text=True))

        some = ["--repeats", 20, "--pert", 0, "--start", 64, "--end", 65536]
        sizes = sorted({n for k in range(6, 17) for n in (1 << k, 3 << k >> 1) if 64 <= n <= 65536})
        check_table(job(2, *some), lines(where), sizes, 5, "two ranks")
        done = job(4, *some, "--printhostnames")
        check_table(done, lines(where), sizes, 5, "two pairs", 2)
        check("host@0>host@3" in done.err and "2 pairs at once" in done.err, f"two pairs: {done.err}")
        check([line.split(" on ")[0] for line in done.out.splitlines()[:4]] == [f"rank {rank}" for rank in range(4)],
              f"hosts: {done.out}")
        check_table(job(4, *some, "--bidir"), lines(where), [2 * size for size in sizes], 5, "two pairs both ways", 2)
        for ranks, words, why in (3, some, "it takes pairs of ranks, and there are 3"), (2, ["-I"], "-I: .*warm caches"):
            done = job(ranks, *words)
            check(done.code == 2 and len(re.findall(f"^NPmpi: {why}", done.err, re.M)) == 1, f"{words}: {done.err}")
        if shutil.which("mpicc"):  # the pair of ranks 1 and 2, of which rank 0 tells
            done = job(4, *some, LD_PRELOAD=shim(where, "spoil", SPOIL))
            check(done.code == 1 and re.search("^NPmpi: payload wrong: rank [12] on .*byte 17 of 64", done.err, re.M),
                  f"spoiled: {done.code}: {done.err[-800:]}")

check.finish()
