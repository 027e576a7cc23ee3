"""Which run a name means: "node.h5", and of a file of several runs (`npgpu merge`) "job.h5:3", as in every command of
npgpu."""
import contextlib
import os
import re

from npgpu.program import BadTrace


def address(name):
    """(file, number of the run, or None). A file of that very name comes first."""
    name = os.fspath(name)
    found = re.fullmatch(r"(.*):([0-9]+)", name, re.DOTALL)
    return (name, None) if not found or os.path.exists(name) else (found[1], int(found[2]))


@contextlib.contextmanager
def opened(name):
    """The file of a name, h5py's; BadTrace with one sentence where it cannot be read."""
    import h5py
    path = address(name)[0]
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise BadTrace(f"{name}: {flaw(path, str(error))}") from None


def flaw(path, error):
    """What is wrong with a file that HDF5 cannot read, in the words of the program."""
    try:
        size = os.path.getsize(path)
        if not os.path.isfile(path):
            return "is not a plain file"
    except OSError as missing:
        return "there is no such file" if isinstance(missing, FileNotFoundError) else missing.strerror
    if size == 0:
        return "is empty"
    if "signature not found" in error:
        return "is not an HDF5 file"
    whole = re.search(r"stored_eof = ([0-9]+)", error)
    return f"is truncated: {size} of its {whole[1]} bytes are there" if whole else f"cannot be read: {error}"


def count(file):
    """How many runs a merged file has; None of a trace."""
    return len(file["runs"]) if file.attrs.get("schema_name") == "npgpu-runs" else None


@contextlib.contextmanager
def open_run(name):
    """The run that a name means: the group that holds what the root of a trace holds. BadTrace if there is none."""
    with opened(name) as file:
        path, number = address(name)
        runs = count(file)
        if number is not None and number >= (runs or 1):
            raise BadTrace(f"{path}: has {runs or 1} run{'s' if runs and runs > 1 else ''}, counted from 0, and no run {number}")
        if runs is not None and number is None and runs != 1:
            raise BadTrace(f"{path}: holds {runs} runs: name one of {path}:0 to {path}:{runs - 1}")
        run = file if runs is None else file["runs"][f"{number or 0:04}"]
        if run.attrs.get("schema_name") != "npgpu-trace":
            raise BadTrace(f"{name}: is an HDF5 file but not an npgpu trace")
        if not str(run.attrs["schema_version"]).startswith("3."):
            raise BadTrace(f"{name}: is an npgpu trace of version {run.attrs['schema_version']}, and this package reads 3")
        yield run


def runs_of(name):
    """The names of all runs that a name means: of a merged file each of its runs, else the name itself."""
    if address(name)[1] is not None:
        return [name]
    with opened(name) as file:
        runs = count(file)
    return [name] if runs is None else [f"{name}:{number}" for number in range(runs)]
