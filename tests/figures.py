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
PLOTS = os.path.join(HERE, "..", "plots")
sys.path += [PLOTS, os.path.join(HERE, "e2e")]
matplotlib.use("Agg")
import in_child  # noqa: E402
from npgpu_run import PROGRAM, Checks  # noqa: E402, F401

os.environ["NPGPU"] = PROGRAM  # which the figures run

check = Checks()


def script(name, *arguments):
    """As `python3 plots NAME ...` does."""
    return in_child.python(PLOTS, name, *arguments)
