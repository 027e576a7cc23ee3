"""The scripts of slurm/ in a real Slurm: a controller and four nodes with two GPUs each, all on this machine. The daemons
and the scripts are real. The GPUs are links to /dev/null for Slurm, and simulated devices for npgpu. All outcomes of a
check that docs/batch.md lists are tried in prolog, epilog and health check, with a program that ends so."""
import atexit
import contextlib
import ctypes
import concurrent.futures
import glob
import itertools
import json
import os
import pwd
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

from npgpu_run import PROGRAM, SOURCE, Checks, written

SCRIPTS = os.path.join(os.path.abspath(SOURCE), "slurm")
DEVICES = os.path.join(os.path.abspath(SOURCE), "data/devices")
os.environ["PATH"] += ":/usr/sbin:/sbin"
missing = [tool for tool in ("slurmctld", "slurmd", "sbatch", "srun", "scontrol") if not shutil.which(tool)]
if missing:
    print("skipped: Slurm is not installed here (Debian: slurmctld slurmd slurm-client): no", *missing)
    sys.exit(77)
import h5py  # noqa: E402

check = Checks()
began = time.monotonic()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def slowness():
    """How many processes wait for each processor, this script's among them: beside a build all takes so much longer."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def wait_for(what, happened, seconds=60):
    """Its value as soon as it is true; a failed check if it never is. On a busy machine it waits longer, and asks less
    often: each question is a process or two, and four nodes ask at once."""
    begin, pause = time.monotonic(), 0.05
    while not (value := happened()) and time.monotonic() < begin + seconds * slowness():
        time.sleep(pause)
        pause = min(1.1 * pause, 0.1 * slowness(), 1)
    check(value, f"{what}: not within {time.monotonic() - begin:.0f} s")
    return value


HEALTH_CHECK = ["HealthCheckProgram={home}/bin/health_check", "HealthCheckInterval=1", "HealthCheckNodeState=IDLE"]


class Cluster:
    NODES = ["n1", "n2", "n3", "n4"]

    def __init__(self, home):
        self.home = home
        self.daemons = []
        self.limited = None  # the job of at_the_limit()
        os.environ["SLURM_CONF"] = self.at("slurm.conf")
        for gpu in range(2):
            os.symlink("/dev/null", self.at(f"gpu{gpu}"))
        for name in ("state", "bin", "jobs", "devices", "outcome", *(f"{what}.{n}" for what in ("spool", "etc") for n in self.NODES)):
            os.mkdir(self.at(name))
        host, me = socket.gethostname().split(".")[0], pwd.getpwuid(os.geteuid()).pw_name
        ports = free_ports(1 + len(self.NODES))
        nodes = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 Gres=gpu:2"
                          for node, port in zip(self.NODES, ports[1:]))
        self.configuration = f"""ClusterName=npgpu
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={me}
SlurmdUser={me}
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool.%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.%n.log
SlurmdDebug=debug
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
BatchStartTimeout=130
SchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
KillWait=5
MessageTimeout=100
Prolog={home}/bin/prolog
Epilog={home}/bin/epilog
GresTypes=gpu
{nodes}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=60 State=UP
"""
        self.write("slurm.conf", self.configuration)
        self.write("gres.conf", f"Name=gpu File={home}/gpu[0-1]\n")

    def at(self, *names):
        return os.path.join(self.home, *names)

    def write(self, name, text):
        written(self.at(name), text)

    def start(self):
        def die_with_parent():  # also where this script is killed
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)
        for command in (["slurmctld", "-D"], *(["slurmd", "-D", "-N", node] for node in self.NODES)):
            self.daemons.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                 preexec_fn=die_with_parent))
        return wait_for("four nodes are up", lambda: ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * 4)

    def stop(self):
        if any(daemon.poll() is None for daemon in self.daemons):
            with contextlib.suppress(subprocess.SubprocessError):
                ask("scancel", "--user", str(os.geteuid()))
                wait_for("all jobs are gone", lambda: not ask("squeue", "-h"))
        for daemon in self.daemons:  # slurmd would wait ten seconds for its scripts; nobody needs its state
            daemon.kill()
            daemon.wait()
        end = time.monotonic() + 10
        while (found := list(self.left())) and time.monotonic() < end:  # what they start meanwhile, too
            for process in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)

    def left(self):
        """Processes that our jobs or daemons left, by their environment."""
        mine = ("SLURM_CONF=" + self.at("slurm.conf")).encode()
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and int(entry) != os.getpid():
                    with open(f"/proc/{entry}/environ", "rb") as file:
                        if mine in file.read().split(b"\0"):
                            yield int(entry)


def ask(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more).stdout


def tell(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"{command}: exit {done.returncode}: {done.stderr}")
    return done.stdout.strip()


def fields(text):
    """Of scontrol's one-line output."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def job(number):
    return fields(ask("scontrol", "show", "job", "-o", number))


def node(name):
    text = ask("scontrol", "show", "node", "-o", name)
    return fields(text) | {"Why": text.split("Reason=")[1].split("[")[0].strip() if "Reason=" in text else ""}


def is_drained(name):
    return "DRAIN" in node(name)["State"]


def drain(*names):
    tell("scontrol", "update", f"NodeName={','.join(names)}", "State=DRAIN", "Reason=test")


def resume(*names):
    tell("scontrol", "update", f"NodeName={','.join(names)}", "State=RESUME")


def ended(number, state, code="0:0"):
    wait_for(f"job {number} is {state}", lambda: job(number).get("JobState") == state)
    check(job(number).get("ExitCode") == code, f"job {number}: exit code {job(number).get('ExitCode')}, not {code}")


def trace(name):
    """What tests ask of a trace, which h5py must be able to open."""
    with h5py.File(cluster.at("jobs", name)) as file:
        visits = [(kind, series, int(v["bytes"]), int(v["round"])) for kind in ("transfers",) for series in file[kind]
                  for v in file[kind][series]["visits"][:]]
        check(len(visits) == len(set(visits)), f"{name}: no visit twice")
        return {"complete": bool(file.attrs["complete"]), "visits": visits, "hostname": file.attrs["hostname"],
                "slurm": dict(file["provenance/slurm"].attrs), "resumed": "resume_1" in file["provenance"],
                "devices": {s.attrs["device_name"] for s in file["transfers"].values()}}


def traces():
    return sorted(os.path.basename(path) for path in glob.glob(cluster.at("jobs", "*.h5")))


def submit(script, *arguments, options=()):
    return tell("sbatch", "--parsable", f"--chdir={cluster.at('jobs')}", "--gpus-per-node=2", *options,
                os.path.join(SCRIPTS, script), *arguments)


def log(number):
    with open(cluster.at("jobs", f"npgpu-{number}.log"), encoding="utf-8") as file:
        return file.read()


# GPU 0 of Slurm, /dev/nvidia0, has the higher PCI address: CUDA calls it cuda:1.
UUID = "GPU-{:08x}-1111-2222-3333-444444444444"
GPUS = {"0000:1b:00.0": 1, "0000:9b:00.0": 0}
PARTS = ("prolog", "epilog", "health_check", "check_gpus", "site.conf")


def install():
    """As a site does: copies the scripts, and changes site.conf. Each node has its own copy here."""
    for part in PARTS[:3]:
        # The system's log is a file of this test. A health check runs where the test has asked for one, and once.
        cluster.write(f"bin/{part}", f"""#!/bin/sh
export PATH={cluster.home}/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd {cluster.home}/outcome || exit
[ {part} != health_check ] || mv $SLURMD_NODENAME.asked $SLURMD_NODENAME.taken 2>/dev/null || exit 0
[ ! -e $SLURMD_NODENAME.environment ] || . ./$SLURMD_NODENAME.environment
code=0
{cluster.home}/etc.$SLURMD_NODENAME/{part} || code=$?
[ {part} != health_check ] || echo $code >$SLURMD_NODENAME.done
exit $code
""")
    cluster.write("bin/logger", f"""#!/bin/sh
echo "$*" >>{cluster.home}/syslog.${{SLURMD_NODENAME:-none}}
""")
    # Which GPUs a process sees is Slurm's choice, or check_gpus's; that they are simulated, ours.
    cluster.write("bin/npgpu", f"""#!/bin/bash
case " $* " in
  *' check '*)
    echo "${{CUDA_VISIBLE_DEVICES:-all}} $*" >>{cluster.home}/calls.$SLURMD_NODENAME
    [ ! -e {cluster.home}/outcome/$SLURMD_NODENAME ] || . {cluster.home}/outcome/$SLURMD_NODENAME
    ;;
esac
for gpu in $(echo "${{CUDA_VISIBLE_DEVICES:-0,1}}" | tr , ' '); do
  case $gpu in GPU-*) gpu=$((16#${{gpu:4:8}})) ;; esac
  devices=${{devices:+$devices,}}sim:{cluster.at("devices")}/$SLURMD_NODENAME-$gpu.json
done
NPGPU_DEVICE=$devices exec {PROGRAM} "$@"
""")
    for address, minor in GPUS.items():
        os.makedirs(cluster.at("gpus", address))
        cluster.write(f"gpus/{address}/information", f"Model: \t\t NVIDIA H200\nIRQ:   \t\t 16{minor}\nGPU UUID: \t "
                      f"{UUID.format(minor)}\nVideo BIOS: \t 96.00\nBus Type: \t PCIe\nBus Location: \t {address}\n"
                      f"Device Minor: \t {minor}\nGPU Excluded:\t No\n")
    for name in glob.glob(cluster.at("bin/*")):
        os.chmod(name, 0o755)
    os.environ["NPGPU"] = cluster.at("bin/npgpu")
    for name in cluster.NODES:
        configure(name)
        make(name, "h200-node")


def site(**changes):
    """The lines that a site adds to site.conf here."""
    lines = {"npgpu": cluster.at("bin/npgpu"), "node_gpus": 2, "expect": "link=gen5x16", "driver_gpus": cluster.at("gpus"),
             "state": cluster.at("checks") + "/$SLURMD_NODENAME"} | changes
    return "".join(f"{name}='{value}'\n" if "$" not in str(value) else f"{name}={value}\n" for name, value in lines.items()
                   if value is not None) + f"export SLURM_CONF={cluster.at('slurm.conf')}\n"


def configure(name, **changes):
    for part in PARTS:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(cluster.at(f"etc.{name}", part))
        shutil.copy(os.path.join(SCRIPTS, part), cluster.at(f"etc.{name}"))
    with open(cluster.at(f"etc.{name}/site.conf"), "a", encoding="utf-8") as file:
        file.write(site(**changes))


def make(name, like):
    """Gives a node a second GPU of another kind, and lets the node's last pass be two hours ago."""
    for gpu, kind in ((0, "h200-node"), (1, like)):
        cluster.write(f"devices/{name}-{gpu}.json", json.dumps(
            {"like": f"{DEVICES}/{kind}.json", "name": f"H200 {name}-{gpu}", "source": "a test"}))
    forget(name)


def forget(name):
    """The node's last pass was two hours ago."""
    for passed in glob.glob(cluster.at("checks", name, "pass.*")):
        with contextlib.suppress(FileNotFoundError):
            os.utime(passed, (time.time() - 7200,) * 2)


def content(*names):
    try:
        with open(cluster.at(*names), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def last_check(name):
    return content("checks", name, "last")


SHORT = ["transfer", "--direction", "h2d", "--sizes", "8,64KiB"]
# Copies within this machine's memory: visits of 0.06 s for minutes, or for some seconds.
LONG = ["transfer", "--device", "host", "--start", "1", "--end", "1MiB", "--schedule", "classic", "--target-time", "20ms",
        "--trials", "3", "--progress", "none"]
ENDLESS = [*LONG, "--rounds", "100"]
SOME_SECONDS = [*LONG, "--perturbation", "0", "--rounds", "2"]


def at_the_limit():
    """A job that Slurm ends before its time limit. That takes a while: on_another_node() sees what becomes of it."""
    drain("n1", "n2", "n4")
    number = submit("one_node.sh", *ENDLESS, options=["--time=1", "--signal=TERM@58"])
    wait_for("a job runs on n3", lambda: job(number).get("JobState") == "RUNNING")
    resume("n1", "n2", "n4")
    drain("n3")  # when the job has left it, nothing begins there
    cluster.limited = number


def prolog_drains():
    """A node with a sick GPU: its prolog drains it, and the job runs elsewhere."""
    make("n4", "sick/half-the-lanes")
    drain("n1", "n2")
    number = submit("one_node.sh", *SHORT)
    wait_for("n4 is drained by the prolog", lambda: is_drained("n4") and "rolog" in node("n4")["Why"])
    check(": broken: " in last_check("n4") and "gen5x8" in last_check("n4"), f"why: {last_check('n4')}")
    check(f"{UUID.format(0)},{UUID.format(1)} check --level 1" in content("calls.n4"), f"minors are UUIDs: {content('calls.n4')}")
    check("prolog of job" in content("slurmd.n4.log") and "prolog of job" in content("syslog.n4"), "and it is logged")
    check(not [name for name in traces() if "-n4" in name], f"nothing ran there: {traces()}")
    resume("n1")
    ended(number, "COMPLETED")
    check(job(number)["NodeList"] == "n1" and job(number)["Restarts"] == "1", f"it ran on n1: {job(number)}")
    check(": pass:" in last_check("n1"), f"the prolog of n1: {last_check('n1')}")
    done = trace(f"npgpu-{number}-n1.h5")
    check(done["complete"] and done["devices"] == {"H200 n1-0", "H200 n1-1"}, f"its trace: {done}")
    make("n4", "h200-node")
    resume("n2", "n4")


def array():
    """Element i on the i-th node, each with a trace of its own; then all in one file."""
    before = os.path.getmtime(glob.glob(cluster.at("checks/n1/pass.*"))[0])
    done = subprocess.run([os.path.join(SCRIPTS, "every_node.sh"), "n[1-2],n4", *SHORT], cwd=cluster.at("jobs"),
                          env=dict(os.environ, SBATCH_GPUS_PER_NODE="2"), capture_output=True, text=True)
    number = done.stdout.strip()
    check(done.returncode == 0 and number.isdigit(), f"every_node.sh: {done}")
    names = [f"npgpu-{number}_{i}-{name}.h5" for i, name in enumerate(("n1", "n2", "n4"))]
    wait_for("the array is done", lambda: not ask("squeue", "-h", "-j", number))
    check([name for name in traces() if f"-{number}_" in name] == names, f"a trace for each node: {traces()}")
    for i, name in enumerate(names):
        one = trace(name)
        check(one["complete"] and one["slurm"]["SLURM_ARRAY_TASK_ID"] == str(i), f"{name}: {one}")
    check(os.path.getmtime(glob.glob(cluster.at("checks/n1/pass.*"))[0]) == before, "a pass of n1 is believed")
    merged = json.loads(ask(PROGRAM, "merge", "array.h5", *names, "--json", cwd=cluster.at("jobs")) or "{}")
    check([run["slurm_job"] for run in merged.get("runs", [])] == [f"{number}_{i}" for i in range(3)], f"merged: {merged}")


def one_task_a_gpu():
    number = submit("one_task_a_gpu.sh", *SHORT, options=["--nodelist=n1", "--ntasks-per-node=2", "--cpus-per-task=2"])
    ended(number, "COMPLETED")
    for rank in range(2):
        one = trace(f"npgpu-{number}-n1-{rank}.h5")
        check(one["complete"] and one["devices"] == {f"H200 n1-{rank}"} and one["slurm"]["SLURM_PROCID"] == str(rank),
              f"rank {rank} has a GPU of its own: {one}")
    with h5py.File(cluster.at("jobs", f"npgpu-{number}.h5")) as merged:
        check(len(merged["runs"]) == 2, "the ranks are merged")
    check("2 runs of 1 host" in log(number), f"the log says so: {log(number)}")


def saved(name):
    """How often the trace was saved so far can be told from its inode: each save is a new file."""
    with contextlib.suppress(OSError):
        return os.stat(cluster.at("jobs", name)).st_ino


def begins(number, name):
    """The job measures: it has saved a trace."""
    return wait_for(f"job {number} has saved {name}", lambda: saved(name))


def signals():
    """USR1 saves and the job goes on; TERM ends it with 75, and it goes on where it was; scancel ends it for good."""
    number = submit("one_node.sh", *SOME_SECONDS, options=["--nodelist=n2"])
    name = f"npgpu-{number}-n2.h5"
    stopped = submit("one_node.sh", *ENDLESS, options=["--nodelist=n1"])
    stopped_name = f"npgpu-{stopped}-n1.h5"
    before = begins(number, name)
    tell("scancel", "--signal=USR1", number)
    wait_for("USR1 saves", lambda: saved(name) != before, 5)
    check(job(number)["JobState"] == "RUNNING", f"USR1: the job goes on: {job(number)['JobState']}")
    tell("scancel", "--signal=TERM", number)
    wait_for("TERM: the job goes back to the queue", lambda: int(job(number).get("Restarts", 0)) >= 1)
    one = trace(name)
    check(not one["complete"] and one["visits"], f"TERM: the trace is whole: {one['complete']}, {len(one['visits'])} visits")

    begins(stopped, stopped_name)
    tell("scancel", stopped)
    wait_for("scancel", lambda: job(stopped).get("JobState") == "CANCELLED")
    wait_for("n1 is free", lambda: "IDLE" in node("n1")["State"])
    other = trace(stopped_name)
    check(not other["complete"] and other["visits"] and job(stopped)["Restarts"] == "0", f"scancel: {other['slurm']}")

    ended(number, "COMPLETED")
    two = trace(name)
    check(two["complete"] and two["resumed"] and two["visits"][:len(one["visits"])] == one["visits"] and
          len(two["visits"]) > len(one["visits"]), f"it went on where it was: {len(one['visits'])} {len(two['visits'])}")


def epilog_drains():
    """A job that leaves a sick GPU: the epilog drains its node."""
    begun = cluster.at("begun")  # Slurm calls a job running before its prolog has run
    number = tell("sbatch", "--parsable", "--nodelist=n2", "--gpus-per-node=2", "--output=/dev/null",
                  "--wrap", f"touch {begun}; sleep 30")
    wait_for("a job runs on n2", lambda: os.path.exists(begun))
    make("n2", "sick/three-sms-missing")
    tell("scancel", number)
    wait_for("n2 is drained by the epilog", lambda: is_drained("n2") and "pilog" in node("n2")["Why"])
    check("129 of 132 multiprocessors" in last_check("n2"), f"why: {last_check('n2')}")
    resume("n2")
    make("n2", "h200-node")


def with_health_check():
    cluster.write("slurm.conf", cluster.configuration + "".join(f"{line}\n" for line in HEALTH_CHECK).format(home=cluster.home))
    tell("scontrol", "reconfigure")


def check_health(name):
    """The next health check that Slurm makes of a node has ended."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(cluster.at("outcome", f"{name}.done"))
    cluster.write(f"outcome/{name}.asked", "")
    wait_for(f"a health check of {name}", lambda: content("outcome", f"{name}.done"))
    return content("outcome", f"{name}.done").strip()


def check_health_at_once(name):
    """As slurmd would, without waiting for it: the four of them make some sixty."""
    cluster.write(f"outcome/{name}.asked", "")
    subprocess.run([cluster.at("bin/health_check")], env={"SLURMD_NODENAME": name}, stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=120)
    return content("outcome", f"{name}.done").strip()


def health_check_drains():
    """An idle node with a sick GPU: the health check drains it, and says why, also where the prolog drained it before."""
    with_health_check()
    make("n1", "sick/ecc-errors")
    check_health("n1")
    check(is_drained("n1"), "n1 is drained by the health check")
    # Simulated devices have the paths of their specs as names.
    why = f"sim:{cluster.at('devices')}/n1-1.json 2 ECC errors; "
    check(node("n1")["Why"].startswith(why) and node("n1")["Why"].endswith("(npgpu)"), f"why: {node('n1')['Why']}")
    for reason, is_kept in (("fan replaced by Ann", True), ("Prolog error", False)):
        tell("scontrol", "update", "NodeName=n1", "State=DRAIN", f"Reason={reason}")
        check_health("n1")
        check((node("n1")["Why"] == reason) == is_kept, f"of a node drained for '{reason}': {node('n1')['Why']}")
    check_health("n4")
    check(not is_drained("n4"), "a healthy node stays")
    check(f"all check --level 1" in content("calls.n4"), f"a health check is of all GPUs: {content('calls.n4')}")
    resume("n1")
    make("n1", "h200-node")


# ---- every outcome of docs/batch.md ----------------------------------------------------------------------------------

class Outcome:
    """What a check of a node comes to: `does` is what the program does then, in bash; `prepare` changes the node."""

    def __init__(self, does="", prepare=None, environment="", **site_conf):
        self.does, self.prepare, self.environment, self.site = does, prepare, environment, site_conf


def ends(code, text="cuda:0 PCIe x8/x16, H2D 28/52 GB/s; n: slow, 2 GPUs"):
    return f"echo '{text}'; exit {code}"


def without(part):
    return lambda name: os.unlink(cluster.at(f"etc.{name}", part))


def instead(part, text):
    def prepare(name):
        cluster.write(f"etc.{name}/{part}", text)
    return prepare


def locked(name):
    """Another check runs, and does not end."""
    os.makedirs(cluster.at("checks", name), exist_ok=True)
    holder = subprocess.Popen(["flock", cluster.at("checks", name, "lock"), "sleep", "1000"])
    return lambda: (holder.terminate(), holder.wait(), subprocess.run(["pkill", "-P", str(holder.pid)], check=False))


# Of each row of the table. A row that names several ways to come there has several.
OUTCOMES = {
    "ok": [Outcome(ends(0, "n: ok, 2 GPUs"))],
    "broken": [Outcome(ends(6)), Outcome(ends(6), node_gpus="")],
    "slow": [Outcome(ends(3))],
    'broken, and `drain_on=""`': [Outcome(ends(6), drain_on="")],
    'slow, and `drain_on="broken"`': [Outcome(ends(3), drain_on="broken")],
    "undecided": [Outcome(ends(8))],
    "others use the GPUs or the processors": [Outcome(ends(4, "python3 (4711) uses cuda:1"))],
    "failed": [Outcome(ends(1))],
    "usage": [Outcome(ends(2)), Outcome(expect="colour=red")],
    "nothing to measure": [Outcome(ends(77))],
    "stopped by a signal": [Outcome(ends(75))],
    "a code that is not known": [Outcome(ends(9)), Outcome(ends(99))],
    "killed": [Outcome("kill -KILL $$")],
    "crashed": [Outcome("kill -SEGV $$")],
    "too long": [Outcome("sleep 100", limit_s=2), Outcome("trap '' TERM; while :; do sleep 1; done", limit_s=2)],
    "hangs, and cannot be killed": [Outcome("kill -STOP $PPID; sleep 100", limit_s=2)],
    "npgpu is missing, or cannot be started": [Outcome(npgpu="/nowhere/npgpu"), Outcome(npgpu="/etc/hostname")],
    "no NVIDIA driver is loaded": [Outcome(driver_gpus="/nowhere")],
    "a GPU of the job that the driver does not show": [Outcome(environment="SLURM_JOB_GPUS=${SLURM_JOB_GPUS:+0,7}")],
    "parts of GPUs (MIG)": [Outcome(environment="SLURM_JOB_GPUS=${SLURM_JOB_GPUS:+MIG-1111}")],
    "another check runs all the time": [Outcome(prepare=locked, limit_s=2)],
    "`state` cannot be written, and ok": [Outcome(ends(0), state="/proc/npgpu")],
    "`state` cannot be written, and broken": [Outcome(ends(6), state="/proc/npgpu")],
    "`metrics` cannot be written, and broken": [Outcome(ends(6), metrics="/proc/npgpu")],
    "`site.conf` is missing": [Outcome(prepare=without("site.conf"))],
    "`site.conf` has a mistake": [Outcome(prepare=instead("site.conf", text)) for text in (
        "node_gpus=(2\n", "exit 1\n", "nosuchcommand\n", "echo $(($0))\n")],
    "a value in `site.conf` that cannot be": [Outcome(limit_s="4 s"), Outcome(drain_on="brokne"), Outcome(pass_minutes="")],
    "an older `site.conf`, which lacks lines, and broken": [Outcome(ends(6), prepare=lambda name: cluster.write(
        f"etc.{name}/site.conf", site(node_gpus=None, expect=None)))],
    "`check_gpus` is missing, or was killed": [Outcome(prepare=without("check_gpus")), Outcome(prepare=instead(
        "check_gpus", "#!/bin/sh\nkill -KILL $$\n"))],
}


def documented():
    """{what happens: (exit codes of npgpu, whether prolog and epilog drain, whether the health check does, what is logged)}"""
    with open(os.path.join(SOURCE, "docs/batch.md"), encoding="utf-8") as file:
        rows = [[cell.strip() for cell in line.strip().split("|")[1:-1]] for line in file if line.startswith("|")]
    at = next(i for i, row in enumerate(rows) if row[0] == "what happens")
    table = {}
    for what, codes, job, idle, logged in itertools.takewhile(lambda row: len(row) == 5, rows[at + 2:]):
        table[what.split(": ")[0]] = (set(re.findall(r"\d+", codes)), "drains" in job, "drains" in idle, re.findall("`([^`]+)`", logged))
    return table


def set_up(name, outcome):
    """The node will meet this outcome. Returns what ends it."""
    shutil.rmtree(cluster.at("checks", name), ignore_errors=True)
    cluster.write(f"syslog.{name}", "")
    configure(name, **outcome.site)
    cluster.write(f"outcome/{name}.environment", outcome.environment)
    undo = outcome.prepare(name) if outcome.prepare else None
    cluster.write(f"outcome/{name}", outcome.does)

    def over():
        if callable(undo):
            undo()
        cluster.write(f"outcome/{name}.environment", "")
        cluster.write(f"outcome/{name}", ends(0, "n: ok, 2 GPUs"))
        configure(name)
    return over


def said(name, who, wanted, what):
    """The system's log has a line of it, or none where none is wanted."""
    lines = [line for line in content(f"syslog.{name}").splitlines() if f"npgpu {who} of job" in line]
    check(all(any(text in line for line in lines) for text in wanted) and bool(lines) == bool(wanted), f"{what}: {who} logs {wanted}: {lines}")
    if is_drained(name):  # and slurmd's own
        check(all(line.split("npgpu ", 1)[1] in content(f"slurmd.{name}.log") for line in lines), f"{what}: {who}: slurmd's log: {lines}")


def is_idle(name):
    return not ask("squeue", "-h", "-w", name) and node(name)["State"].split("+")[0] == "IDLE" and "COMPLETING" not in node(name)["State"]


def in_jobs(name, what, outcome, drains, logged):
    """A job on this node whose prolog meets the outcome; and one whose epilog does, where the first one's does not."""
    over = set_up(name, outcome)
    number = tell("sbatch", "--parsable", f"--nodelist={name}", "--gpus-per-node=2", "--output=/dev/null", "--wrap", "true")
    if not drains:
        wait_for(f"{what}: the job runs", lambda: job(number).get("JobState") == "COMPLETED" or is_drained(name))
        wait_for(f"{what}: and has ended", lambda: is_idle(name))
        check(not is_drained(name), f"{what}: drained: {node(name)['Why']} {content(f'syslog.{name}')}")
        passes = [entry for entry in os.listdir(cluster.at("checks", name)) if entry.startswith("pass")] if os.path.isdir(cluster.at("checks", name)) else []
        check(bool(passes) == (what == "ok"), f"{what}: passes are kept where it is one: {passes}")
    else:
        wait_for(f"{what}: the prolog drains", lambda: is_drained(name))
        check("rolog" in node(name)["Why"] and job(number).get("JobState") != "COMPLETED", f"{what}: {node(name)['Why']}")
        tell("scancel", number)
    said(name, "prolog", logged, what)
    over()
    if drains:
        wait_for(f"{what}: the job is gone", lambda: is_idle(name))
        resume(name)
        begun, go = cluster.at(f"begun.{name}"), cluster.at(f"go.{name}")
        number = tell("sbatch", "--parsable", f"--nodelist={name}", "--gpus-per-node=2", "--output=/dev/null", "--wrap",
                      f"touch {begun}; while [ ! -e {go} ]; do sleep 0.05; done")
        wait_for(f"{what}: a job runs", lambda: os.path.exists(begun))
        over = set_up(name, outcome)
        cluster.write(f"go.{name}", "")
        wait_for(f"{what}: the epilog drains", lambda: is_drained(name))
        check("pilog" in node(name)["Why"], f"{what}: {node(name)['Why']}")
        said(name, "epilog", logged, what)
        over()
        wait_for(f"{what}: the job has ended", lambda: is_idle(name))
        resume(name)
        os.unlink(begun), os.unlink(go)
    else:
        said(name, "epilog", logged, what)


def in_health_check(name, what, outcome, drains, logged):
    over = set_up(name, outcome)
    code = check_health_at_once(name)
    check(code == "0" and is_drained(name) == drains, f"{what}: health check: {code} {node(name)}")
    check(not drains or node(name)["Why"].startswith("cuda:0 PCIe x8/x16, "), f"{what}: sinfo shows {node(name)['Why'][:20]}")
    lines = content(f"syslog.{name}")
    check(all(text in lines for text in logged) and bool(lines) == bool(logged), f"{what}: a health check logs {logged}: {lines}")
    over()
    if drains:
        resume(name)


def outcomes(tried):
    """All of them, four nodes at a time."""
    table, left = documented(), queue.Queue()
    check(set(table) == set(OUTCOMES) and len(table) > 20, f"every row of docs/batch.md is tried: {set(table) ^ set(OUTCOMES)}")
    for what in table:
        for outcome in OUTCOMES.get(what, []):
            left.put((what, outcome))
    count = left.qsize()

    def on(name):
        with contextlib.suppress(queue.Empty):
            while True:
                what, outcome = left.get_nowait()
                _, job_drains, idle_drains, logged = table[what]
                if tried is in_jobs:
                    in_jobs(name, what, outcome, job_drains, logged)
                elif "of the job" not in what and "MIG" not in what:  # a health check has no job
                    in_health_check(name, what, outcome, idle_drains, logged)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(on, name) for name in cluster.NODES]:
            done.result()
    for name in cluster.NODES:
        os.unlink(cluster.at("outcome", name))
        make(name, "h200-node")
    print(f"{count} outcomes")


def outcomes_in_jobs():
    outcomes(in_jobs)


def outcomes_in_health_checks():
    outcomes(in_health_check)


def on_another_node():
    """The job that came near its limit goes back to the queue, and begins anew on another node."""
    number = cluster.limited
    wait_for("TERM before the limit: the job goes back to the queue", lambda: int(job(number).get("Restarts", 0)) >= 1)
    first = trace(f"npgpu-{number}-n3.h5")
    check(not first["complete"] and first["visits"], "its trace is whole, and not complete")
    check("Exited with exit code 75" in log(number), f"npgpu exits with 75: {log(number)}")
    others = wait_for("on another node it begins a trace of its own",
                      lambda: [name for name in traces() if name.startswith(f"npgpu-{number}-") and "-n3" not in name])
    tell("scancel", number)
    wait_for("it is gone", lambda: not ask("squeue", "-h"))
    resume("n3")  # drained since at_the_limit()
    for name in others or []:
        second = trace(name)
        check(second["visits"] and not second["complete"], f"{name} is whole: {second['complete']}")
    check(sorted(trace(f"npgpu-{number}-n3.h5")["visits"]) == sorted(first["visits"]), "the first one stays as it was")


def documented_configuration():
    """The lines of slurm.conf in docs/batch.md are those of this Slurm, but for the folder and the interval."""
    with open(os.path.join(SOURCE, "docs/batch.md"), encoding="utf-8") as file:
        lines = re.findall(r"^    ([A-Z]\w+=\S+)$", file.read(), re.M)
    used = cluster.configuration + "".join(f"{line}\n" for line in HEALTH_CHECK)
    for line in lines:
        wanted = line.replace("/etc/slurm/npgpu", cluster.at("bin")).replace("Interval=1800", "Interval=1").format(home=cluster.home)
        check(any(one.startswith(wanted) for one in used.format(home=cluster.home).splitlines()), f"slurm.conf here has no {line}")
    check(len(lines) == 7, f"lines of slurm.conf in docs/batch.md: {lines}")


def lint():
    if not shutil.which("shellcheck"):
        return print("skipped: shellcheck is not installed")
    done = subprocess.run(["shellcheck", "-x", *sorted(glob.glob(SCRIPTS + "/*"))], cwd=SOURCE, capture_output=True, text=True)
    check(done.returncode == 0, f"shellcheck: {done.stdout}")


lint()
with tempfile.TemporaryDirectory(prefix="npgpu-slurm-") as home:
    os.chmod(home, 0o755)
    cluster = Cluster(home)
    atexit.register(cluster.stop)  # also where something below fails, or a signal ends it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    install()
    documented_configuration()
    if cluster.start():
        for step in (at_the_limit, prolog_drains, array, one_task_a_gpu, signals, on_another_node, epilog_drains,
                     outcomes_in_jobs, outcomes_in_health_checks, health_check_drains):
            try:
                step()
            except Exception:
                check(False, f"{step.__name__}: {traceback.format_exc()}")
            print(f"{time.monotonic() - began:5.1f} s: {step.__name__}", flush=True)
            if check.failed:
                break  # the others begin where this one should have ended
    if check.failed:
        for path in sorted(glob.glob(home + "/*.log")) + sorted(glob.glob(home + "/jobs/*.log")):
            with open(path, encoding="utf-8", errors="replace") as file:
                print(f"---- {path}\n", *file.readlines()[-25:], sep="", flush=True)
    cluster.stop()
    atexit.unregister(cluster.stop)
    print(f"{time.monotonic() - began:5.1f} s: stopped")
    check(not list(cluster.left()), "no process is left")
check.finish()
