"""Reads npgpu traces (data/TRACE_FORMAT.md) for the figures. h5py and numpy, nothing else."""
import math
import sys

import numpy as np

try:
    import h5py
except ImportError:
    sys.exit("plots need h5py, numpy and matplotlib (Debian: python3-h5py python3-matplotlib)")

MAJOR = 1
STOPS = ["trials", "narrowed", "not-converged"]
BACK = {"h2d": "d2h", "d2h": "h2d"}
# What a curve is called by, in this order; words that all curves share go into the title instead.
WORDS = ["trace", "module", "device_name", "device", "direction", "memory", "pattern", "issue", "timing", "cache",
         "offsets", "bound", "schedule"]


class BadTrace(Exception):
    """One sentence that names the file."""


def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def median_interval(values, level=0.95):
    """Nonparametric interval of the median from order statistics; (nan, nan) where there are too few values."""
    ordered = np.sort(values)
    n = len(ordered)
    tail = (1 - level) / 2
    below, rank = 0.0, 0  # the largest rank r with P(at most r-1 values below the median) <= tail
    for k in range(n):
        below += math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))
        if below > tail:
            break
        rank = k + 1
    return (ordered[rank - 1], ordered[n - rank]) if rank else (np.nan, np.nan)


def is_centre(n):
    """2^k or 1.5*2^k."""
    return n & (n - 1) == 0 or (n % 3 == 0 and (n // 3) & (n // 3 - 1) == 0)


def perturbed(sizes):
    """Which of these sizes are the neighbours c-p and c+p of a centre c: as in the program's report, p is the commonest
    distance of sizes that are no centre to the next one."""
    centres = [n for n in sizes if is_centre(n)]
    others = [n for n in sizes if not is_centre(n)]
    distances = [min((abs(n - c) for c in centres), default=0) for n in others]
    counts = {d: distances.count(d) for d in sorted(distances)}
    p = max(counts, key=counts.get, default=0)
    if p == 0 or counts[p] < 2:
        return np.zeros(len(sizes), dtype=bool)
    have = set(centres)
    return np.array([not is_centre(n) and (n - p in have or n + p in have) for n in sizes])


class Curve:
    """One lane of a sweep, or both lanes of a duplex together: a time for every size, with its trials."""

    def __init__(self, sweep, words, trials, copies):
        self.sweep = sweep
        self.words = words
        self.copies = copies  # how many copies of `bytes` one operation makes
        self.trials = trials  # [(bytes, stop, times of one operation in us, one a trial)], by size
        self.bytes = np.array([t[0] for t in trials], dtype=float)
        self.perturbed = perturbed([t[0] for t in trials])
        self.stop = np.array([t[1] for t in trials])
        self.us = np.array([np.median(t[2]) for t in trials])
        self.min_us = np.array([np.min(t[2]) for t in trials])
        low_high = [median_interval(t[2]) for t in trials]
        self.low_us = np.array([b[0] for b in low_high])
        self.high_us = np.array([b[1] for b in low_high])

    def rate(self, us):
        """Bytes per second at those times."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(us > 0, self.copies * self.bytes / (us * 1e-6), np.nan)

    @property
    def limit(self):
        """Bytes per second that this curve cannot pass; NaN if unknown. One memory serves both directions of a copy
        inside it, a link has its rate each way."""
        shared = self.sweep.case["direction"] in ("d2d", "h2h")
        return self.sweep.limit * (1 if shared else self.copies)

    def fit(self):
        """(t0 in us, bytes per second) of time = t0 + bytes/rate, least squares on relative residuals; neither is
        negative. NaN for what these sizes do not tell."""
        use = self.us > 0
        t, b = self.us[use], self.copies * self.bytes[use]
        if len(np.unique(b)) < 2:
            return np.nan, np.nan
        a = np.stack([1 / t, b / t], axis=1)
        scale = np.linalg.norm(a, axis=0)
        t0, slope = np.linalg.lstsq(a / scale, np.ones(len(t)), rcond=None)[0] / scale
        if slope * b.max() <= 1e-9 * t.max():
            return float(a[:, 0].sum() / (a[:, 0] ** 2).sum()), np.nan
        if t0 < 0:
            t0, slope = np.nan, a[:, 1].sum() / (a[:, 1] ** 2).sum()
        return float(t0), float(1e6 / slope)


def table(group, name, where, columns):
    """The rows of a table that has these columns."""
    if name not in group or not isinstance(group[name], h5py.Dataset):
        raise BadTrace(f"{where} has no table '{name}'")
    rows = group[name][()]
    for column in columns:
        if column not in (rows.dtype.names or ()):
            raise BadTrace(f"{where}: table '{name}' has no column '{column}'")
    return rows


class Sweep:
    """One case over its sizes, with its rows as numpy arrays."""

    def __init__(self, trace, number, group):
        self.trace = trace
        self.number = number
        where = f"{trace.path}: sweep {number}"

        def attribute(name, otherwise=None):
            if name in group.attrs:
                return group.attrs[name]
            if otherwise is None:
                raise BadTrace(f"{where} has no attribute '{name}'")
            return otherwise

        self.case = {n: text(attribute(n)) for n in ("module", "device", "pattern", "direction", "memory", "timing",
                                                     "cache")}
        self.simulated = bool(attribute("simulated", 0))
        self.device_name = text(attribute("device_name", "")) or self.case["device"]
        self.limit = float(attribute("limit_bytes_per_s", math.nan))
        self.limit_source = text(attribute("limit_source", "unknown"))
        offsets = (int(attribute("source_offset_bytes", 0)), int(attribute("target_offset_bytes", 0)))
        self.words = {
            "trace": trace.name,
            "device_name": self.device_name,
            **self.case,
            "cache": "" if self.case["cache"] == "warm" else self.case["cache"],
            "issue": "async" if attribute("async", 0) else "blocking",
            "offsets": "" if offsets == (0, 0) else f"offsets {offsets[0]}/{offsets[1]}",
            "bound": "" if attribute("bind", 1) else "unbound",
            "schedule": (text(attribute("schedule", "")).split() or [""])[0],
        }
        self.points = table(group, "points", where, ["bytes", "first_sample", "samples", "stop"])
        self.samples = table(group, "samples", where, ["trial", "lane", "intact", "repeats", "host_us", "device_us"])

    @property
    def title(self):
        return " ".join([self.words[w] for w in ("module", "device", "direction", "memory", "pattern", "issue", "timing")])

    def curves(self):
        """Its lanes; of a duplex, both together too."""
        lanes = 2 if self.case["pattern"] == "duplex" else 1
        legs = 2 if self.case["pattern"] == "pingpong" else 1
        column = "host_us" if self.case["timing"] == "host" else "device_us"
        one = [[] for _ in range(lanes)]
        both = []
        for point in np.sort(self.points, order="bytes"):
            rows = self.samples[int(point["first_sample"]):int(point["first_sample"]) + int(point["samples"])]
            usable = rows[np.isfinite(rows[column]) & (rows[column] >= 0) & (rows["repeats"] > 0)]
            size, stop = int(point["bytes"]), int(point["stop"])
            for lane in range(lanes):
                # A payload that arrived wrong has no time.
                if np.any(rows["intact"][rows["lane"] == lane] == 0):
                    continue
                mine = usable[usable["lane"] == lane]
                if len(mine):
                    one[lane].append((size, stop, mine[column] / (mine["repeats"] * legs)))
            if lanes == 2 and not np.any(rows["intact"] == 0):
                pairs = {}
                for row in usable[usable["lane"] < 2]:
                    pairs.setdefault(int(row["trial"]), []).append(row)
                times = [max(r[column] for r in p) * 2 / sum(int(r["repeats"]) for r in p)
                         for p in pairs.values() if len(p) == 2]
                if times:
                    both.append((size, stop, np.array(times)))
        direction = self.case["direction"]
        if lanes == 1:
            return [Curve(self, self.words, one[0], 1)]
        back = BACK.get(direction, direction + " back")
        return [Curve(self, {**self.words, "direction": direction}, one[0], 1),
                Curve(self, {**self.words, "direction": back}, one[1], 1),
                Curve(self, {**self.words, "direction": "both"}, both, 2)]


class Probe:
    """One case of a probe over its shapes."""

    def __init__(self, trace, number, group):
        self.trace = trace
        self.number = number
        where = f"{trace.path}: probe {number}"

        def attribute(name):
            if name not in group.attrs:
                raise BadTrace(f"{where} has no attribute '{name}'")
            return group.attrs[name]

        self.case = {n: text(attribute(n)) for n in ("probe", "device", "operation", "type", "form", "space")}
        self.simulated = bool(group.attrs.get("simulated", 0))
        self.device_name = text(group.attrs.get("device_name", "")) or self.case["device"]
        self.units = int(group.attrs.get("units", 0))
        self.peak = float(group.attrs.get("peak_per_s", math.nan))
        self.points = table(group, "points", where, ["blocks", "threads", "ilp", "access_bytes", "bytes", "one_block_per_sm", "work",
                                                     "first_sample", "samples", "stop"])
        self.samples = table(group, "samples", where, ["intact", "repeats", "host_us", "device_us", "cycles"])

    def each(self, point):
        """Time and cycles of one repeat at this point: two arrays of (low, median, high), the times in us. Nothing
        where the results were wrong or no trial has a time."""
        rows = self.samples[int(point["first_sample"]):int(point["first_sample"]) + int(point["samples"])]
        if np.any(rows["intact"] == 0):
            return None
        us = np.where(np.isfinite(rows["device_us"]), rows["device_us"], rows["host_us"])
        usable = np.isfinite(us) & (us > 0) & (rows["repeats"] > 0)
        if not usable.any():
            return None

        def three(values):
            low, high = median_interval(values)
            return np.array([low, np.median(values), high])

        repeats = rows["repeats"][usable]
        return three(us[usable] / repeats), three(rows["cycles"][usable] / repeats)


OPEN, GATED, ONE_FREE = range(3)  # what 'gated' of jobs in streams says


class Jobs:
    """One case of jobs in streams, over its jobs."""

    def __init__(self, trace, number, group):
        self.trace = trace
        self.number = number
        where = f"{trace.path}: jobs {number}"
        for name in ("device", "workload", "order", "pool"):
            if name not in group.attrs:
                raise BadTrace(f"{where} has no attribute '{name}'")
        self.case = {n: text(group.attrs[n]) for n in ("device", "workload", "order", "pool")}
        self.gated = int(group.attrs.get("gated", OPEN))
        if self.gated not in (OPEN, GATED, ONE_FREE):
            raise BadTrace(f"{where}: 'gated' is {self.gated}, none of 0 to 2")
        self.simulated = bool(group.attrs.get("simulated", 0))
        self.device_name = text(group.attrs.get("device_name", "")) or self.case["device"]
        self.points = table(group, "points", where, ["bytes_in", "bytes_out", "kernel_bytes", "iterations", "chunks",
                                                     "streams", "threads", "first_sample", "samples"])
        self.samples = table(group, "samples", where, ["intact", "host_us", "device_us"])

    def us(self, point):
        """(low, median, high) of a whole job, by the host's clock, by the device's where all was gated. Nothing where
        its results were wrong or no trial has a time."""
        rows = self.samples[int(point["first_sample"]):int(point["first_sample"]) + int(point["samples"])]
        times = rows["device_us" if self.gated == GATED else "host_us"]
        times = times[np.isfinite(times)]
        if np.any(rows["intact"] == 0) or not len(times):
            return None
        low, high = median_interval(times)
        return low, float(np.median(times)), high


class Trace:
    def __init__(self, path, name=None):
        self.path = path
        self.name = name or str(path)
        try:
            file = h5py.File(path, "r")
        except FileNotFoundError:
            raise BadTrace(f"{path}: there is no such file") from None
        except IsADirectoryError:
            raise BadTrace(f"{path}: is a folder") from None
        except OSError:
            raise BadTrace(f"{path}: is no HDF5 file, or it is damaged") from None
        with file:
            if text(file.attrs.get("schema_name", "")) != "npgpu-trace":
                raise BadTrace(f"{path}: is HDF5, but no npgpu trace")
            version = text(file.attrs.get("schema_version", ""))
            if not version.split(".")[0].isdigit() or int(version.split(".")[0]) > MAJOR:
                raise BadTrace(f"{path}: has format version '{version}'; this script reads {MAJOR}.x")
            self.hostname = text(file.attrs.get("hostname", ""))
            self.start = text(file.attrs.get("start_time_utc", ""))
            self.complete = bool(file.attrs.get("complete", 0))
            try:
                sweeps = file["sweeps"] if "sweeps" in file else {}
                self.sweeps = [Sweep(self, i, sweeps[n]) for i, n in enumerate(sorted(sweeps))]
                probes = file["probes"] if "probes" in file else {}
                self.probes = [Probe(self, i, probes[n]) for i, n in enumerate(sorted(probes))]
                streams = file["streams"] if "streams" in file else {}
                self.streams = [Jobs(self, i, streams[n]) for i, n in enumerate(sorted(streams))]
            except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
                raise BadTrace(f"{path}: cannot be read: {error}") from None

    def choose(self, numbers):
        """The sweeps with these numbers, all of them for None."""
        if not self.sweeps and self.probes:
            raise BadTrace(f"{self.path}: holds probes only, and this figure is of transfers; corners.py and levels.py show probes")
        if not self.sweeps and self.streams:
            raise BadTrace(f"{self.path}: holds no transfers, of which this figure is; fixed.py and asymmetric.py show jobs in streams")
        if numbers is None:
            return self.sweeps
        for n in numbers:
            if not 0 <= n < len(self.sweeps):
                have = "\n".join(f"{s.number:4}  {s.title}" for s in self.sweeps)
                raise BadTrace(f"{self.path}: has no sweep {n}; it has\n{have}")
        return [self.sweeps[n] for n in numbers]


def load(paths, numbers=None):
    """All sweeps of all files; the traces are told apart by as much of their names as that takes."""
    names = [str(p).rsplit("/", 1)[-1].removesuffix(".h5") for p in paths]
    if len(set(names)) < len(names):
        names = [str(p) for p in paths]
    sweeps = [s for p, n in zip(paths, names) for s in Trace(p, n).choose(numbers)]
    if not sweeps:
        raise BadTrace(f"{paths[0]}: holds no sweep")
    return sweeps


def probes_of(paths, wanted, what):
    """All probes of all files that are wanted; BadTrace says what is lacking where there is none."""
    probes = [p for path in paths for p in Trace(path, str(path).rsplit("/", 1)[-1].removesuffix(".h5")).probes if wanted(p)]
    if not probes:
        raise BadTrace(f"{paths[0]}: holds no {what}")
    return probes


def curves_of(sweeps):
    """Their curves that have at least one point."""
    curves = [c for s in sweeps for c in s.curves() if len(c.bytes)]
    if not curves:
        raise BadTrace(f"{sweeps[0].trace.path}: holds no usable point in {'this sweep' if len(sweeps) == 1 else 'these sweeps'}")
    return curves


def identity(word_lists):
    """The fewest of trace, device name and device that tell the curves' machines apart."""
    full = {(w["trace"], w["device_name"], w["device"]) for w in word_lists}
    if len(full) == 1:
        return []
    for few in (["device_name"], ["device"], ["trace"], ["trace", "device_name"], ["trace", "device"]):
        if len({tuple(w[f] for f in few) for w in word_lists}) == len(full):
            return few
    return ["trace", "device_name", "device"]


def shared_and_own(word_lists):
    """What all have in common, as a text, and for each what sets it apart."""
    machine = ("trace", "device_name", "device")
    told = identity(word_lists)
    varying = [w for w in WORDS if (w in told if w in machine else len({words[w] for words in word_lists}) > 1)]
    # The title names devices; a schedule in common is of no interest here.
    unsaid = {"trace", "device_name", "schedule"} | ({"device"} if told else set())
    shared = " ".join(word_lists[0][w] for w in WORDS if w not in varying and w not in unsaid and word_lists[0][w])
    own = [" ".join(words[w] for w in varying if words[w]) for words in word_lists]
    return shared, own
