"""npgpu transfer --module ucx: ranks of a job on this machine, over UCX's shared memory and over its TCP. What the traces
hold, staged messages, a spoiled lane, and ranks or libraries that are missing, killed, or hang."""
import os
import re
import shutil
import signal
import subprocess

from npgpu_run import PROGRAM, Checks, folder, run
from rank_jobs import QUICK, Jobs, check_pair, check_partners, check_spoiled, need, said, shim, side_by_side, trace

check = Checks()
if "ucx needs UCX" in run("info", "--words").out:
    refused = run("transfer", "--module", "ucx")
    check(refused.code == 2 and "ucx is not in this build: it needs UCX" in refused.err, refused.err)
need("mpi", "ucx")
jobs = Jobs("ucx")
job = jobs.job
SHARED = {"UCX_TLS": "sm"}
# RTLD_NEXT finds nothing of libraries that were opened for libnpgpu_ucx.so alone.
NEXT = """
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void* next(const char* name) { return dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), name); }
"""
SPOIL = NEXT + """
/* Rank 1 sends payloads (tag 1) of 4096 B with byte 17 changed. */
void* ucp_tag_send_nbx(void* to, const void* from, size_t count, uint64_t tag, const void* how) {
  static char copy[4096];
  static void* (*send)(void*, const void*, size_t, uint64_t, const void*);
  if (!send) *(void**)&send = next("ucp_tag_send_nbx");
  if (tag != (1 << 8 | 1) || count != sizeof copy) return send(to, from, count, tag, how);
  memcpy(copy, from, sizeof copy);
  copy[17] ^= 0x40;
  return send(to, copy, count, tag, how);
}
"""
LATE = NEXT + """
/* Rank 1 hangs when it asks for its own address. */
int ucp_worker_get_address(void* worker, void** address, size_t* length) {
  int (*get)(void*, void**, size_t*);
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  while (rank && *rank == '1') pause();
  *(void**)&get = next("ucp_worker_get_address");
  return get(worker, address, length);
}
"""

with folder() as where:
    where = os.path.realpath(where)
    check("libuc" not in subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout,
          "the program is not linked with UCX")

    # Two ranks, all patterns, whole and in chunks; 300000 B are beyond what UCX sends without asking the receiver.
    done = job(2, "--pattern", "pingpong,stream,duplex", "--access", "write,staged", "--chunk", "1KiB", "--sizes",
               "1,8,4KiB,300000", *QUICK, "--output", "pair.h5", cwd=where, env=SHARED)
    check(done.returncode == 0 and not said(done.stderr), f"two ranks: {done.returncode}: {done.stderr[-800:]}")
    both = check_pair(check, done, where)
    for rank, (_, _, facts) in enumerate(both):
        ranks = facts["ranks"]
        # The library, and the transports that it chose.
        check(re.fullmatch(rf"UCX [\d.]+; to rank {1 - rank}: (posix|sysv)/memory.*", ranks["library"]), f"{ranks}")
    printed = run("report", "pair-rank0.h5", cwd=where)
    check(printed.code == 0 and "ucx" in printed.out, printed.out + printed.err)

    # The receive is posted first; the adaptive schedule; a chunk that is advised; another transport, which the trace names.
    done = job(2, "--async", "--pattern", "pingpong,stream", "--sizes", "8,256KiB", "--rounds", "2", "--output", "async.h5",
               cwd=where, env=SHARED)
    check(done.returncode == 0, f"asynchronous: {done.stderr[-800:]}")
    done = job(2, "--access", "staged", "--sizes", "8,256KiB", "--rounds", "2", "--output", "tcp.h5", cwd=where,
               env={"UCX_TLS": "tcp"})
    check(done.returncode == 0, f"through TCP: {done.stderr[-800:]}")
    facts = trace(where, "tcp-rank0.h5")[2]
    check("tcp/" in facts["ranks"]["library"] and "memory" not in facts["ranks"]["library"], f"{facts['ranks']}")
    check("taken" in facts["ranks_chunks"]["rank1_pingpong262144_chunk"], f"{facts['ranks_chunks']}")

    # All pairs.
    done = job(3, "--sizes", "64", "--rounds", "2", "--trials", "2", "--output", "all.h5", cwd=where, env=SHARED)
    check_partners(check, done, where, "all", 3)

    # Wrong numbers and options, and no library: one sentence.
    done = job(1, cwd=where)
    check(done.returncode == 2 and len(said(done.stderr)) == 1 and "mpirun -n 2 npgpu transfer --module ucx" in done.stderr,
          done.stderr)
    alone = run("transfer", "--module", "mpi,ucx", cwd=where)
    check(alone.code == 2 and "name it alone" in alone.err, alone.err)
    alone = run("transfer", "--module", "ucx", cwd=where, env={"NPGPU_MPI_LIBRARY": "/nowhere/libnpgpu_mpi.so"})
    check(alone.code == 2 and "--module ucx begins through MPI: there is no /nowhere/libnpgpu_mpi.so" in alone.err and
          len(alone.err.splitlines()) == 1, alone.err)
    wrong_ones = (
        ([], "there is no /nowhere/libnpgpu_ucx.so", {"NPGPU_UCX_LIBRARY": "/nowhere/libnpgpu_ucx.so"}),
        (["--pattern", "chase"], "--pattern chase", {}), (["--sizes", "2GiB"], "2 GiB - 1 B", {}),
        (["--output", "pair.h5"], "exists", {}),
        (["--sizes", "8"], "UCX has no usable transport (UCX_TLS=nothing)", {"UCX_TLS": "nothing"}))
    for (wrong, word, env), done in zip(wrong_ones, side_by_side(lambda wrong, _, env: job(2, *wrong, cwd=where, env=env), wrong_ones)):
        check(done.returncode == 2 and len(said(done.stderr)) == 1 and word in said(done.stderr)[0],
              f"{wrong} {env}: {done.returncode}: {done.stderr}")

    if shutil.which("mpicc"):
        # A spoiled lane is found and named, by both.
        done = job(2, "--sizes", "8,4KiB", *QUICK, "--output", "spoiled.h5", cwd=where,
                   env={**SHARED, "LD_PRELOAD": shim(where, "spoil", SPOIL, "-ldl")})
        check_spoiled(check, done, where)
        # A rank that hangs while the others wait for its address.
        done = job(2, "--sizes", "8", "--rank-timeout", "3s", "--output", "never.h5", cwd=where,
                   env={"LD_PRELOAD": shim(where, "late", LATE, "-ldl")})
        check(done.returncode == 1 and len(said(done.stderr)) == 1 and re.search(
            r"npgpu: rank 1 on \S+ did not answer for 3 s", done.stderr), f"a rank never comes: {done.stderr[-800:]}")
        check(not os.path.exists(os.path.join(where, "never-rank0.h5")), "nothing was measured, and no trace begun")

    jobs.check_lost_ranks(check, where)
    # A signal to one stops both, and both go on.
    for rank, how, fresh in ((1, (), True), (0, ("--resume",), False)):
        code, err = jobs.signalled(where, rank, signal.SIGTERM, *how, fresh=fresh)
        check(code == 75 and "--resume" in err, f"stopped {how}: exit {code}: {err[-500:]}")

check.finish()
