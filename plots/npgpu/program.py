"""The npgpu program: where it is, and what it writes. Values, intervals and parameters are the program's; this package
computes none."""
import os
import shutil
import subprocess
import sys


class BadTrace(Exception):
    """One sentence that names the file, and what is wrong with it."""


class ProgramFailed(Exception):
    """What the program says of a command that it refused, or that failed: one sentence."""


class ProgramMissing(BadTrace):
    """The program was not found."""


def path():
    """npgpu: $NPGPU, where this package was installed with it, in a build folder of the sources, or on PATH."""
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    beside = [os.path.join(above, *"../../../bin/npgpu".split("/")), os.path.join(above, "bin", "npgpu"),
              os.path.join(os.path.dirname(sys.executable), "npgpu"),
              *(os.path.join(above, "..", "build", preset, "npgpu") for preset in ("default", "cpu", "release", "debug"))]
    found = os.environ.get("NPGPU") or next(filter(os.path.exists, beside), None) or shutil.which("npgpu")
    if not found:
        raise ProgramMissing("npgpu was not found: put it on PATH or name it in the environment variable NPGPU. "
                             "Without it, facts and samples of traces can be read; all else the program computes")
    return found


def ask(*arguments, answers=(0,)):
    """(exit code, what npgpu writes as bytes); ProgramFailed with its own sentence where the code is none of `answers`."""
    program = path()
    try:
        ran = subprocess.run([program, *map(os.fspath, arguments)], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        raise ProgramMissing(f"cannot run {program}: {error.strerror}") from None
    if ran.returncode not in answers:
        last = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise ProgramFailed(last[0].removeprefix("npgpu: ") if last else f"npgpu {arguments[0]} ended with {ran.returncode}")
    return ran.returncode, ran.stdout


def run(*arguments):
    """What npgpu writes of a trace, as bytes; BadTrace with its own sentence where it refuses."""
    try:
        written = ask(*arguments)[1]
    except ProgramFailed as refused:
        raise BadTrace(str(refused)) from None
    if not written:
        raise ProgramMissing(f"{path()} wrote nothing: is it npgpu?")
    return written
