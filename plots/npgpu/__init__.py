"""Traces of npgpu as data frames and figures.

    import npgpu
    traces = npgpu.load("node.h5")      # a file, a folder, a pattern, or a list of these
    traces.transfers                    # a row a point; of_kind("transfers") has all columns of `npgpu export --summary`
    traces.to_parquet("tables")         # for DuckDB and Polars

    npgpu.measure("transfer", direction="h2d", sizes="8,64MiB").transfers
    npgpu.check(level=1).verdict
    npgpu.compare("may.h5", "june.h5").figures
    npgpu.fleet("traces/").suspects
    npgpu.predict("node.h5", bytes_in="64MiB", kernel_ms=1, bytes_out="64MiB").streams

    from npgpu.plots import rate
    rate.draw("node.h5")

Values, intervals and parameters come from the program npgpu ($NPGPU, or on PATH); facts and samples are read from the
trace itself."""
from npgpu.program import BadTrace, ProgramFailed, ProgramMissing

__all__ = ["BadTrace", "Check", "Comparison", "Fleet", "Prediction", "ProgramFailed", "ProgramMissing", "Tables", "check", "compare", "fleet",
           "load", "measure", "predict"]
_OF_MODULE = {"load": "tables", "Tables": "tables",
              **dict.fromkeys(["measure", "check", "compare", "fleet", "predict", "Check", "Comparison", "Fleet", "Prediction"], "ask")}


def _version():
    """The package's, where it is installed; in a clone of the sources, the program's."""
    import importlib.metadata
    try:
        return importlib.metadata.version("npgpu")
    except importlib.metadata.PackageNotFoundError:
        from npgpu import program
        return program.run("--version").decode().split()[1]


def __dir__():
    """Without pandas or h5py, without what needs them: help(npgpu) asks for every name of this list."""
    from importlib.util import find_spec
    names = {*globals(), *__all__, "__version__"}
    return sorted(names if find_spec("pandas") and find_spec("h5py") else names - _OF_MODULE.keys())


def __getattr__(name):
    """Tables need pandas and h5py; figures and the benchmark's scorer, which import this package too, need not wait for
    them."""
    if name == "__version__":
        return _version()
    if name in _OF_MODULE:
        import importlib
        try:
            module = importlib.import_module("npgpu." + _OF_MODULE[name])
        except ImportError as missing:
            raise ImportError(f"{missing}; tables need pandas and h5py (pip install pandas h5py)") from None
        return getattr(module, name)
    import sys
    raise AttributeError(f"module 'npgpu' has no attribute '{name}'", name=name, obj=sys.modules[__name__])
