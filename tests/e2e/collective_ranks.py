"""npgpu collectives in the ranks of a job on this machine, with simulated GPUs: what the trace holds, wrong results, hosts,
what is refused, and ranks that are killed or hang."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from npgpu_run import PROGRAM, Checks, folder, run
from rank_jobs import need, ranks_of, session, shim, side_by_side

need("mpi")
check = Checks()
HOSTS = """
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
/* Ranks 0 and 1 are on one host, the others on another one. */
int gethostname(char* name, size_t length) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  strncpy(name, rank && *rank > '1' ? "gpu08" : "gpu07", length);
  return 0;
}
"""


def near(value, truth, share=0.01):
    return value is not None and abs(value / truth - 1) < share


with folder() as where:
    where = os.path.realpath(where)

    def command(ranks, *arguments):
        return ["mpirun", "-n", str(ranks), PROGRAM, "collectives", *map(str, arguments)]

    def job(ranks, *arguments, env=None):
        return subprocess.run(command(ranks, *arguments), cwd=where, env={**session(), **(env or {})}, timeout=200, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def report(path):
        return json.loads(run("report", path, "--json", cwd=where).out)

    # The law of rings, of as many GPUs as ranks, and the limit of their links. Rank 0 alone prints and writes.
    for ranks in (2, 3, 4):
        done = job(ranks, "--device", "sim:node8", "--sizes", "8,128MiB", "--collective", "all-reduce,all-to-all,send-receive", "--timing", "gated",
                   "--output", f"{ranks}.h5", "--quiet")
        check(done.returncode == 0 and done.stdout.count("\n") == 1 and ": ok; " in done.stdout, f"{ranks}: {done.returncode} {done.stdout}{done.stderr[-800:]}")
        alone = run("collectives", "--device", ",".join(f"sim:node8:{i}" for i in range(ranks)), "--sizes", "8,128MiB", "--collective",
                    "all-reduce,all-to-all,send-receive", "--timing", "gated", "--output", f"alone{ranks}.h5", "--quiet", cwd=where)
        check(alone.code == 0, alone.err)
        job_series, alone_series = report(f"{ranks}.h5")["collectives"], report(f"alone{ranks}.h5")["collectives"]
        for one, other in zip(job_series, alone_series):
            check(one["case"]["processes"] == "ranks" and one["case"]["operation"] == other["case"]["operation"], str(one["case"]))
            for point, same in zip(one["points"], other["points"]):
                check(near(point["time_us"]["value"], same["time_us"]["value"]) and len(point["lanes_us"]) == ranks, f"{ranks}: {point['time_us']} {same['time_us']}")
        study = report(f"{ranks}.h5")["collective_studies"][0]
        check(study["gpus"] == [f"sim:node8:{i}@{i}" for i in range(ranks)] and len(study["hosts"].split(",")) == ranks, str(study)[:300])
        truth = report(f"alone{ranks}.h5")["collective_studies"][0]["operations"][0]["limit_bus_bytes_per_s"]
        check(near(study["operations"][0]["limit_bus_bytes_per_s"], truth), f"{ranks}: {study['operations'][0]} {truth}")
    check(sorted(name for name in os.listdir(where) if name.endswith(".h5")) == sorted([f"{n}.h5" for n in (2, 3, 4)] + [f"alone{n}.h5" for n in (2, 3, 4)]), str(os.listdir(where)))
    told = run("report", "4.h5", "--all", cwd=where).out
    check("with ranks 0 to 3" in told and "a rank for each GPU" in told, told[-1500:])
    again = job(4, "--device", "sim:node8", "--sizes", "8,128MiB", "--collective", "all-reduce,all-to-all,send-receive", "--timing", "gated", "--output", "4.h5",
                "--quiet", "--resume")
    check(again.returncode == 0 and "kept from before" in again.stdout, again.stdout + again.stderr[-500:])

    # Wrong results on one rank.
    wrong = job(3, "--device", "sim:zeros", "--collective", "broadcast", "--sizes", "64MiB", "--output", "zeros.h5", "--progress", "none")
    check(wrong.returncode == 6 and "broken: broadcast fp32: the results were wrong on sim:zeros:1@1;" in wrong.stdout, f"{wrong.returncode} {wrong.stdout[-500:]}")

    # Two hosts: which rank is where.
    if shutil.which("mpicc"):
        done = job(3, "--device", "sim:node8", "--sizes", "8", "--output", "hosts.h5", "--quiet", env={"LD_PRELOAD": shim(where, "hosts", HOSTS)})
        check(done.returncode == 0, f"{done.returncode} {done.stderr[-500:]}")
        check(report("hosts.h5")["collective_studies"][0]["hosts"] == "gpu07,gpu07,gpu08", "hosts")
        check("gpu07 with ranks 0 to 1, gpu08 with rank 2" in run("report", "hosts.h5", "--all", cwd=where).out, "hosts in the report")
        # Of GPUs whose links were not measured nothing is invented.
        try:
            import h5py
        except ImportError:
            h5py = None
        if h5py:
            with h5py.File(os.path.join(where, "hosts.h5"), "a") as file:
                del file["transfers"]
                file.create_group("transfers")
            one = report("hosts.h5")["collective_studies"][0]["operations"][0]
            check(one["limit_bus_bytes_per_s"] is None and one["limit_source"] == "unknown: the links between hosts are not measured", str(one))

    # What is refused: one sentence, and no trace.
    refusals = ((("--device", "sim:node8:0"), "start as many ranks on a host as it has GPUs"), (("--device", "host"), "the host is none"),
                (("--device", "sim:node8", "--processes", "each-gpu"), "leave it out"), (("--device", "sim:node8", "--sizes", "0"), "--sizes"))
    for (words, what), refused in zip(refusals, side_by_side(lambda words, _: job(2, *words, "--output", "no.h5"), refusals)):
        said = [line for line in refused.stderr.splitlines() if line.startswith("npgpu:")]
        check(refused.returncode == 2 and what in refused.stderr and len(said) == 1, f"{words}: {refused.returncode} {refused.stderr}")
        check(not os.path.exists(os.path.join(where, "no.h5")), f"{words}: no trace")
    lonely = run("collectives", "--device", "sim:node8", "--processes", "ranks", "--output", "no.h5", cwd=where)
    check(lonely.code == 77 and "mpirun -n 2 npgpu collectives" in lonely.err, f"{lonely.code} {lonely.err}")

    # Ranks that are killed or hang: the trace is whole, and says who is gone; the run can go on.
    def lost(rank, number, timeout="60s"):
        own = tempfile.mkdtemp(dir=where)
        path = os.path.join(own, "long.h5")
        with subprocess.Popen(command(3, "--device", "sim:node8", "--collective", "all-reduce", "--rounds", "500", "--output", "long.h5", "--rank-timeout", timeout,
                                      "--progress", "none"), cwd=own, env=session(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as begun:
            until = time.monotonic() + 60
            while not os.path.exists(path) and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.5)
            pids = ranks_of(own)
            check(set(pids) == {0, 1, 2}, str(pids))
            begin = time.monotonic()
            os.kill(pids[rank], number)
            try:
                out, err = begun.communicate(timeout=60)
            finally:
                for pid in ranks_of(own).values():
                    os.kill(pid, signal.SIGKILL)
        check(begun.returncode != 0, f"rank {rank}: exit {begun.returncode}")
        seen = run("report", "long.h5", "--all", cwd=own)
        check(seen.code == 0 and "INCOMPLETE" in seen.out, f"rank {rank}: {seen.code} {seen.err}")
        return out + err, " ".join(seen.out.split()), time.monotonic() - begin

    kill, stop = signal.SIGKILL, signal.SIGSTOP
    one, two, again, _, hangs, first_hangs = side_by_side(lost, ((1, kill), (2, kill), (1, kill), (0, kill), (1, stop, "3s"), (0, stop, "3s")))
    for rank, (words, seen, _) in ((1, one), (2, two), (1, again)):
        check(re.search(rf"rank {rank} on \S+ is gone", seen), f"rank {rank} killed, the trace: {seen[-1500:]} {words}")
    words, seen, took = hangs
    check(re.search(r"rank 1 on \S+ did not answer", seen) and re.search(r"stopped: .*rank 1 on \S+ did not answer", words), f"rank 1 hangs: {seen[-800:]} {words}")
    check(took < 15, f"rank 1 hangs: {took} s")
    words, seen, took = first_hangs
    check(re.search(r"rank 0 on \S+ did not answer for [56] s", words) and took < 15, f"rank 0 hangs: {took} s {words}")

check.finish()
