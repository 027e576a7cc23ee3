"""Runs the program as a user does. Every script here takes the program's path as its first argument."""
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "npgpu"
# As it is installed: hints then begin with "npgpu", and not with where the build is.
os.environ["PATH"] = os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"]
os.environ["NPGPU_WAIT_QUIET"] = "0"  # tests run side by side, and need not wait for each other
SOURCE = os.environ.get("NPGPU_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


def run(*arguments, cwd=None, env=None, timeout=300):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NPGPU_") or k == "NPGPU_WAIT_QUIET"}
    environment.update(env or {})
    return Result(subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, env=environment, timeout=timeout,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True))


def folder():
    return tempfile.TemporaryDirectory(prefix="npgpu-test-")


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
