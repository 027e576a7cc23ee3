"""SIGTERM, SIGINT and SIGHUP: stop within a trial, save, exit 75. SIGUSR1: save and go on. --resume: the same set of
points, each visited once in every round."""
import itertools
import os
import re
import shlex
import signal
import subprocess
import time

from npgpu_run import PROGRAM, Checks, folder, needs, run, stopped_at

h5py = needs("h5py")
check = Checks()
SIZES = ["--device", "host", "--start", "1", "--end", "1MiB", "--perturbation", "0", "--schedule", "classic",
         "--target-time", "2ms", "--trials", "3", "--rounds", "2"]  # of each size exactly two visits


def visits(path):
    """(size, round) of every visit, and whether the trace is complete."""
    with h5py.File(path) as f:
        return [(int(v["bytes"]), int(v["round"])) for s in f["transfers"].values() for v in s["visits"][:]], int(f.attrs["complete"])


with folder() as where:
    whole = os.path.join(where, "whole.h5")
    check(run("transfer", *SIZES, "--quiet", "--output", whole).code == 0, "an uninterrupted run")
    expected, complete = visits(whole)
    check(complete == 1 and len(expected) > 2 * 35, "is complete")
    check(set(expected) == {(size, number) for size, _ in expected for number in range(2)}, "every size in every round")

    for number, name in ((signal.SIGTERM, "term"), (signal.SIGINT, "int"), (signal.SIGHUP, "hup")):
        path = os.path.join(where, name + ".h5")
        stops, rounds = 0, set()
        command = ["transfer", *SIZES, "--progress", "points", "--output", path]
        while stops < 20:
            saved = itertools.count(1)
            code, err = stopped_at(lambda line: line.startswith("saved /") and next(saved) >= 20, command, number)
            if code == 0:
                break
            stops += 1
            check(code == 75, f"{name}: exit {code}: {err[-200:]}")
            hint = re.search(r"continue with: (.*)", err)
            check(hint and "--resume" in hint[1] and path in hint[1], f"{name}: says how to go on: {err[-200:]}")
            command = shlex.split(hint[1])[1:]  # the whole command, which works as it is
            some, complete = visits(path)
            check(complete == 0, f"{name}: an unfinished trace says so")
            check(len(set(some)) == len(some), f"{name}: no point twice in a round")
            rounds.add(max(number for _, number in some))
        else:
            check(False, f"{name}: never finished")
        check(stops >= 1, f"{name}: was interrupted {stops} times")
        check(max(rounds, default=0) >= 1, f"{name}: also after the first round: {rounds}")
        got, complete = visits(path)
        check(sorted(got) == sorted(expected), f"{name}: the same points in the same rounds, none twice: {len(got)} of {len(expected)}")
        check(complete == 1, f"{name}: complete at last")
        with h5py.File(path) as f:
            used = [(int(p["first_sample"]), int(p["samples"])) for p in f["transfers/0000/visits"][:]]
            check(sum(n for _, n in used) == len(f["transfers/0000/samples"]), f"{name}: every sample belongs to a visit")

    # timeout signals the process and then its group: two at once are one wish to stop.
    path = os.path.join(where, "timeout.h5")
    for attempt in range(8):
        if os.path.exists(path):
            os.remove(path)
        ended = subprocess.run(["timeout", "--preserve-status", "--signal=INT", "0.4", PROGRAM, "transfer", *SIZES, "--force",
                                "--output", path], capture_output=True, text=True)
        before_handlers = ended.returncode == 128 + signal.SIGINT and not os.path.exists(path)
        check((ended.returncode == 75 or before_handlers) and not os.path.exists(path + ".lock"), f"timeout: {ended.returncode} {ended.stderr[-200:]}")

    # A check that was stopped blames nobody, and a soak says how to go on, as the user calls the program.
    soak = os.path.join(where, "soak.h5")
    bare = {**os.environ, "PATH": "/usr/bin:/bin"}
    near = os.path.join(".", os.path.basename(PROGRAM))
    for command in (["check", "--level", "3"], ["check", "--soak", "10min", "--force", "--output", soak]):
        for wait_s in (0.25, 1, 4, 16):  # beside a load it may come before the handlers are there
            process = subprocess.Popen([near, *command, "--device", "sim:h200"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, env=bare, cwd=os.path.dirname(PROGRAM))
            time.sleep(wait_s)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            if process.returncode != -signal.SIGINT:
                break
        check(process.returncode == 75 and "NOT JUDGED" in out and "stopped by a signal" in out, f"{command}: {process.returncode} {out}")
        check("FAIL" not in out and "OK" not in out and "take the GPU out of service" not in out, f"{command}: {out}")
        hint = re.search(r"continue with: (.*)", err)
        if "--soak" in command:
            check(hint and shlex.split(hint[1])[0] == near and "--resume" in hint[1], f"{command}: says how to go on: {err}")
        else:
            check(not hint, f"{command}: nothing is kept that could go on: {err}")

    # SIGUSR1 saves in the middle of a long point and goes on.
    path = os.path.join(where, "usr1.h5")
    process = subprocess.Popen([PROGRAM, "transfer", "--device", "host", "--sizes", "8,16,32,64", "--schedule", "classic", "--target-time", "0.3",
                                "--output", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3.2)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    check(process.returncode == 0, f"USR1: exit {process.returncode}")
    check(len(visits(path)[0]) == 4, "USR1: went on to the end")

    # Ignored from the start, as under nohup, SIGHUP stops nothing.
    path = os.path.join(where, "nohup.h5")
    process = subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$0" "$@"', PROGRAM, "transfer", *SIZES, "--output", path],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    check(process.returncode == 0, f"nohup: exit {process.returncode}")

    # A limit on file sizes is a sentence, and no signal kills the program.
    limited = subprocess.run(["sh", "-c", 'ulimit -f 1; exec "$0" "$@"', PROGRAM, "transfer", *SIZES, "--output",
                              os.path.join(where, "limited.h5")], capture_output=True, text=True)
    check(limited.returncode == 1 and "limited.h5" in limited.stderr, f"ulimit -f: exit {limited.returncode}: {limited.stderr[-200:]}")
check.finish()
