"""Reads npgpu traces for the figures, by `npgpu report --json`: intervals, fits and rates are the program's."""
import argparse
import functools
import json
import os
import sys

import numpy as np

from npgpu import program
from npgpu.program import BadTrace
from npgpu.runs import address, open_run

REPORT, VERSION = "npgpu-report", 3
# Throttle reasons that take clocks away; the rest are choices. As the program has them.
SLOWING = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
# Of the codes of `disturbed` those that are the device's own doing.
THROTTLED, CLOCK_CHANGED = 32, 64
# A curve is named by these words, in this order; words that all curves share go into the title instead.
WORDS = ["trace", "module", "device_name", "device", "direction", "memory", "pattern", "issue", "timing", "cache",
         "executor", "access", "offsets", "binding", "beside", "schedule"]
MACHINE = WORDS[0], WORDS[2], WORDS[3]
# These words are said only where they alone make a curve's name.
USUAL = {"module": ["cudaMemcpy", "memcpy"], "cache": ["warm"], "offsets": ["no offsets"], "binding": ["bound"], "executor": ["copy-engine", "cpu"],
         "access": ["write"], "beside": ["alone"]}
OTHER_FIGURES = {"transfers": "rate, latency, ratios and samples show transfers", "jobs": "fixed and asymmetric show jobs",
                 "probes": "corners, chain, levels, onchip, laws, ladder, gemm and gemm_cores show probes", "calls": "frees shows calls that free memory, and npgpu report all", "energies": "energy shows energies", "soaks": "soak shows soaks", "collectives": "collectives shows collectives",
                 "records": "timeline shows recordings"}


def number(value):
    return np.nan if value is None else float(value)


def usable(estimate):
    """Whether there is a time or a rate: a trace of a broken run may hold 0, negative numbers, or none at all."""
    value = number(estimate["value"])
    return bool(np.isfinite(value) and value > 0)


def numbers(rows, key, part=None):
    """A column of a list of JSON objects; null is NaN."""
    return np.array([number(r[key] if part is None else r[key][part]) for r in rows])


@functools.lru_cache(maxsize=4)
def report_as_of(path, changed):
    return program.run("report", path, "--json")


def report(path):
    """What the program says of a trace, as JSON; asked once for several figures of it."""
    return report_as_of(path, os.stat(address(path)[0]).st_mtime_ns)


def runs_of(path):
    """The runs that a path means: of a merged file each, as job.h5:3, else the path itself."""
    listed = report(path) if is_trace(path) else b""
    if b'"npgpu-runs"' not in listed[:200]:
        return [path]
    return [f"{path}:{run['number']}" for run in json.loads(listed)["runs"]]


def is_trace(path):
    """Whether it is HDF5, not a JSON document."""
    if path == "-":
        return False
    try:
        with open(address(path)[0], "rb") as file:
            return file.read(4) == b"\x89HDF"
    except FileNotFoundError:
        raise BadTrace(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise BadTrace(f"{path}: is a folder") from None
    except OSError as error:
        raise BadTrace(f"{path}: cannot be read: {error.strerror}") from None


def read_json(path, command, content=None):
    """A JSON document that `command` wrote: from a file, from standard input for "-", or `content` itself."""
    if content is None and path == "-":
        content = sys.stdin.buffer.read()
    elif content is None:
        with open(path, "rb") as file:
            content = file.read()
    name = "standard input" if path == "-" else path
    if content.startswith(b"\x89HDF"):
        raise BadTrace(f"{name}: a trace is read from a file, not from a pipe")
    try:
        return name, json.loads(content)
    except ValueError:
        raise BadTrace(f"{name}: is neither a trace nor JSON; '{command}' writes what this figure reads") from None


def check_document(name, document, kind, version, command):
    if not isinstance(document, dict) or document.get("document") != kind:
        raise BadTrace(f"{name}: is JSON, but not what '{command}' writes")
    if document.get("version") != version:
        raise BadTrace(f"{name}: has version {document.get('version')} of its format; this figure reads {version}")


class Curve:
    """One lane of a series of transfers, or all lanes together: arrays over its sizes. Times in us, of one operation,
    one way; rates in bytes per second."""

    def __init__(self, series, words, lane, lanes):
        points = [p for p in lane["points"] if usable(p["time_us"])]
        self.series = series
        self.words = words
        self.lane = lane["lane"]
        self.lanes = lanes  # that it is made of
        self.bytes = numbers(points, "bytes")
        self.perturbed = np.array([p["perturbed"] for p in points], dtype=bool)
        self.stop = [p["stop"] for p in points]
        self.us, self.low_us, self.high_us = (numbers(points, "time_us", k) for k in ("value", "low", "high"))
        self.min_us = numbers(points, "min_us")
        self.rate, self.low_rate, self.high_rate = (numbers(points, "rate_bytes_per_s", k) for k in ("value", "low", "high"))
        percent = numbers(points, "percent_of_limit")
        # All points have the same limit.
        self.limit = next((100 * r / p for r, p in zip(self.rate, percent) if p > 0), np.nan)
        fit = lane["curve"]
        self.fit_us, self.fit_rate = number(fit["fit_latency_us"]["value"]), number(fit["fit_rate_bytes_per_s"]["value"])
        self.fit_residual = number(fit["fit_worst_residual"])


class Series:
    """One case of any kind over its points, as the report has it."""

    def __init__(self, trace, kind, index, document):
        self.trace, self.kind, self.index, self.document = trace, kind, index, document
        self.case = document["case"]
        self.title = document["title"]
        self.simulated = document["simulated"]
        ends = [self.case.get("source"), self.case.get("target")]
        self.device = self.case.get("device") or next((e for e in ends if e != "host"), "host")
        self.device_name = document["device_name"] or self.device
        self.points = document.get("points", [])

    def words(self):
        """Of a series of transfers."""
        case = self.case
        offsets = (case["source_offset_bytes"], case["target_offset_bytes"])
        # Pairs of GPUs are as many devices as there are pairs.
        device = f"{case['source']} to {case['target']}" if case["direction"] == "peer" else self.device
        return {"trace": self.trace.name, "device_name": self.device_name, "device": device,
                **{w: case[w] for w in ("module", "direction", "memory", "pattern", "timing", "cache", "executor")},
                "access": case.get("access", "write"),
                "issue": "async" if case["async"] else "blocking",
                "offsets": USUAL["offsets"][0] if offsets == (0, 0) else f"offsets {offsets[0]}/{offsets[1]}",
                "binding": "bound" if case["bind"] else "unbound",
                "beside": f"beside {case['beside']}" if case.get("beside", "nobody") != "nobody" else USUAL["beside"][0],
                "schedule": (self.document["schedule"].split() or [""])[0]}

    def curves(self):
        """Its measured lanes; then, of several, all together."""
        words, lanes = self.words(), self.document["lanes"]
        if len(lanes) == 1:
            return [Curve(self, words, lanes[0], 1)]
        return ([Curve(self, {**words, "direction": lane["name"]}, lane, 1) for lane in lanes] +
                [Curve(self, {**words, "direction": self.document["together"]["name"]}, self.document["together"], len(lanes))])


class Trace:
    def __init__(self, path, name=None):
        self.path = path
        self.name = name or str(path)
        command = "npgpu report TRACE --json"
        self.holds_samples = is_trace(path)
        runs = runs_of(path)
        if len(runs) > 1:
            raise BadTrace(f"{path}: holds {len(runs)} runs: name one of {runs[0]} to {runs[-1]}")
        where, document = read_json(path, command, report(path) if self.holds_samples else None)
        check_document(where, document, REPORT, VERSION, command)
        try:
            self.hostname = document["run"]["hostname"]
            self.kinds = {kind: [Series(self, kind, i, s) for i, s in enumerate(document.get(kind, []))]
                          for kind in OTHER_FIGURES}
        except (KeyError, TypeError, AttributeError) as error:
            raise BadTrace(f"{where}: lacks what a figure needs ({error}); it is of another npgpu") from None

    def choose(self, kind, cases):
        """The series of this kind that `cases` names: [(kind, [index] or None)], or all of them for None."""
        have = self.kinds[kind]
        if not have:
            others = [f"{OTHER_FIGURES[k]}, which it holds" for k, series in self.kinds.items() if series]
            raise BadTrace(f"{self.path}: holds no {kind}" + (f" ({'; '.join(others)})" if others else ""))
        if cases is None:
            return have
        chosen = []
        for named, indices in cases:
            if named != kind:
                raise BadTrace(f"--case: this figure shows {kind}, not {named}")
            for i in range(len(have)) if indices is None else indices:
                if i >= len(have):
                    raise BadTrace(f"{self.path}: has no {kind}:{i}; it has\n" +
                                   "\n".join(f"  {kind}:{s.index:<4} {s.title}" for s in have))
                if have[i] not in chosen:
                    chosen.append(have[i])
        return chosen


def case_of(word):
    """--case transfers:0,3"""
    kind, _, indices = word.partition(":")
    try:
        if kind in OTHER_FIGURES:
            chosen = [int(i) for i in indices.split(",")] if indices else None
            if all(i >= 0 for i in chosen or []):
                return kind, chosen
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{word}' names no series (transfers, or transfers:0,3)")


def paths_of(trace):
    """One path, or several."""
    return [os.fspath(p) for p in ([trace] if isinstance(trace, (str, os.PathLike)) else trace)]


def first(trace):
    return paths_of(trace)[0]


def load(trace, kind, cases=None):
    """The chosen series of a kind of one file or several; `cases`: "transfers:0,3", or a list of such. Traces are named by
    their file names, by whole paths where these are equal."""
    paths = [run for path in paths_of(trace) for run in runs_of(path)]
    cases = [cases] if isinstance(cases, str) else cases
    try:
        cases = cases and [case_of(c) if isinstance(c, str) else c for c in cases]
    except argparse.ArgumentTypeError as error:
        raise BadTrace(f"case: {error}") from None
    names = [os.path.basename(str(p)).replace(".h5:", ":").removesuffix(".h5").removesuffix(".json") for p in paths]
    if len(set(names)) < len(names):
        names = [str(p) for p in paths]
    return [s for p, n in zip(paths, names) for s in Trace(p, n).choose(kind, cases)]


def curves_of(series):
    """Their curves that have at least one point with a time."""
    curves = [c for s in series for c in s.curves() if np.any(c.us > 0)]
    if not curves:
        raise BadTrace(f"{series[0].trace.path}: holds no usable point in {'this series' if len(series) == 1 else 'these series'}")
    return curves


class Visit:
    """A row of a trace's `visits`, with the rows of `samples` that are its own."""

    def __init__(self, row, samples):
        self.row, self.samples = row, samples[int(row["first_sample"]):][:int(row["samples"])]
        self.causes = int(row["disturbed"]) | (THROTTLED if int(row["throttle_reasons"]) & SLOWING else 0)


class Point:
    """The visits to one point, in order of time."""

    def __init__(self, axes):
        self.axes, self.visits = axes, []

    def counted(self):
        """Those that its figures rest on: the undisturbed ones; else those that nobody else disturbed; else all. Each only
        where they are at least half."""
        for ignored in (0, THROTTLED | CLOCK_CHANGED):
            some = [v for v in self.visits if not v.causes & ~ignored]
            if 2 * len(some) >= len(self.visits):
                return some
        return self.visits


def points_of(group):
    """The points of a series in a trace, as h5py has it, in the order in which they were first visited."""
    visits, samples = group["visits"][()], group["samples"][()]
    axes = visits.dtype.names[:visits.dtype.names.index("round")]
    found = {}
    for row in visits:
        key = tuple(row[name].item() for name in axes)
        found.setdefault(key, Point(dict(zip(axes, key)))).visits.append(Visit(row, samples))
    return list(found.values())


def samples_of(curve):
    """For each size of a lane its visits with usable trials, from the trace itself: [(times of one operation in us, in
    the order of the trials; whether the visit counts)]."""
    series = curve.series
    if not series.trace.holds_samples:
        raise BadTrace(f"{series.trace.path}: is a report, which holds no samples; name the trace itself")
    try:
        with open_run(series.trace.path) as run:
            points = points_of(run[series.kind][sorted(run[series.kind])[series.index]])
    except ImportError:
        raise BadTrace("samples are read with h5py (Debian: python3-h5py; or pip install h5py)") from None
    column = "host_us" if series.case["timing"] == "host" else "device_us"
    legs = 2 if series.case["pattern"] in ("pingpong", "flag") else 1
    found = {}
    for point in points:
        counted = point.counted()
        visits = found[point.axes["bytes"]] = []
        for visit in point.visits:
            rows = visit.samples
            rows = rows[(rows["lane"] == curve.lane) & np.isfinite(rows[column]) & (rows["repeats"] > 0)]
            if len(rows):
                visits.append((rows[column] / (rows["repeats"] * legs), visit in counted))
    return [found[int(n)] for n in curve.bytes]


def identity(word_lists):
    """The fewest of trace, device name and device that distinguish the curves' machines."""
    full = {(w["trace"], w["device_name"], w["device"]) for w in word_lists}
    if len(full) == 1:
        return []
    for few in (["device_name"], ["device"], ["trace"], ["trace", "device_name"], ["trace", "device"]):
        if len({tuple(w[f] for f in few) for w in word_lists}) == len(full):
            return few
    return ["trace", "device_name", "device"]


def varying(word_lists):
    """The words in which they differ, and of the machine those that distinguish it."""
    named = identity(word_lists)
    return [w for w in WORDS if (w in named if w in MACHINE else len({words[w] for words in word_lists}) > 1)]


def text_of(words, chosen):
    """Without the usual ones."""
    return " ".join(words[w] for w in chosen if words[w] and words[w] not in USUAL.get(w, ()))


def shared_and_own(word_lists):
    """The words that all have in common, as a text, and for each list the words in which it differs."""
    differ = varying(word_lists)
    # The title names devices; a common schedule is of no interest.
    unsaid = {"trace", "device_name", "schedule"} | ({"device"} if set(MACHINE) & set(differ) else set())
    module = word_lists[0]["module"] if "module" not in differ else ""
    shared = text_of(word_lists[0], [w for w in WORDS if w not in differ and w not in unsaid and w != "module"])
    return f"{module} {shared}".strip(), [text_of(words, differ) or " ".join(words[w] for w in differ) for words in word_lists]


def named_in_panels(panels):
    """Of lists of words by panel, each panel of one direction and pattern: the words that all have in common; for each panel
    those that its own have besides but what the title says, and of each of these the words in which it differs within the panel."""
    shared, _ = shared_and_own([words for panel in panels for words in panel])
    differ = varying([words for panel in panels for words in panel])
    title = {*MACHINE, *(("direction", "pattern") if len(panels) > 1 else ())}
    return shared, [(text_of(panel[0], [w for w in differ if w not in title and w not in varying(panel)]), shared_and_own(panel)[1])
                    for panel in panels]
