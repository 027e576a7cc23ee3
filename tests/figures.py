"""What the tests of figures share: the scripts in plots/ to import and to run, and a count of what was checked. Without
what they draw with, nothing can be tested: skipped."""
import os
import subprocess
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

from npgpu_run import PROGRAM, Checks  # noqa: E402, F401

check = Checks()


def script(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(PLOTS, name), *map(str, arguments)], capture_output=True, text=True)
