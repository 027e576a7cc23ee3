"""Runs the program as a user does. Every script here takes the program's path as its first argument."""
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "npgpu"
# As it is installed: hints then begin with "npgpu", and not with where the build is.
os.environ["PATH"] = os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"]
os.environ["NPGPU_WAIT_QUIET"] = "0"  # tests run side by side, and need not wait for each other
SOURCE = os.environ.get("NPGPU_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
PLOTS = os.path.join(SOURCE, "plots")  # the Python package
sys.path.insert(1, PLOTS)
os.environ["NPGPU"] = PROGRAM  # which the package asks


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


def run(*arguments, cwd=None, env=None, timeout=300):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NPGPU_") or k == "NPGPU_WAIT_QUIET"}
    environment.update(env or {})
    return Result(subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, env=environment, timeout=timeout,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True))


def python(*words, **more):
    """As `python3 WORDS` does where the package is installed and the screen has 120 columns."""
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, **more,
                          env={**os.environ, "PYTHONPATH": PLOTS, "MPLBACKEND": "Agg", "COLUMNS": "120"})


def library(name):
    """None where Python does not have it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def needs(*names):
    """These libraries; without one of them the whole test is skipped."""
    found = [library(name) for name in names]
    if None in found:
        print(f"skipped: Python has no {names[found.index(None)]}")
        sys.exit(77)
    return found[0] if len(found) == 1 else found


def stopped_at(is_it, command, number=signal.SIGTERM):
    """Exit code and standard error of a run that got the signal once it had written such a line. It is asked to save all
    the time, because it tells of a point when that is on disk."""
    process = subprocess.Popen([PROGRAM, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    enough, told = threading.Event(), ""

    def ask():
        while not enough.wait(0.02) and process.poll() is None:
            process.send_signal(signal.SIGUSR1)

    asking = threading.Thread(target=ask)
    for line in process.stderr:
        if not told:  # from its first word on it catches signals
            asking.start()
        told += line
        if is_it(line):
            process.send_signal(number)
            break
    enough.set()
    told += process.stderr.read()
    code = process.wait(timeout=300)
    if asking.ident:
        asking.join()
    return code, told


def folder():
    return tempfile.TemporaryDirectory(prefix="npgpu-test-")


def below(where):
    """The path of a name in this folder."""
    return lambda *names: os.path.join(where, *names)


def written(path, content):
    """The path of a file that now has this content: text, or JSON of whatever else."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    return path


class Checks:
    """Counts, so that a script that checked nothing fails."""

    def __init__(self):
        self.done = self.failed = 0

    def __call__(self, condition, message):
        self.done += 1
        if not condition:
            self.failed += 1
            print("FAILED:", message)

    def finish(self):
        print(f"{self.done - self.failed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.done else 0)
