"""npgpu characterize of several GPUs at once, each by its own process: the trace is that of one after the other;
stopped, continued, and with a process that dies."""
import glob
import os
import signal
import subprocess
import time

from npgpu_run import PROGRAM, SOURCE, Checks, folder, needs, run, written

h5py = needs("h5py")
check = Checks()
GPUS = "sim:gts250,sim:gtx280"
COMMAND = ("characterize", "--device", GPUS, "--quick", "--rounds", "2")
LONG = (*COMMAND[:-1], "30")  # so that there is something left to stop


def points(path):
    """Each series by its case and device, with its points, and how many visits each has."""
    found = {}
    with h5py.File(path) as f:
        for kind in ("transfers", "probes", "jobs", "calls"):
            for case in f.get(kind, {}).values():
                names = [n for n in case["visits"].dtype.names]
                axes = names[:names.index("round")]
                key = (kind, *(str(v) for k, v in sorted(case.attrs.items()) if k in CASE))
                rows = {}
                for row in case["visits"][:]:
                    rows.setdefault(tuple(row[a] for a in axes), set()).add(int(row["round"]))
                check(key not in found, f"one series of {key}")
                found[key] = rows
        return found, int(f.attrs["complete"]), dict(f["provenance"].get("side_by_side", f["provenance"]).attrs)


CASE = ("module", "source", "target", "pattern", "direction", "memory", "async", "timing", "cache", "probe", "device",
        "operation", "type", "form", "space", "call", "manner", "workload", "order", "pool", "gating", "issue")


def children(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
        return [int(pid) for pid in f.read().split()]


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def parts(where):
    return sorted(os.path.basename(p) for p in glob.glob(os.path.join(where, "*.part*")))


def started(where, name, words=LONG):
    process = subprocess.Popen([PROGRAM, *words, "--output", os.path.join(where, name)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while len(children(process)) < 2 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    return process


with folder() as where:
    one, two = (os.path.join(where, name) for name in ("one_by_one.h5", "at_once.h5"))
    apart = run(*COMMAND, "--one-by-one", "--output", one)
    check(apart.code == 0, apart.err)
    at_once = run(*COMMAND, "--output", two)
    check(at_once.code == 0, at_once.err)
    check("2 GPUs at once, each by its own process" in at_once.err, "it says so")
    check(not parts(where), f"nothing is left but the trace: {parts(where)}")
    (a, complete_a, none), (b, complete_b, facts) = points(one), points(two)
    check(complete_a and complete_b and a.keys() == b.keys(), f"the same series: {a.keys() ^ b.keys()}")
    check(all(a[k].keys() == b[k].keys() for k in a), "with the same points")
    more = sum(len(b[k][p]) - len(a[k][p]) for k in a for p in a[k])
    check(facts.get("processes") == 2 and len(facts) == 1 + 2 * 6, f"three points of each once more alone: {facts}")
    check(more == 6, f"six visits more than one after the other: {more}")
    shown = run("report", two, "--all")
    said = " ".join(shown.out.split())
    check("busy over time alone: gpu0 h2d +0.0 %" in said and "gpu1 kernel +0.0 %" in said, f"the report says what that cost: {said[:600]}")
    overview = run("report", "--overview", two)
    check("time with the other GPUs busy over time alone" in " ".join(overview.out.split()), "the overview too")
    check("2 GPUs at once" not in apart.err and "at once" not in run("report", one).out, "one by one says nothing of it")

    # Stopped: what the processes have is in the trace, and --resume does the rest.
    process = started(where, "stopped.h5")
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=60)[1]
    stopped = os.path.join(where, "stopped.h5")
    check(process.returncode == 75 and "--resume" in told, f"stopped: {process.returncode} {told[-300:]}")
    check(not parts(where), f"stopped, nothing is left but the trace: {parts(where)}")
    again = run(*LONG, "--output", stopped, "--resume")
    check(again.code == 0, again.err)
    c, complete, _ = points(stopped)
    check(complete and c.keys() == a.keys() and all(a[k].keys() == c[k].keys() for k in a), "continued, it has all points")

    # One of them dies: its GPU failed, and the others are whole.
    process = started(where, "killed.h5")
    victim = children(process)[1]
    os.kill(victim, signal.SIGKILL)
    told = process.communicate(timeout=120)[1]
    check(process.returncode == 1, f"exit code {process.returncode}")
    check("sim:gtx280: its process was killed by signal 9" in told, f"it says whose process died: {told[-300:]}")
    d, _, _ = points(os.path.join(where, "killed.h5"))
    of_other = [k for k in a if "sim:gts250" in str(k)]
    check(of_other and all(k in d and a[k].keys() == d[k].keys() for k in of_other), "the other GPU's series are whole")
    check(not parts(where), f"and nothing is left but the trace: {parts(where)}")

    # The first process is killed: the others do not go on for nobody.
    process = started(where, "gone.h5")
    time.sleep(0.5)
    orphans = children(process)
    process.kill()
    process.communicate()
    end = time.monotonic() + 100
    while any(map(runs, orphans)) and time.monotonic() < end:
        time.sleep(0.05)
    check(orphans and time.monotonic() < end, f"they end with it: {orphans}")

    # A check starts them before it knows its GPUs, and keeps for itself what it is asked besides measuring.
    pair = ",".join(f"sim:{os.path.join(SOURCE, 'data/devices/nodes/h200x2.json')}:{i}" for i in (0, 1))
    for words in (), ("--again", "0s"), ("--again=0s", "--require-quiet"):
        done = run("check", "--level", "1", "--device", pair, *words)
        check(done.code == 0, f"check {words}: {done.code} {done.out[-500:]}{done.err[-300:]}")
    taken = os.path.join(where, "taken.h5")
    written(taken, "somebody's")
    done = run("check", "--level", "1", "--device", pair, "--output", taken)
    left = [name for name in parts(where) if name.startswith("taken")]
    check(done.code == 2 and not left, f"refused, it leaves no process and no file: {done.code} {left}")
    # A node's name is of two GPUs: the process that was started for it ends, and leaves nothing.
    named = os.path.join(where, "named.h5")
    done = run("check", "--level", "1", "--device", "sim:h200-node," + pair.split(",")[0].rsplit(":", 1)[0], "--output", named)
    left = [name for name in parts(where) if name.startswith("named")]
    check(done.code == 0 and "3 GPUs" in done.out and not left, f"{done.code} {done.out[-300:]}{done.err[-300:]} {left}")
    # What became of the process of a GPU without figures is said below that GPU.
    process = started(where, "dies.h5", ("check", "--device", pair, "--rounds", "30", "--again", "0s"))
    os.kill(children(process)[1], signal.SIGKILL)
    told = " ".join(process.communicate(timeout=120)[0].split())
    check(process.returncode == 1 and "nothing could be measured: its process was killed by signal 9" in told,
          f"check says whose process died: {process.returncode} {told[-500:]}")
    # Nor of that of one with some, which a slow machine has later.
    for pause in (1, 5, 25):
        process = started(where, "dies_late.h5", ("check", "--device", pair, "--rounds", "200", "--again", "0s", "--force"))
        victim = children(process)[1]
        time.sleep(pause)
        os.kill(victim, signal.SIGKILL)
        told = " ".join(process.communicate(timeout=240)[0].split())
        if "nothing could be measured" not in told:
            break
    check(process.returncode == 1 and "not all was measured: its process was killed by signal 9" in told,
          f"check says whose process died late: {process.returncode} {told[-500:]}")

check.finish()
