"""export --summary as an analyst uses it: pandas reads it, the columns are those of data/TABLES.md, and its figures are
those of the trace."""
import io
import os
import re

from npgpu_run import SOURCE, Checks, folder, needs, run

h5py, numpy, pandas = needs("h5py", "numpy", "pandas")
AXES = {"transfers": ["bytes"], "probes": ["blocks", "threads", "ilp", "access_bytes", "bytes", "one_block_per_sm", "stride", "offset_bytes", "ways", "rung", "m", "n", "k", "panels", "registers", "shared_bytes", "operands", "intensity", "cluster", "pages", "ops", "alpha", "beta", "host_columns", "sm"],
        "jobs": ["bytes_in", "bytes_out", "kernel_bytes", "iterations", "chunks", "streams", "threads"],
        "calls": ["bytes", "blocks", "nodes"]}
NOT_IN_CASE = {"schedule", "device_uuid", "device_name", "simulated", "binding", "error", "failure", "failed_device", "limit_per_s", "limit_source",
               "units", "lanes", "max_threads_per_block", "max_threads_per_unit", "max_blocks_per_unit", "cache_bytes",
               "near_cache_bytes", "registers_per_unit", "shared_bytes_per_unit", "shared_bytes_per_block", "shared_bytes_reserved", "memory_bytes", "clock_mhz", "library"}

check = Checks()


def documented():
    """Columns of the first table of data/TABLES.md, in order; 'the case' and 'the axes' stand for those of the kind."""
    columns = []
    for line in open(os.path.join(SOURCE, "data", "TABLES.md")):
        if columns and not line.startswith("|"):
            break
        first = line.split("|")[1] if line.startswith("| ") else ""
        if first.strip() in ("the case", "the axes"):
            columns.append(first.strip())
        columns += re.findall(r"`(\w+)`", first)
    return columns


def table_of(trace, kind):
    made = run("export", trace, "--table", kind, "--summary")
    check(made.code == 0, f"{kind}: {made.err}")
    return pandas.read_csv(io.StringIO(made.out), keep_default_na=False, na_values=[""])


with folder() as where:
    trace = os.path.join(where, "all.h5")
    how = ("--device", "sim:h200", "--quiet", "--output", trace, "--append")
    made = run("transfer", "--device", "sim:h200", "--direction", "h2d,d2h", "--pattern", "stream,duplex", "--memory", "pinned",
               "--async", "--timing", "gated", "--sizes", "4KiB,1MiB", "--quiet", "--output", trace)
    check(made.code == 0, made.err)
    for more in (("probe", "compute,bandwidth"), ("streams", "--bytes-in", "1MiB", "--bytes-out", "1MiB", "--chunks", "1,2"),
                 ("calls", "--call", "launch,graph-launch,stream-synchronize")):
        made = run(*more, *how)
        check(made.code == 0, f"{more}: {made.err}")

    columns = documented()
    check("the case" in columns and "the axes" in columns and len(columns) > 25, f"data/TABLES.md names columns: {columns}")
    tables = {}
    with h5py.File(trace) as file:
        for kind, axes in AXES.items():
            table = tables[kind] = table_of(trace, kind)
            series = list(file[kind].values())
            case = [name for name in series[0].attrs if name not in NOT_IN_CASE]
            expected = []
            for name in columns:
                expected += case if name == "the case" else axes if name == "the axes" else [name]
            plain = [name for name in table.columns if name not in case]  # h5py sorts attributes
            check(plain == [n for n in expected if n not in case], f"{kind}: columns {plain}, documented {expected}")
            check(set(case) < set(table.columns), f"{kind}: all of the case is there")
            key = ["series", *axes, "lane"]
            check(not table.duplicated(key).any(), f"{kind}: one row a point")
            points = sum(len(pandas.DataFrame(s["visits"][:])[axes].drop_duplicates()) for s in series)
            check(len(table.drop_duplicates(["series", *axes])) == points, f"{kind}: {len(table)} rows, {points} points")
            check(table.host.eq(file.attrs["hostname"]).all() and table.run_uuid.eq(file.attrs["run_uuid"]).all(), "whose run")
            check(pandas.to_datetime(table.date).dt.year.ge(2020).all(), f"{kind}: dates are dates")
            check(table.kind.eq(kind).all() and table.simulated.eq(1).all(), f"{kind}: kind, simulated")
            for name in ("value", "low", "high", "time_us", "min_us", "max_us"):
                check(table[name].dtype == float and table[name].notna().all(), f"{kind}: {name} is a number in every row")
            check(((table.low <= table.value) & (table.value <= table.high)).all(), f"{kind}: low <= value <= high")
            check(set(table.stop) <= {"converged", "not-converged", "trials"}, f"{kind}: stop {set(table.stop)}")
            check(table.unusable.isna().all(), f"{kind}: nothing is unusable")

            # The first row again, from the trace.
            row = table.iloc[0]
            one = series[int(row.series)]
            visits, samples = one["visits"][:], one["samples"][:]
            code = {a: 0 if row[a] in ("usual", "fixed", "nn") else row[a] for a in axes}  # of a word
            at_point = numpy.all([visits[a] == code[a] for a in axes], axis=0)
            of_point = at_point & (visits["disturbed"] == 0)
            if row.visits_counted == of_point.sum():
                clock = "host_us"
                if kind == "transfers" and row.timing != "host" or kind == "probes" or kind == "jobs" and row.gating == "gated":
                    clock = "device_us"
                if kind == "calls" and "done" in row.counts:
                    clock = "done_us"
                repeats = samples["repeats"] if "repeats" in samples.dtype.names else numpy.ones(len(samples))
                us = samples[clock] / repeats
                lane = samples["lane"] == row.lane if "lane" in samples.dtype.names else numpy.ones(len(samples), bool)
                medians = [numpy.median(us[(samples["visit"] == v) & lane]) for v in numpy.flatnonzero(of_point)]
                check(abs(numpy.median(medians) / row.time_us - 1) < 1e-9, f"{kind}: {row.time_us} us, {numpy.median(medians)} by hand")
            check(row.visits == at_point.sum(), f"{kind}: visits")

    copies = tables["transfers"]
    check(numpy.allclose(copies.value, copies.bytes / copies.time_us * 1e6), "bytes over time")
    check(set(copies.unit) == {"B/s"} and set(copies[copies.pattern == "duplex"].lane) == {0, 1}, "lanes of a duplex")
    check(set(tables["probes"].unit) <= {"FLOP/s", "OP/s", "B/s"}, f"units of probes: {set(tables['probes'].unit)}")
    check(set(tables["calls"].counts) == {"time of a call until its work is done", "time of a call until it returns"}, "calls")
    together = pandas.concat(tables.values())
    check(len(together) == sum(map(len, tables.values())), "kinds below each other")
    # The example of the document, on this trace.
    good = copies[copies.disturbed.isna() & copies.unusable.isna()]
    wide = good[good.case_name.isin(["H2D pinned, async", "D2H pinned, async"])].pivot_table(index="bytes", columns="case_name", values="value")
    check(set(wide.columns) == {"H2D pinned, async", "D2H pinned, async"} and len(wide) >= 2, f"the document's example: {wide}")
    # One case of a kind only.
    first = run("export", trace, "--table", "transfers", "--summary", "--case", "transfers:0").out
    check(len(first.splitlines()) == 1 + (copies.series == 0).sum(), "one series only")
check.finish()
