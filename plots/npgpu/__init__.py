"""Traces of npgpu as data frames and figures.

    import npgpu
    traces = npgpu.load("node.h5")      # a file, a folder, a pattern, or a list of these
    traces.transfers                    # a row a point, as `npgpu export --summary` has it
    traces.to_parquet("tables")         # for DuckDB and Polars

    from npgpu.plots import rate
    rate.draw("node.h5")

Values, intervals and parameters come from the program npgpu ($NPGPU, or on PATH); facts and samples are read from the
trace itself."""
from npgpu.program import BadTrace, ProgramMissing

__all__ = ["BadTrace", "ProgramMissing", "Tables", "load"]


def __getattr__(name):
    """Tables need pandas and h5py; figures and the benchmark's scorer, which import this package too, need not wait for
    them."""
    if name in ("load", "Tables"):
        try:
            from npgpu import tables
        except ImportError as missing:
            raise ImportError(f"{missing}; tables need pandas and h5py (pip install pandas h5py)") from None
        return getattr(tables, name)
    raise AttributeError(f"module 'npgpu' has no attribute '{name}'")
