"""Jobs of several ranks on this machine, for the tests of modules that send messages."""
import atexit
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from npgpu_run import PROGRAM, needs, run, written

h5py = needs("h5py")
SESSIONS = tempfile.mkdtemp(prefix="npgpu-mpi-")
atexit.register(shutil.rmtree, SESSIONS, True)


def session():
    """Jobs that end take Open MPI's folder of this host away from those that begin: each job has its own."""
    own = tempfile.mkdtemp(dir=SESSIONS)
    return dict(os.environ, OMPI_MCA_orte_tmpdir_base=own, PRTE_MCA_prte_tmpdir_base=own, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


ENVIRONMENT = session()
QUICK = ["--schedule", "classic", "--trials", "2", "--repeats", "20"]


def need(*modules):
    """Ends the test where there is no mpirun, or no library of a module."""
    if not shutil.which("mpirun"):
        print("skipped: there is no mpirun")
        sys.exit(77)
    for module in modules:
        library = os.path.join(os.path.dirname(PROGRAM), f"libnpgpu_{module}.so")
        if not os.path.exists(library):
            print(f"skipped: this build has no {library}")
            sys.exit(77)


def ranks_of(where):
    """The process of each rank that this program has in a folder."""
    pids = {}
    for entry in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                words = file.read().split(b"\0")
            mine = os.readlink(f"/proc/{entry}/cwd") == where and os.readlink(f"/proc/{entry}/exe") == PROGRAM
        except OSError:
            continue
        for word in words:
            if mine and word.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")):
                pids.setdefault(int(word.split(b"=")[1]), int(entry))
    return pids


def check_pair(check, done, where):
    """What two ranks measured into pair-rank0.h5 and pair-rank1.h5: all patterns, whole and in chunks. Returns both traces."""
    check("trace: pair-rank0.h5" in done.stdout and done.stdout.count("points measured") == 1, "rank 0 alone prints")
    both = [trace(where, f"pair-rank{rank}.h5") for rank in (0, 1)]
    for rank, (complete, series, facts) in enumerate(both):
        check(complete == 1 and len(series) == 6, f"rank {rank}: six series: {list(series)}")
        check(all(one["intact"] == {-1, 1} and one["error"] == "" for one in series.values()), f"rank {rank}: compared")
        for (source, target, pattern, access), one in series.items():
            check((source, target) == ("host@0", "host@1"), f"rank {rank}: {source} {target}")
            check(one["lanes"] == ({0, 1} if pattern == "duplex" else {0}), f"rank {rank}: lanes of {pattern}")
            check(all(us > 0 for us in one["us"]), f"rank {rank}: {pattern} takes time")
        ranks = facts["ranks"]
        check((ranks["rank"], ranks["ranks"], ranks["local_rank"]) == (rank, 2, rank), f"rank {rank}: {ranks}")
    # The steady clock of one machine is one clock: the offset is known to within half of a round trip.
    ranks = both[0][2]["ranks"]
    check(abs(ranks["rank1_clock_offset_us"]) <= ranks["rank1_round_trip_us"], f"one machine has one clock: {ranks}")
    return both


def check_partners(check, done, where, name, count):
    """All pairs: each rank's trace has its partners."""
    check(done.returncode == 0, f"{count} ranks: {done.stderr[-800:]}")
    for rank in range(count):
        complete, series, _ = trace(where, f"{name}-rank{rank}.h5")
        pairs = {(source, target) for source, target, _, _ in series}
        expected = {(f"host@{min(rank, other)}", f"host@{max(rank, other)}") for other in range(count) if other != rank}
        check(complete == 1 and pairs == expected, f"rank {rank} of {count}: {pairs}")


def check_spoiled(check, done, where):
    """A lane that was spoiled into spoiled.h5 is found and named, by both ranks."""
    check(done.returncode == 1, f"spoiled: exit {done.returncode}: {done.stderr[-500:]}")
    check("wrong at 4 KiB: host@1>host@0: byte 17 of 4096" in done.stderr, f"spoiled: {done.stderr[-800:]}")
    for rank in (0, 1):
        one = next(iter(trace(where, f"spoiled-rank{rank}.h5")[1].values()))
        check(one["intact"] == {-1, 0, 1} and "host@1>host@0" in one["error"], f"spoiled, rank {rank}: {one}")


class Jobs:
    """Jobs of one module."""

    def __init__(self, module):
        self.module = module

    def job(self, ranks, *arguments, env=None, cwd=None):
        return subprocess.run(["mpirun", "-n", str(ranks), PROGRAM, "transfer", "--module", self.module,
                               *map(str, arguments)],
                              env={**session(), **(env or {})}, cwd=cwd, timeout=200, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def begun(self, where, *arguments, fresh=True):
        """A job of two ranks that takes long, once both have saved a point; and the process of each rank."""
        traces = [os.path.join(where, f"long-rank{rank}.h5") for rank in (0, 1)]
        before = [0 if fresh else os.stat(path).st_mtime_ns for path in traces]
        for path in traces:
            if fresh and os.path.exists(path):
                os.remove(path)
        process = subprocess.Popen(["mpirun", "-n", "2", PROGRAM, "transfer", "--module", self.module, "--start",
                                    "1", "--end", "64KiB", "--rounds", "500", "--output", "long.h5", *arguments], cwd=where,
                                   env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not all(os.path.exists(path) and os.stat(path).st_mtime_ns > old for path, old in zip(traces, before)):
            if time.monotonic() > until or process.poll() is not None:
                print("FAILED: no trace of a job that was begun", process.communicate())
                sys.exit(1)
            time.sleep(0.05)
        pids = ranks_of(where)
        if sorted(pids) != [0, 1]:  # it ended too soon, and says why
            print("FAILED: not both ranks are found:", pids, ended(process))
            sys.exit(1)
        return process, pids

    def signalled(self, where, rank, number, *arguments, fresh=True):
        """Exit code and standard error of such a job of which one rank got a signal."""
        process, pids = self.begun(where, *arguments, fresh=fresh)
        os.kill(pids[rank], number)
        code, _, err = ended(process)
        return code, err

    def check_lost_ranks(self, check, where):
        """A killed rank: the other one's trace is saved, and both are whole. A rank that hangs is named."""
        for killed in (0, 1):
            code, err = self.signalled(where, killed, signal.SIGKILL)
            check(code != 0 and "gone" in err, f"rank {killed} killed: exit {code}: {err[-500:]}")
            for rank in (0, 1):
                complete, series, _ = trace(where, f"long-rank{rank}.h5")
                check(complete == 0 and series and run("report", f"long-rank{rank}.h5", cwd=where).code == 0,
                      f"rank {killed} killed: the trace of rank {rank} is whole")
        code, err = self.signalled(where, 1, signal.SIGSTOP, "--rank-timeout", "3s")
        check(code == 1 and re.search(r"rank 1 on \S+ (did not answer for 3 s|is stopped)", err), f"a rank hangs: {code}: {err[-500:]}")


def side_by_side(work, cases):
    """What `work` returns for each case, in their order. Three at a time: such jobs mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda case: work(*case), cases))


def shim(where, name, text, *flags):
    """A library that is loaded before all others."""
    source, library = os.path.join(where, name + ".c"), os.path.join(where, name + ".so")
    written(source, text)
    subprocess.run(["mpicc", "-shared", "-fPIC", "-o", library, source, *flags], env=ENVIRONMENT, check=True, timeout=100)
    return library


def said(text):
    """What npgpu itself says, without mpirun's words."""
    return [line for line in text.splitlines() if line.startswith("npgpu: ")]


def ended(process):
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def trace(where, name):
    """The series of a trace, by pattern, access and target, and its groups of provenance."""
    with h5py.File(os.path.join(where, name)) as file:
        series = {}
        for one in file["transfers"].values():
            samples = one["samples"][:]
            series[(one.attrs["source"], one.attrs["target"], one.attrs["pattern"], one.attrs["access"])] = {
                "intact": set(map(int, samples["intact"])), "rows": len(samples), "lanes": set(map(int, samples["lane"])),
                "repeats": [int(r) for r in samples["repeats"]], "us": samples["host_us"].tolist(),
                "visits": [(int(v["bytes"]), int(v["round"])) for v in one["visits"][:]],
                "error": one.attrs["error"]}
        facts = {name: dict(group.attrs) for name, group in file["provenance"].items()}
        return int(file.attrs["complete"]), series, facts
