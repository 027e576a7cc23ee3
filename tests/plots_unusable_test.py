"""Traces of broken runs: where no time is usable every figure ends with one sentence, and where some are, what is there is
drawn. Nothing ends in a traceback.

    plots_unusable_test.py NPGPU
"""
import os
import shutil
import tempfile
import warnings

from figures import check  # first: it finds what follows
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from npgpu.plots import command, figure, loader  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TRACES = "h200_check", "h200_jobs", "h200_partition", "h200_gemm", "h200_onchip", "h200x2_matrix", "host_chase"


def doctored(where, name, values):
    """A copy of a kept trace in which `values` of a number of rows stand for the times of all samples."""
    path = os.path.join(where, f"{name}.h5")
    shutil.copyfile(os.path.join(SOURCE, "data/traces", f"{name}.h5"), path)
    with h5py.File(path, "r+") as trace:
        def change(at, node):
            if isinstance(node, h5py.Dataset) and at.endswith("/samples"):
                rows = node[:]
                for column in rows.dtype.names:
                    if rows.dtype[column].kind == "f":
                        rows[column] = values(rows[column])
                node[:] = rows
        trace.visititems(change)
    return path


def figures_of(path):
    """What becomes of each figure: None where it is drawn, its sentence where it is not."""
    for picture, (name, how) in command.ALL.items():
        try:
            figure.save(command.module(name).draw(path, **how), os.path.join(os.path.dirname(path), "x.png"))
            yield picture, None
        except loader.BadTrace as error:
            yield picture, str(error)
        except Exception as error:  # pylint: disable=broad-except
            yield picture, error


def half(values):
    """Every other one is none."""
    some = values.copy()
    some[::2] = np.nan
    return some


warnings.simplefilter("error")  # of matplotlib and numpy, which say that nothing is drawn
UNUSABLE = {"nan": np.nan, "zero": 0.0, "negative": -1.0, "infinite": np.inf}
with tempfile.TemporaryDirectory() as scratch:
    for trace in TRACES:
        for what, value in UNUSABLE.items() if trace == "h200_check" else [("nan", np.nan)]:
            for picture, said in figures_of(doctored(scratch, trace, lambda column: np.full_like(column, value))):
                check(isinstance(said, str) and "\n" not in said.splitlines()[0], f"{trace}, {what}, {picture}: {said!r}")
        drawn = 0
        for picture, said in figures_of(doctored(scratch, trace, half)):
            check(said is None or isinstance(said, str), f"{trace}, half of it, {picture}: {said!r}")
            drawn += said is None
        check(drawn > 0, f"{trace}, half of it: nothing is drawn")
check.finish()
