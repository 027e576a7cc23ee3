"""The Python package's tables: for every kept trace they are those of `npgpu export --summary` to the last digit, samples
are the trace's own, Parquet keeps both, and what is missing is one sentence.

    tables_test.py NPGPU
"""
import csv
import functools
import glob
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "e2e"))
from npgpu_run import PLOTS, PROGRAM, Checks, needs  # noqa: E402

h5py, np, pd = needs("h5py", "numpy", "pandas")
import npgpu  # noqa: E402
from npgpu import program, tables  # noqa: E402
from npgpu.columns import COUNTS  # noqa: E402

check = Checks()
TRACES = sorted(glob.glob(os.path.join(HERE, "..", "data", "traces", "*.h5")))


def export(trace, kind, *more):
    rows = list(csv.reader(io.StringIO(program.run("export", trace, "--table", kind, *more).decode())))
    return rows[0], rows[1:]


def same(cell, text):
    """Whether a cell of a data frame is the field of the program's csv."""
    if text == "":
        return pd.isna(cell)
    if isinstance(cell, pd.Timestamp):
        return cell.strftime("%Y-%m-%dT%H:%M:%SZ") == text
    if isinstance(cell, (float, np.floating)):
        return float(text) == cell
    return str(cell) == text


def numeric(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def is_the_programs_table(trace, loaded):
    with h5py.File(trace) as file:
        kinds = [k for k in tables.KINDS if any(len(s["visits"]) for s in file.get(k, {}).values())]
    check(kinds, f"{trace}: holds something")
    for kind in tables.KINDS:
        table, what = loaded.of_kind(kind), f"{os.path.basename(trace)} {kind}"
        if kind not in kinds:
            check(len(table) == 0 and list(table.columns) == tables.OF_KIND[kind], f"{what}: empty, with its columns")
            continue
        names, rows = export(trace, kind, "--summary")
        check(names == tables.OF_KIND[kind], f"{what}: columns.py has other columns: {names}")
        check(list(table.columns) == names and len(table) == len(rows), f"{what}: {len(table)} rows, {len(rows)} by the program")
        for at, name in enumerate(names):
            texts = [row[at] for row in rows]
            wrong = [(cell, text) for cell, text in zip(table[name], texts) if not same(cell, text)]
            check(not wrong, f"{what}: {name}: {wrong[:3]}")
            numbers = pd.api.types.is_numeric_dtype(table[name])
            told = [t for t in texts if t]
            check(numbers or name in ("device_name", "host") or not told or not all(map(numeric, told)), f"{what}: {name} is no number")


def names_distinguish_cases(trace, loaded):
    """A table by case_name, lane and axes never mixes unlike cases of a device."""
    for kind in tables.KINDS:
        table = loaded.of_kind(kind)
        if len(table):
            key = ["case_name", "lane", *(name for name in ("device", "source", "target") if name in table)]
            series = table.groupby(key, dropna=False).series.nunique()
            check(series.max() == 1, f"{os.path.basename(trace)} {kind}: one name, several series: {series[series > 1]}")


def short_tables_say_all_that_differs(trace, loaded):
    """What a table leaves out is how a figure was measured, or the same in every row."""
    for kind in tables.KINDS:
        table, whole, what = getattr(loaded, kind), loaded.of_kind(kind), f"{os.path.basename(trace)} {kind}"
        check(table.equals(whole[list(table.columns)]) and {"host", "case_name", "value", "low", "high", "unit", "unusable"} <= set(table), what)
        for name in set(whole) - set(table):
            check(name in tables.TECHNICAL["all"] or whole[name].nunique(dropna=False) <= 1, f"{what}: {name} is left out, and differs")
        check(len(table.columns) <= 30 < len(whole.columns), f"{what}: {len(table.columns)} of {len(whole.columns)} columns")


def runs_of_a_merged_file(folder):
    """job.h5 is all of its runs, job.h5:1 the second one, and of a trace :0 is the only one, as in every command."""
    parts = [os.path.join(HERE, "..", "data", "traces", f"h200_run_{x}.h5") for x in "ab"]
    merged = os.path.join(folder, "job.h5")
    ran = subprocess.run([PROGRAM, "merge", merged, *parts], capture_output=True, text=True)
    check(ran.returncode == 0, ran.stderr)
    every, second, alone = npgpu.load(merged), npgpu.load(merged + ":1"), npgpu.load(parts[1])
    for name in ("transfers", "calls", "parameters"):
        check(getattr(second, name).equals(getattr(alone, name)), f"{name} of the second run")
    # A merged run has one fact more: the file that it was in.
    check(len(second.facts) == len(alone.facts) + 1 and "merged_from" in set(second.facts.fact), "facts of the second run")
    check(second.samples("calls").equals(alone.samples("calls")), "samples of the second run")
    check(len(every.calls) == sum(len(npgpu.load(part).calls) for part in parts) and every.facts.run_uuid.nunique() == 2, "all runs")
    check(npgpu.load(parts[0] + ":0").calls.equals(npgpu.load(parts[0]).calls), "the only run of a trace")
    check("and no run 2" in refusal(lambda: npgpu.load(merged + ":2")), "a run that is not there")
    check("and no run 1" in refusal(lambda: npgpu.load(parts[0] + ":1")), "a trace has one run")
    odd = os.path.join(folder, "odd.h5:7")  # a file of that very name comes first
    shutil.copy(parts[0], odd)
    check(len(npgpu.load(odd).facts) == len(npgpu.load(parts[0]).facts), "a file whose name ends as a run's")
    try:
        from npgpu.plots import loader, rate, samples
    except ImportError as missing:
        return print(f"skipped: figures of a run: {missing}")
    for figure in (rate, samples):
        figure.draw(merged + ":1", case="transfers:0")
    check([s.trace.name for s in loader.load(merged, "transfers", "transfers:0")] == ["job:0", "job:1"], "a figure of all runs")
    check("name one of" in refusal(lambda: loader.Trace(merged)), "where one trace is asked for")


def samples_are_the_traces(trace):
    loaded = npgpu.load(trace)
    for kind in ("transfers", "probes", "jobs", "calls"):
        table = loaded.samples(kind)
        names, rows = export(trace, kind)
        check(set(names) <= set(table.columns), f"{kind}: the columns of the program's samples: {set(names) - set(table.columns)}")
        check(len(table) == len(rows), f"{kind}: {len(table)} samples, {len(rows)} by the program")
        # The time of an operation is the program's: the shortest of a point is its min_us.
        points = loaded.of_kind(kind)
        key = [n for n in ["series", "lane", *sorted(COUNTS - {"lane", "series", "simulated", "visits", "trials"})]
               if n in points and n in table and table[n].notna().all() and points[n].notna().all()]
        told = points[(points.visits == points.visits_counted) & points.unusable.isna()].set_index(key).min_us
        least = table.groupby(key).time_us.min().reindex(told.index)
        off = (least / told - 1).abs().max()
        check(len(told) > 20 and off < 1e-9, f"{kind}: time_us of {len(told)} points, off by {off}")
        for at, name in enumerate(names):
            column = table[name].tolist()
            # A yes or no, a word and a short text are what the program writes for them; a case that grew has its usual word.
            wrong = [(c, row[at]) for c, row in zip(column, rows) if not same(c, row[at]) and not (c == "" and row[at] == "")]
            check(not wrong, f"{kind}: samples' {name}: {wrong[:3]}")


def facts_and_parameters(trace):
    loaded = npgpu.load(trace)
    facts = loaded.facts.set_index(["place", "fact"])
    with h5py.File(trace) as file:
        check(facts.text["gpu0", "driver_version"] == file["provenance/gpu0"].attrs["driver_version"], "a text")
        check(facts.number["gpu0", "multiprocessors"] == 132 and facts.text["gpu0", "multiprocessors"] == "132", "a number")
        check(facts.text["run", "argv"] == file.attrs["argv"], "of the run itself")
        check(len(facts) == len(file.attrs) + sum(len(g.attrs) for g in file["provenance"].values()), "all of them")
    told = json.loads(subprocess.run([PROGRAM, "derive", trace, "--json"], capture_output=True).stdout)
    flat = [(d["device"], p) for d in told["devices"] for p in d["parameters"]]
    table = loaded.parameters
    check(len(flat) == len(table) > 20, f"{len(table)} parameters")
    for (device, p), row in zip(flat, table.itertuples()):
        e = p["estimate"]
        check((device, p["name"], e["unit"], p["verdict"]) == (row.device, row.name, row.unit, row.verdict), f"{p['name']}: words")
        for name in ("value", "low", "high"):
            check(e[name] == getattr(row, name) or e[name] is None and pd.isna(getattr(row, name)), f"{p['name']}: {name}")


def several(folder):
    names = [os.path.join(HERE, "..", "data", "traces", f"h200_run_{x}.h5") for x in "ab"]
    both = npgpu.load(names)
    check(len(both.calls) == sum(len(npgpu.load(n).calls) for n in names) and both.calls.run_uuid.nunique() == 2, "below each other")
    check(npgpu.load(os.path.join(HERE, "..", "data", "traces", "h200_run_[ab].h5")).files == sorted(both.files), "a pattern")
    check(npgpu.load(os.path.join(HERE, "..", "data", "traces")).files == TRACES, "a folder")
    check(all(word in both._repr_html_() for word in ("transfers", f">{len(both.calls)}<", "host")), both._repr_html_()[:300])
    check(repr(both) == "<npgpu.Tables of 2 traces>", repr(both))
    return both


def refusal(ask):
    try:
        ask()
    except npgpu.BadTrace as error:
        return str(error)
    return "nothing refused"


def refusals(folder):
    bad = os.path.join(folder, "bad.h5")
    with open(bad, "w") as file:
        file.write("no trace")
    other = os.path.join(folder, "other.h5")
    h5py.File(other, "w").close()
    check("there is no such trace" in refusal(lambda: npgpu.load(os.path.join(folder, "nosuch*.h5"))), "no file")
    check("no trace was named" in refusal(lambda: npgpu.load([])), "no files")
    check(bad in refusal(lambda: npgpu.load(bad)), "a file that is no HDF5")
    check("is an HDF5 file but not an npgpu trace" in refusal(lambda: npgpu.load(other)), "HDF5 of others")
    for nothing in (None, 3):
        try:
            npgpu.load(nothing)
            check(False, f"load({nothing}) is taken")
        except TypeError as error:
            check("a file, a folder" in str(error), str(error))
    for at, (cut, word) in enumerate([(3000, "is truncated: 3000 of its "), (200000, "is truncated: 200000 of its ")]):
        half = os.path.join(folder, f"half{at}.h5")
        with open(os.path.join(HERE, "..", "data", "traces", "h200_check.h5"), "rb") as whole, open(half, "wb") as file:
            file.write(whole.read()[:cut])
        check(word in refusal(lambda: npgpu.load(half).samples("transfers")) and half in refusal(lambda: npgpu.load(half).facts), f"cut at {cut}")
    # Nobody named these one by one: the others of the folder are read, and each of these is named.
    shutil.copy(TRACES[0], os.path.join(folder, "good.h5"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        some = npgpu.load(os.path.join(folder, "[bghjo]*.h5"))
    check([os.path.basename(name) for name in some.files] == ["good.h5", "job.h5"] and len(some.facts) > 0, f"{some.files}")
    named = [str(one.message) for one in told if one.category is UserWarning]
    check(len(named) == 4 and all(any(name in one for one in named) for name in (bad, other, "half0.h5", "half1.h5")), f"{named}")
    check(bad in refusal(lambda: npgpu.load(os.path.join(folder, "b*.h5"))), "a pattern without a trace")
    wild = os.path.join(folder, "wild.h5")
    shutil.copy(os.path.join(HERE, "..", "data", "traces", "h200_check.h5"), wild)
    with h5py.File(wild, "r+") as file:
        rows = file["transfers/0000/samples"][()]
        rows["visit"][3] = 4000000
        file["transfers/0000/samples"][...] = rows
    check("cannot be read" in refusal(lambda: npgpu.load(wild).samples("transfers")), "a sample without its visit")
    check("is none of" in refusal(lambda: npgpu.load(TRACES[0]).samples("copies")), "no such kind")
    was = os.environ["NPGPU"]
    try:
        os.environ["NPGPU"] = os.path.join(folder, "nosuch")
        said = refusal(lambda: npgpu.load(TRACES[0]).transfers)
        check("cannot run" in said and "nosuch" in said, said)
    finally:
        os.environ["NPGPU"] = was
    # As installed without the program: a sentence that says what to set, and what still works.
    code = ("import npgpu; t = npgpu.load(%r); print(len(t.facts), len(t.samples('transfers')))\n"
            "try: t.transfers\nexcept npgpu.ProgramMissing as e: print(e)" % TRACES[0])
    copy = os.path.join(folder, "lib", "npgpu")
    shutil.copytree(os.path.join(PLOTS, "npgpu"), copy)
    environment = {k: v for k, v in os.environ.items() if k != "NPGPU"}
    environment.update(PATH="/nowhere", PYTHONPATH=os.path.dirname(copy))
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder).stdout
    check(told.startswith(str(len(npgpu.load(TRACES[0]).facts))) and "NPGPU" in told and "facts and samples" in told, told)


def parquet(folder, loaded):
    try:
        import pyarrow.parquet
    except ImportError:
        check("pip install pyarrow" in refusal(lambda: loaded.to_parquet(folder)), "without pyarrow, a sentence")
        print("skipped: Parquet; pyarrow is not installed")
        return
    out = os.path.join(folder, "tables")
    ran = subprocess.run([sys.executable, "-m", "npgpu.parquet", *loaded.files, "-o", out], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [PLOTS, os.environ.get("PYTHONPATH")]))})
    check(ran.returncode == 0 and ran.stdout.count(".parquet") == 6, f"{ran.stdout}{ran.stderr}")
    for name in ("transfers", "calls", "facts", "parameters"):
        path, table = os.path.join(out, f"{name}.parquet"), getattr(loaded, name)
        back = pd.read_parquet(path)
        changed = [c for c in table.columns if not back[c].equals(table[c])]
        check(not changed, f"{name}: read back as it was but for {changed}")
        schema = pyarrow.parquet.read_schema(path)
        check(all(b"unit" in schema.field(c).metadata for c in schema.names), f"{name}: a unit of each column")
    schema = pyarrow.parquet.read_schema(os.path.join(out, "transfers.parquet"))
    check((schema.field("bytes").metadata[b"unit"], schema.field("time_us").metadata[b"unit"]) == (b"B", b"us"), "units")
    check(json.loads(schema.metadata[b"npgpu.units"])["sm_clock_mhz"] == "MHz", "units of the file")
    check(str(schema.field("disturbed_by").type) in ("string", "large_string"), "an empty text column is text")
    try:
        import duckdb
        read = duckdb.sql(f"SELECT max(value) FROM '{out}/transfers.parquet'").fetchall()[0][0]
        check(read == loaded.transfers.value.max(), f"DuckDB reads it: {read}")
    except ImportError:
        print("skipped: duckdb is not installed")
    try:
        import polars
        read = polars.read_parquet(os.path.join(out, "transfers.parquet"))["value"].max()
        check(read == loaded.transfers.value.max(), f"Polars reads it: {read}")
    except ImportError:
        print("skipped: polars is not installed")


with tempfile.TemporaryDirectory(prefix="npgpu-tables-") as scratch:
    for one in TRACES:
        loaded = npgpu.load(one)
        with mock.patch.object(program, "run", functools.cache(program.run)):  # the table and the test read the same text
            is_the_programs_table(one, loaded)
        names_distinguish_cases(one, loaded)
        short_tables_say_all_that_differs(one, loaded)
    runs_of_a_merged_file(scratch)
    facts_and_parameters(os.path.join(HERE, "..", "data", "traces", "h200_rounds.h5"))
    samples_are_the_traces(os.path.join(HERE, "..", "data", "traces", "h200_run_c.h5"))
    refusals(scratch)
    parquet(scratch, several(scratch))
check.finish()
