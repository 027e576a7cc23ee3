"""What the tests of figures share: the package in plots/ to import and to run, and a count of the checks. Without the
libraries that draw, nothing can be tested, and the tests are skipped."""
import os
import runpy
import sys
import tempfile
import traceback

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
import matplotlib.pyplot  # noqa: E402, F401

from npgpu_run import PROGRAM, Checks  # noqa: E402, F401

os.environ["NPGPU"] = PROGRAM  # which the figures run

check = Checks()


class Ended:
    def __init__(self, status, stdout, stderr):
        self.returncode, self.stdout, self.stderr = os.waitstatus_to_exitcode(status), stdout, stderr


def script(name, *arguments):
    """As `python3 plots NAME ...` does, in a child that has imported what takes longest."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv = [PLOTS, name, *map(str, arguments)]
            code = 0
            try:
                runpy.run_path(PLOTS, run_name="__main__")
            except SystemExit as exit:
                code = exit.code or 0
            except BaseException:
                traceback.print_exc()
                code = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        status = os.waitpid(child, 0)[1]
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
        return Ended(status, *texts)
