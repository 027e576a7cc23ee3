"""npgpu transfer --module mpi and ucx: rank 1 stops (SIGSTOP) at a chosen place, and the job ends all the same, in the
time that --rank-timeout gives, with a sentence and exit code 1."""
import os
import re
import shutil
import sys
import tempfile

from npgpu_run import PROGRAM, Checks, folder, run
from rank_jobs import QUICK, Jobs, need, shim, side_by_side, trace

need("mpi")
if not shutil.which("mpicc"):
    print("skipped: there is no mpicc")
    sys.exit(77)
STOP = """
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Rank 1 stops before what NPGPU_TEST_STOP names: its first message with a tag, or the end of MPI. */
static void reach(const char* place) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* stop = getenv("NPGPU_TEST_STOP");
  if (!rank) rank = getenv("PMI_RANK");
  if (rank && stop && *rank == '1' && strcmp(stop, place) == 0) raise(SIGSTOP);
}
static void send(int tag) { reach(tag == 1 ? "payload" : tag == 2 ? "control" : "ack"); }
int MPI_Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm all) {
  send(tag);
  return PMPI_Send(from, count, type, to, tag, all);
}
int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm all, MPI_Request* request) {
  send(tag);
  return PMPI_Isend(from, count, type, to, tag, all, request);
}
void* ucp_tag_send_nbx(void* to, const void* from, size_t count, uint64_t tag, const void* how) {
  static void* (*next)(void*, const void*, size_t, uint64_t, const void*);
  if (!next) *(void**)&next = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_tag_send_nbx");
  send((int)(tag & 255));
  return next(to, from, count, tag, how);
}
int MPI_Finalize(void) {
  reach("end");
  return PMPI_Finalize();
}
/* A launcher that does not answer. */
int MPI_Abort(MPI_Comm all, int code) {
  while (getenv("NPGPU_TEST_NO_ABORT")) pause();
  return PMPI_Abort(all, code);
}
"""
NAMED = r"(npgpu: )?rank 1( on \S+)? did not answer for 3 s"
TRIAL = r"npgpu: a trial does not end: rank 1 on \S+ is (stopped|gone, or hangs); trace saved: stopped-rank0.h5"
check = Checks()

with folder() as where:
    where = os.path.realpath(where)
    library = shim(where, "stop", STOP, "-ldl")
    beside = os.path.join(os.path.dirname(PROGRAM), "libnpgpu_ucx.so")
    cases = [(module, *case) for module in (("mpi", "ucx") if os.path.exists(beside) else ("mpi",)) for case in (
        ("rank 1 stops before the first word", "control", [], {}, NAMED, None),
        ("rank 1 stops while clocks are compared", "ack", [], {}, NAMED, 0),
        ("rank 1 stops while it warms up", "payload", [], {}, TRIAL, 0),
        ("rank 1 stops while chunks are tried", "payload", ["--access", "staged"], {}, TRIAL, 0),
        ("rank 1 stops once all is saved", "end", [], {}, "npgpu: MPI did not end within 3 s", 1),
        # The launcher does not answer who gives up. What is left of the trace is as chance has it.
        ("MPI_Abort does not return", "ack", [], {"NPGPU_TEST_NO_ABORT": "1"}, NAMED, "any"))]

    def stopped(module, what, place, arguments, more, *_):
        own = tempfile.mkdtemp(dir=where)
        return own, Jobs(module).job(2, "--sizes", "8", *QUICK, "--rank-timeout", "3s", "--output", "stopped.h5", *arguments,
                                     cwd=own, env={"LD_PRELOAD": library, "NPGPU_TEST_STOP": place, **more})

    for (module, what, _, _, _, words, finished), (own, done) in zip(cases, side_by_side(stopped, cases)):
        what, path = f"{module}, {what}", os.path.join(own, "stopped-rank0.h5")
        check(done.returncode == 1 and re.search("^" + words, done.stderr, re.M),
              f"{what}: {done.returncode}: {done.stderr[-800:]}")
        if finished == "any":
            continue
        check(os.path.exists(path) == (finished is not None), f"{what}: a trace")
        if os.path.exists(path):
            complete, series, _ = trace(own, "stopped-rank0.h5")
            rows = sum(one["rows"] for one in series.values())
            check(complete == finished and (rows > 0) == (finished > 0), f"{what}: {complete}, {rows} rows")
            seen = run("report", path, "--all")
            check(seen.code == 0, f"{what}: it is read")
            check(words != TRIAL or re.search(r"a trial does not end: rank 1 on \S+ is (stopped|gone, or hangs)", " ".join(seen.out.split())),
                  f"{what}: the report names the rank: {seen.out[:600]}")

check.finish()
