#!/usr/bin/env python3
"""Kills a program that writes a trace, with SIGKILL, at random moments, many times, and looks what is left.

    kill9.py --count 300 -- write_many {trace} --eager

After each kill the trace must be absent or open with plain h5py, and hold every visit that the program had called saved
(lines like "saved <series> <bytes> <round>" or "saved /<kind>/<series> <row>:") in all its output up to then. With --resume the next run gets the same trace and
goes on with it (the program must do that by itself or by an argument of its command) until one comes to its end; without
it each run begins anew. Nothing may be left beside the trace but its lock and its temporary file, and neither may hinder the next run.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from trace_visits import SAVED, announced, visits_of


def killed(command, after, output):
    """Runs it for so many seconds at most. Its exit code, -9 if it was killed; and all that it said."""
    with open(output, "w+") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        file.seek(0)
        return process.returncode, file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--saved", default=SAVED, help="regular expression of a line that calls a visit saved; groups: series, bytes, round")
    parser.add_argument("--resume", action="store_true", help="go on with the same trace")
    parser.add_argument("--expect-broken", action="store_true")
    parser.add_argument("command", nargs="+", help="{trace} stands for the trace")
    options = parser.parse_args()
    random.seed(options.seed)

    with tempfile.TemporaryDirectory(prefix="npgpu-kill9-") as folder:
        trace, output = os.path.join(folder, "trace.h5"), os.path.join(folder, "output")
        command = [word.replace("{trace}", trace) for word in options.command]
        clean = lambda: [os.remove(os.path.join(folder, name)) for name in os.listdir(folder)]

        begin = time.monotonic()
        code, text = killed(command, 600, output)
        whole = time.monotonic() - begin
        if code != 0:
            print(text)
            return f"the program fails by itself, with {code}"
        if not announced(text, options.saved):
            return "the program called no visit saved"
        clean()

        count = dict.fromkeys(("killed", "no trace yet", "killed while saving", "finished", "visits"), 0)
        problems, saved = [], set()
        began = time.monotonic()
        while count["killed"] < options.count and not (problems and options.expect_broken):
            code, text = killed(command, random.uniform(0, whole), output)
            saved |= announced(text, options.saved)
            count["visits"] += len(announced(text, options.saved))
            if code not in (0, -signal.SIGKILL):
                problems.append(f"run {count['killed']}: ended with {code}: {text[-300:]}")
            count["killed"] += code == -signal.SIGKILL
            count["finished"] += code == 0
            count["killed while saving"] += os.path.exists(os.path.join(folder, ".trace.h5.npgpu-tmp"))
            if strangers := set(os.listdir(folder)) - {"trace.h5", "trace.h5.lock", ".trace.h5.npgpu-tmp", "output"}:
                problems.append(f"run {count['killed']}: left {strangers}")
            if not os.path.exists(trace):
                count["no trace yet"] += 1
                if saved:
                    problems.append(f"run {count['killed']}: no trace, and {len(saved)} visits were called saved")
            else:
                try:
                    if missing := saved - visits_of(trace):
                        problems.append(f"run {count['killed']}: {len(missing)} of {len(saved)} saved visits are missing")
                except Exception as error:  # whatever h5py makes of it
                    problems.append(f"run {count['killed']}: {type(error).__name__}: {error}")
            if code == 0 or not options.resume:
                if options.resume and os.path.exists(trace + ".lock"):
                    problems.append("a run that came to its end left its lock")
                clean()
                saved = set()
            if len(problems) > 10 or time.monotonic() - began > 30 + 5 * options.count * whole:
                break
        print(", ".join(f"{name} {number}" for name, number in count.items()),
              f"in {time.monotonic() - began:.0f} s; a whole run takes {whole:.2f} s; {len(problems)} problems")
        for problem in problems[:10]:
            print(" ", problem)
        if options.expect_broken:
            return None if problems else "problems were expected, and none was seen"
        if count["killed"] < options.count and not problems:
            return f"only {count['killed']} kills in the time there was"
        return "a kill lost or broke something" if problems else None


if __name__ == "__main__":
    sys.exit(main())
