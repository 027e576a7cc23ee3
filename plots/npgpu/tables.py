"""Traces as data frames: one a kind of measurement, one of facts, one of derived parameters."""
from __future__ import annotations

import concurrent.futures
import functools
import glob
import io
import json
import os
import warnings
from collections.abc import Iterable, Sequence

import h5py  # noqa: F401  # whoever asks for tables is told here that it is missing
import numpy as np
import pandas as pd

from npgpu import program
from npgpu.columns import COUNTS, FACTS, MEASURES, OF_KIND, PARAMETERS, SELDOM, TECHNICAL
from npgpu.program import BadTrace
from npgpu.runs import address, open_run, runs_of

KINDS = ("transfers", "probes", "jobs", "calls", "partitions", "energies", "soaks", "pieces", "collectives", "records")


def flaw_of(path):
    """Why a file is no trace that can be read; None of one that can."""
    try:
        for run in runs_of(path):
            with open_run(run):
                pass
    except BadTrace as refused:
        return refused
    return None


def readable(names, where):
    """Those of a folder's or a pattern's files that are traces. A warning for each of the others: nobody named it."""
    flaws = {name: flaw_of(name) for name in names}
    taken = [name for name in names if flaws[name] is None]
    if not taken:
        raise BadTrace(f"{where}: none of its {len(names)} files can be read: {flaws[names[0]]}")
    for flaw in filter(None, flaws.values()):
        warnings.warn(f"left out: {flaw}", stacklevel=4)
    return taken


def files_of(traces):
    """The files that a path, a folder, a pattern, or a list of these name, in order of their names; job.h5:3 as it is."""
    found = []
    several = [traces] if isinstance(traces, (str, os.PathLike)) else traces
    if not isinstance(several, Iterable):
        raise TypeError(f"load takes a file, a folder, a pattern, or a list of these, and {traces!r} is none")
    for one in map(os.fspath, several):
        if os.path.isdir(one):
            one = os.path.join(glob.escape(one), "*.h5")
        elif os.path.exists(address(one)[0]):
            if flaw := flaw_of(one):
                raise flaw
            found.append(one)
            continue
        names = sorted(glob.glob(one, recursive=True))
        if not names:
            raise BadTrace(f"{one}: there is no such trace")
        found += readable(names, one)
    return list(dict.fromkeys(found))


def kinds_of(path):
    with open_run(path) as file:
        # Lists: an iteration over a group of h5py holds its lock, and an error would leave it held for all threads.
        return [kind for kind in KINDS if any(len(series["visits"]) for series in list(file.get(kind, {}).values()))]


def counts(column):
    """As int64; as uint64 where one is above 2^63."""
    if column.dtype == "uint64" and len(column) and column.max() >= 2**63:
        return column
    try:
        return column.astype("int64")
    except OverflowError:
        return column.astype("uint64")


def typed(table):
    """Counts as int64, measures as float64, the date as UTC, all else as text. The last digit of every number is kept."""
    for name in table.columns:
        if name in COUNTS:
            table[name] = counts(table[name])
        elif name in MEASURES:
            table[name] = table[name].astype("float64")
        elif name == "date":
            table[name] = pd.to_datetime(table[name], utc=True)
        else:
            table[name] = table[name].astype("string")
    return table


def below(tables, columns=()):
    """Tables below each other; a column that some of them lack is empty there."""
    tables = [t for t in tables if len(t)]
    if not tables:
        return typed(pd.DataFrame({name: [] for name in columns}))
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def summary(path, kind):
    """A row a point, by `npgpu export --summary`, whose columns data/TABLES.md describes."""
    text = program.run("export", path, "--table", kind, "--summary")
    return typed(pd.read_csv(io.BytesIO(text), dtype=str, keep_default_na=False, na_values=[""]))


def short(table, kind):
    """Without what few ask for: how a figure was measured, and words and axes that are the same in every row."""
    plain = TECHNICAL.get(kind, TECHNICAL["all"])
    return table[[name for name in table if name not in plain and (name not in SELDOM or table[name].nunique(dropna=False) > 1)]]


def run_of(file):
    return {"run_uuid": file.attrs["run_uuid"], "host": file.attrs["hostname"], "date": file.attrs["start_time_utc"]}


def facts(path):
    """A row a fact: those of the run itself and of /provenance. A number is in `number`, and in `text` as all are."""
    rows = []
    with open_run(path) as file:
        run = run_of(file)

        def add(place, attributes):
            for name, value in attributes.items():
                is_number = isinstance(value, (np.number, int, float))
                text = (f"{value:d}" if isinstance(value, (np.integer, int)) else repr(float(value))) if is_number else str(value)
                rows.append({**run, "place": place, "fact": name, "text": text, "number": float(value) if is_number else np.nan})

        add("run", file.attrs)
        file["provenance"].visititems(lambda place, group: add(place, group.attrs))
    return typed(pd.DataFrame(rows, columns=FACTS))


def parameters(path):
    """A row a parameter of a device, by `npgpu derive`; none of a trace without probes."""
    with open_run(path) as file:
        run = run_of(file)
        if not len(file.get("probes", {})):
            return pd.DataFrame()
    document = json.loads(program.run("derive", path, "--json"))
    rows = [{**run, "device": device["device"], "device_name": device["device_name"], "simulated": int(device["simulated"]),
             **parameter["estimate"], **{name: told for name, told in parameter.items() if name != "estimate"}}
            for device in document["devices"] for parameter in device["parameters"]]
    return typed(pd.DataFrame(rows, columns=PARAMETERS))


# Attributes of a series that are not of its case: how it was measured, and what the driver said of the device.
NOT_OF_CASE = {"schedule", "device_uuid", "device_name", "simulated", "binding", "error", "limit_per_s", "limit_source", "units",
               "lanes", "max_threads_per_block", "max_threads_per_unit", "max_blocks_per_unit", "cache_bytes",
               "near_cache_bytes", "meter", "counts_energy", "power_limit_w", "registers_per_unit", "shared_bytes_per_unit", "shared_bytes_per_block", "shared_bytes_reserved", "memory_bytes", "clock_mhz", "library"}

# What traces of an older minor version lack, and what they mean, as data/TRACE_FORMAT.md says.
USUAL = {"transfers": {"access": "write", "chunk_bytes": 0, "host_node": -1, "beside": "nobody"}, "probes": {"stride": 1, "offset_bytes": 0, "ways": 1, "rung": 0, "m": 0, "n": 0, "k": 0, "panels": 1, "registers": 0, "shared_bytes": 0, "operands": "usual", "intensity": 0, "cluster": 0, "pages": "fixed", "ops": "nn", "alpha": 1, "beta": 0, "host_columns": 0, "sm": 0},
         "jobs": {"issue": "streams"}, "calls": {"beside": "nobody", "function": ""}, "partitions": {}, "energies": {}, "soaks": {}, "pieces": {}, "records": {}, "collectives": {"launch": "eager", "buffers": "plain", "overlap": "none"}}
USUAL_OF_SAMPLES = {"calls": {"slowed": float("nan")},
                    "collectives": {"algorithm": -1, "protocol": -1, "channels": -1, "path": -1}}


def words_of(group, column):
    """The codes of a column, as its attribute has them: "0 trials, 1 converged, ..."."""
    return {int(code): word for code, word in (one.split(" ", 1) for one in group.attrs[f"codes.{column}"].split(", "))}


def time_us(kind, table):
    """What one operation of a trial took in us: by the device's clock where it has a part, else by the host's."""
    if kind == "energies":
        return table["window_us"]
    if kind == "soaks":
        return table["busy_us"]
    if kind == "records":
        return table["end_us"] - table["start_us"]
    if kind == "pieces":
        took = table["done_us"]
    elif kind == "calls":
        took = table["done_us"].where(table["done_us"] > 0, table["host_us"])
    elif kind == "collectives":
        took = table["device_us"].where(table["timing"] != "host", table["host_us"])
    else:
        took = table["device_us"].fillna(table["host_us"]) if "device_us" in table else table["host_us"]
    if "repeats" in table:
        took = took / table["repeats"]
    return took / 2 if kind == "transfers" and (table["pattern"] == "pingpong").all() else took  # one way


def samples(path, kind):
    """A row a trial, as it was measured: the series' case and axes, the visit, the sample; and time_us()."""
    tables = []
    with open_run(path) as file:
        run = run_of(file)
        for number, (_, series) in enumerate(sorted(file.get(kind, {}).items())):
            visits, trials = (pd.DataFrame(series[name][()]) for name in ("visits", "samples"))
            trials = trials.assign(**{name: value for name, value in USUAL_OF_SAMPLES.get(kind, {}).items() if name not in trials})
            visits["stop"] = visits["stop"].map(words_of(series["visits"], "stop"))
            for name in {"operands", "pages", "ops"} & set(visits) if kind == "probes" else ():
                visits[name] = visits[name].map(words_of(series["visits"], name))
            if kind == "pieces":
                visits["way"] = visits["way"].map(words_of(series["visits"], "way"))
            if kind == "soaks":
                trials = trials.assign(**{name: trials[name].map(words_of(series["samples"], name)) for name in ("part", "pattern")})
            visits["disturber"] = visits["disturber"].str.decode("utf-8", "replace")
            table = visits.drop(columns=["first_sample", "samples"]).loc[trials["visit"]].reset_index(drop=True)
            case = {name: value for name, value in series.attrs.items() if name not in NOT_OF_CASE}
            case.update({name: value for name, value in USUAL[kind].items() if name not in case and name not in table})
            front = {**run, "kind": kind, "series": number, **case,
                     **{name: series.attrs[name] for name in ("device_name", "simulated")}}
            one = pd.concat([pd.DataFrame(front, index=table.index), table, trials], axis=1)
            tables.append(one.assign(time_us=time_us(kind, one)))
    return below(tables)


class Tables:
    """Data frames of one trace or of many. Each is made when it is first asked for. A merged file is all of its runs, which
    the column `run_uuid` distinguishes; job.h5:3 is one of them.

    transfers probes jobs calls partitions energies soaks pieces collectives records
                 a row a point (and lane), with the columns that are asked for most; empty where no trace has any
    of_kind(kind)  the same with all columns, as data/TABLES.md describes them
    facts        a row a fact: run_uuid host date place fact text number
    parameters   a row a derived parameter of a device, with its interval, formula and verdict
    samples(kind)  a row a trial, exactly as it was measured; time_us is what one operation took

    Tables of points, and parameters, come from the program npgpu: ProgramMissing says where it was looked for. Facts and
    samples are read from the file itself. BadTrace names a file that is no trace."""

    def __init__(self, files):
        self.files = list(files)
        self._whole = {}

    def __repr__(self):
        return f"<npgpu.Tables of {len(self.files)} trace{'s' if len(self.files) != 1 else ''}>"

    def _repr_html_(self):
        """In a notebook: how many rows each table has, and of which runs."""
        runs = self.facts.drop_duplicates("run_uuid")[["host", "date"]].to_html(index=False)
        rows = "".join(f"<tr><td>{name}</td><td style='text-align:right'>{len(table)}</td></tr>" for name, table in self.frames().items())
        return f"<table><tr><th>table</th><th>rows</th></tr>{rows}</table>{runs}"

    def each(self, make, columns=()):
        """`make` of each file, several at a time: most of the time is the program's."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return below(list(pool.map(make, self.runs)), columns)

    runs = functools.cached_property(lambda self: [run for path in self.files for run in runs_of(path)])

    def of_kind(self, kind: str) -> pd.DataFrame:
        """The table of a kind with all its columns: a row a point (and lane)."""
        if kind not in self._whole:
            self._whole[kind] = self.each(lambda path: summary(path, kind) if kind in kinds_of(path) else pd.DataFrame(), OF_KIND[kind])
        return self._whole[kind]

    transfers = functools.cached_property(lambda self: short(self.of_kind("transfers"), "transfers"))
    probes = functools.cached_property(lambda self: short(self.of_kind("probes"), "probes"))
    jobs = functools.cached_property(lambda self: short(self.of_kind("jobs"), "jobs"))
    calls = functools.cached_property(lambda self: short(self.of_kind("calls"), "calls"))
    partitions = functools.cached_property(lambda self: short(self.of_kind("partitions"), "partitions"))
    energies = functools.cached_property(lambda self: short(self.of_kind("energies"), "energies"))
    soaks = functools.cached_property(lambda self: short(self.of_kind("soaks"), "soaks"))
    pieces = functools.cached_property(lambda self: short(self.of_kind("pieces"), "pieces"))
    collectives = functools.cached_property(lambda self: short(self.of_kind("collectives"), "collectives"))
    records = functools.cached_property(lambda self: short(self.of_kind("records"), "records"))
    facts = functools.cached_property(lambda self: below([facts(path) for path in self.runs], FACTS))
    parameters = functools.cached_property(lambda self: self.each(parameters, PARAMETERS))

    def samples(self, kind: str) -> pd.DataFrame:
        """Every trial of a kind ("transfers", "probes", ...), exactly as it was measured: a row a trial. `time_us` is what one
        operation took, by the device's clock where it has a part."""
        if kind not in KINDS:
            raise BadTrace(f"samples: '{kind}' is none of {', '.join(KINDS)}")
        return below([samples(path, kind) for path in self.runs])

    def frames(self) -> dict[str, pd.DataFrame]:
        """{name: data frame} of all tables that have a row, with all columns, without samples."""
        found = {**{kind: self.of_kind(kind) for kind in KINDS}, "facts": self.facts, "parameters": self.parameters}
        return {name: table for name, table in found.items() if len(table)}

    def to_parquet(self, folder: str | os.PathLike) -> list[str]:
        """Writes a Parquet file a table into the folder, FOLDER/transfers.parquet and so on, and returns their paths. The
        unit of a column is in its metadata, and those of all columns are in the file's, as JSON, under `npgpu.units`."""
        from npgpu import parquet
        return parquet.write(self.frames(), folder)


def load(traces: str | os.PathLike | Sequence[str | os.PathLike]) -> Tables:
    """Tables of a trace, of a folder's or a pattern's traces, or of a list of these. BadTrace where there is none. A file
    that is named has to be a trace; of a folder or a pattern, what cannot be read is left out, with a warning."""
    files = files_of(traces)
    if not files:
        raise BadTrace("load: no trace was named")
    return Tables(files)
