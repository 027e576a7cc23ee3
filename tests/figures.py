"""What the tests of figures share: the package in plots/ to import and to run, and a count of the checks. Without the
libraries that draw, nothing can be tested, and the tests are skipped."""
import os
import sys

try:
    import h5py  # noqa: F401
    import matplotlib
    import numpy  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "e2e"))
matplotlib.use("Agg")
import in_child  # noqa: E402
from npgpu_run import PLOTS, PROGRAM, Checks, run  # noqa: E402, F401

check = Checks()


def script(name, *arguments):
    """As `python3 plots NAME ...` does."""
    return in_child.python(PLOTS, name, *arguments)


def words(where, name, *arguments, **more):
    """The text of a picture."""
    out = os.path.join(where, "words.svg")
    drawn = in_child.python(PLOTS, name, *arguments, "-o", out, **more)
    check(drawn.returncode == 0 and not drawn.stderr, f"{name}: {drawn.stderr}")
    with open(out, encoding="utf-8") as file:
        return file.read()


def traced(path, *command, codes=(0,)):
    """The path of a trace that the program has made."""
    ran = run(*command, "--quiet", "--output", path)
    check(ran.code in codes, f"npgpu {command}: {ran.code} {ran.err}")
    return path


def refused(word, name, *arguments):
    """One sentence with this word, and no picture."""
    ended = script(name, *arguments)
    check(ended.returncode == 2 and word in ended.stderr and "Traceback" not in ended.stderr, f"{name} {arguments}: {ended.returncode} {ended.stderr}")
    return ended
