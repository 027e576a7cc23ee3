"""npgpu transfer --module mpi: ranks of a job on this machine. What each rank's trace holds, all pairs, staged messages,
a spoiled lane, and ranks that are missing, killed, or hang."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from npgpu_run import PROGRAM, Checks, folder, needs, run
from rank_jobs import ENVIRONMENT, QUICK, Jobs, check_pair, check_partners, check_spoiled, need, said, shim, side_by_side, trace

h5py = needs("h5py")
need("mpi")
check = Checks()
jobs = Jobs("mpi")
job = jobs.job
SPOIL = """
#include <mpi.h>
#include <string.h>
/* Rank 1 sends payloads (tag 1) of 4096 B with byte 17 changed. */
int MPI_Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm all) {
  int rank = 0;
  MPI_Comm_rank(all, &rank);
  char copy[4096];
  if (rank != 1 || tag != 1 || count != sizeof copy) return PMPI_Send(from, count, type, to, tag, all);
  memcpy(copy, from, sizeof copy);
  copy[17] ^= 0x40;
  return PMPI_Send(copy, count, type, to, tag, all);
}
"""
LATE = """
#include <mpi.h>
#include <unistd.h>
/* Rank 1 hangs once MPI has begun, before its first word. */
static void hang(MPI_Comm all) {
  int rank = 0;
  MPI_Comm_rank(all, &rank);
  while (rank == 1) pause();
}
int MPI_Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm all) {
  hang(all);
  return PMPI_Send(from, count, type, to, tag, all);
}
int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm all, MPI_Request* request) {
  hang(all);
  return PMPI_Isend(from, count, type, to, tag, all, request);
}
"""


with folder() as where:
    where = os.path.realpath(where)
    check("mpi" not in subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout,
          "the program is not linked with MPI")

    # Two ranks, all patterns, whole and in chunks.
    done = job(2, "--pattern", "pingpong,stream,duplex", "--access", "write,staged", "--chunk", "1KiB", "--sizes",
               "8,4KiB,100000", *QUICK, "--output", "pair.h5", cwd=where)
    check(done.returncode == 0, f"two ranks: {done.returncode}: {done.stderr[-800:]}")
    both = check_pair(check, done, where)
    for rank, (_, _, facts) in enumerate(both):
        ranks = facts["ranks"]
        check(ranks[f"rank{1 - rank}_round_trip_us"] > 0 and "ranks_after" in facts, f"rank {rank}: clocks: {ranks}")
    check(all(both[0][1][key]["repeats"] == both[1][1][key]["repeats"] for key in both[0][1]), "repeats are agreed")
    merged = run("merge", "pair.h5", "pair-rank0.h5", "pair-rank1.h5", cwd=where)
    check(merged.code == 0 and "2 runs of 1 host" in merged.out, merged.out + merged.err)
    exported = run("export", "pair-rank0.h5", "--format", "npout", "--case", "transfers:0", cwd=where)
    check(exported.code == 0 and [len(line.split()) for line in exported.out.splitlines()] == [5, 5, 5], exported.out)

    # The adaptive schedule, whose decisions rest on times, and a chunk that is advised.
    done = job(2, "--access", "staged", "--sizes", "8,256KiB", "--rounds", "3", "--output", "adaptive.h5", cwd=where)
    check(done.returncode == 0, f"adaptive: {done.stderr[-800:]}")
    visits = [next(iter(trace(where, f"adaptive-rank{rank}.h5")[1].values()))["visits"] for rank in (0, 1)]
    check(visits[0] == visits[1] and len(visits[0]) >= 6, f"both visit alike: {visits}")
    # The chunk is chosen once, by all alike, written down, and kept by a run that goes on.
    choices = [trace(where, f"adaptive-rank{rank}.h5")[2]["ranks_chunks"] for rank in (0, 1)]
    check(choices[0]["rank1_pingpong8_chunk"] == "advised 8, taken 8", f"nothing to choose from: {choices}")
    chosen = re.fullmatch(r"advised \d+, taken (\d+):( \d+ [\d.e+]+)+", choices[0]["rank1_pingpong262144_chunk"])
    check(chosen and choices[0]["rank1_pingpong262144_chunk"] == choices[1]["rank0_pingpong262144_chunk"], f"{choices}")
    told = run("report", "adaptive-rank0.h5", cwd=where)
    check(told.code == 0 and re.search(r"256 KiB +\d+ KiB .* \d+ KiB ", told.out) and "after trials" in told.out, told.out[-1500:])
    messages = json.loads(run("report", "adaptive-rank0.h5", "--json", cwd=where).out)["staged_messages"]
    check(any(size["bytes"] == 262144 and size["chunk_bytes"] for message in messages for size in message["sizes"]), f"{messages}")

    # All pairs: each rank's trace has its partners.
    every_pair = side_by_side(lambda count: job(count, "--sizes", "64", "--rounds", "2", "--trials", "2", "--output",
                                                f"all{count}.h5", cwd=where), [(3,), (4,)])
    for count, done in zip((3, 4), every_pair):
        check_partners(check, done, where, f"all{count}", count)

    # Wrong numbers and options: one sentence.
    done = job(1, cwd=where)
    check(done.returncode == 2 and len(said(done.stderr)) == 1 and "mpirun -n 2" in done.stderr, done.stderr)
    alone = run("transfer", "--module", "mpi", cwd=where, env=ENVIRONMENT)
    check(alone.code == 2 and len(alone.err.splitlines()) == 1, alone.err)
    alone = run("transfer", "--module", "mpi,memcpy", cwd=where)
    check(alone.code == 2 and "name it alone" in alone.err, alone.err)
    alone = run("transfer", "--module", "mpi", cwd=where, env={"NPGPU_MPI_LIBRARY": "/nowhere/libnpgpu_mpi.so"})
    check(alone.code == 2 and "/nowhere/libnpgpu_mpi.so" in alone.err and len(alone.err.splitlines()) == 1, alone.err)
    wrong_ones = ((["--sizes", "0"], "--sizes"), (["--pattern", "chase"], "--pattern chase"),
                  (["--timing", "event"], "--timing host"), (["--sizes", "2GiB"], "2 GiB - 1 B"),
                  (["--device", "sim:h200"], "simulated devices"), (["--output", "pair.h5"], "exists"))
    for (wrong, word), done in zip(wrong_ones, side_by_side(lambda wrong, _: job(2, *wrong, cwd=where), wrong_ones)):
        check(done.returncode == 2 and len(said(done.stderr)) == 1 and word in done.stderr,
              f"{wrong}: {done.returncode}: {said(done.stderr)}")

    # A spoiled lane is found and named, by both.
    if shutil.which("mpicc"):
        done = job(2, "--sizes", "8,4KiB", *QUICK, "--output", "spoiled.h5", cwd=where,
                   env={"LD_PRELOAD": shim(where, "spoil", SPOIL)})
        check_spoiled(check, done, where)

    # A rank that is late is waited for. One that never comes, before MPI begins or after, ends all with one sentence.
    measured = [PROGRAM, "transfer", "--module", "mpi", "--sizes", "8", *QUICK]
    for what, second, timeout in (("late", ["sh", "-c", 'sleep 5; exec "$@"', "sh", *measured, "--output", "late.h5"], "60s"),
                                  ("never started", ["sleep", "100"], "1s")):
        begin = time.monotonic()
        done = subprocess.run(["mpirun", "-n", "1", *measured, "--output", "late.h5", "--rank-timeout", timeout, ":", "-n",
                               "1", *second, *(["--rank-timeout", timeout] if what == "late" else [])], env=ENVIRONMENT,
                              cwd=where, timeout=200, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        took = time.monotonic() - begin
        if what == "late":
            check(done.returncode == 0 and took > 5, f"a rank comes 5 s late: {done.returncode}: {done.stderr[-500:]}")
            check(all(trace(where, f"late-rank{rank}.h5")[0] == 1 for rank in (0, 1)), "both traces are complete")
        else:
            check(done.returncode == 1 and len(said(done.stderr)) == 1 and "MPI did not begin within 1 s" in done.stderr,
                  f"a rank never starts: {done.returncode}: {done.stderr[-800:]}")
            check(took < 50, f"a rank never starts: {took} s")
    if shutil.which("mpicc"):
        late = shim(where, "late", LATE)
        for done in side_by_side(lambda count: job(count, "--sizes", "8", "--rank-timeout", "3s", "--output", "never.h5",
                                                   cwd=where, env={"LD_PRELOAD": late}), [(2,), (3,)]):
            check(done.returncode == 1 and len(said(done.stderr)) == 1 and "npgpu: rank 1 did not answer for 3 s" in
                  done.stderr, f"a rank never comes: {done.returncode}: {done.stderr[-800:]}")
            check(not os.path.exists(os.path.join(where, "never-rank0.h5")), "nothing was measured, and no trace begun")

    jobs.check_lost_ranks(check, where)
    # A signal to one stops both, and both go on.
    code, err = jobs.signalled(where, 1, signal.SIGTERM, "--access", "staged")
    check(code == 75 and "--resume" in err, f"stopped: exit {code}: {err[-500:]}")
    # The chunks of points that were visited stay as they are.
    kept = "advised 1, taken 1: 1 5"
    with h5py.File(os.path.join(where, "long-rank0.h5"), "r+") as file:
        file["provenance/ranks_chunks"].attrs["rank1_pingpong1_chunk"] = kept
    code, err = jobs.signalled(where, 0, signal.SIGTERM, "--access", "staged", "--resume", fresh=False)
    chunks = trace(where, "long-rank0.h5")[2]["ranks_chunks"]
    check(code == 75 and chunks["rank1_pingpong1_chunk"] == kept, f"a run that goes on keeps its chunks: {code}: {chunks}")
    done = job(2, "--sizes", "8", *QUICK, "--output", "short.h5", cwd=where)
    done = job(2, "--sizes", "8", *QUICK, "--output", "short.h5", "--resume", cwd=where)
    check(done.returncode == 0 and "1 kept from before" in done.stdout, f"resumed: {done.stdout[-300:]}{done.stderr[-300:]}")

check.finish()
