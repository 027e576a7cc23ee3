"""docs/analysis.ipynb runs from its first cell to its last, and prints what is saved in it. Skipped where what executes
notebooks, or writes and asks Parquet, is not installed.

    notebook.py NPGPU --save    saves what it prints now, after the kept traces have changed
"""
import os
import sys
import tempfile

from npgpu_run import PROGRAM, SOURCE, Checks

try:
    import duckdb  # noqa: F401
    import h5py  # noqa: F401
    import matplotlib  # noqa: F401
    import nbformat
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    from ipykernel.kernelspec import install  # noqa: F401
    from nbclient import NotebookClient
except ImportError as missing:
    print(f"skipped: {missing} (pip install nbclient ipykernel pyarrow duckdb)")
    sys.exit(77)

check = Checks()
DOCS = os.path.join(SOURCE, "docs")


def texts(cell):
    """What a cell printed or answered; pictures are answers, too, whose bytes are of a version of matplotlib."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream" and output.name == "stdout":
            found.append(output.text)
        elif "data" in output:
            found.append(output.data.get("text/plain", ""))
            found += ["a picture"] if "image/png" in output.data else []
    return found


saved = nbformat.read(os.path.join(DOCS, "analysis.ipynb"), as_version=4)
run = nbformat.read(os.path.join(DOCS, "analysis.ipynb"), as_version=4)
for one in run.cells:
    if one.cell_type == "code":
        one.outputs = []
os.environ.update(NPGPU=PROGRAM, PYTHONPATH=os.pathsep.join(filter(None, [os.path.join(SOURCE, "plots"), os.environ.get("PYTHONPATH")])))
with tempfile.TemporaryDirectory() as home:
    os.environ.update(IPYTHONDIR=home, JUPYTER_DATA_DIR=home, TMPDIR=home)
    NotebookClient(run, timeout=120, kernel_name="python3", resources={"metadata": {"path": DOCS}}).execute()
if "--save" in sys.argv:
    for before, now in zip(saved.cells, run.cells):
        if before.cell_type == "code" and texts(before) != texts(now):
            before.outputs = now.outputs
    nbformat.write(saved, os.path.join(DOCS, "analysis.ipynb"))
    sys.exit()
for at, (before, now) in enumerate(zip(saved.cells, run.cells)):
    if before.cell_type == "code":
        check(texts(before) == texts(now), f"cell {at}: saved {texts(before)}, now {texts(now)}")
check(sum("a picture" in texts(cell) for cell in run.cells) == 3, "three pictures")
check(sum(len(texts(cell)) for cell in run.cells) > 10, "each cell answers")
check.finish()
