"""Reads jobs in streams for the figures: with the models' times from what `npgpu predict TRACE --evaluate --every-job
--json` writes, or what was measured alone from a trace."""
import argparse
import json
import sys

import numpy as np

import loader

COMMAND = "npgpu predict TRACE --evaluate --every-job --json"
DOCUMENT, VERSION = "npgpu-evaluation", 1


class Workload:
    """One job over the numbers of streams that it was cut into. Times in us, NaN where nobody tells."""

    def __init__(self, words, points, stages=(np.nan, np.nan, np.nan), scored=False):
        self.kernel, self.order, self.pool = (words[w] for w in ("workload", "order", "pool"))
        self.bytes_in, self.bytes_out = int(words["bytes_in"]), int(words["bytes_out"])
        self.iterations, self.threads = int(words["iterations"]), int(words["threads"])
        self.n, self.low_us, self.us, self.high_us = np.array(sorted(points), dtype=float).reshape(-1, 4).T
        self.h2d_us, self.kernel_us, self.d2h_us = stages  # one after the other and alone, unsplit
        self.scored = scored
        self.predicted_us = {}  # by model or hypothesis: as n
        self.choices = {}       # by model: (regret, whether it is within the noise of the best)

    @property
    def uncut_us(self):
        return self.us[0] if self.n[0] == 1 else np.nan

    def sizes(self):
        return self.bytes_in, self.bytes_out


class Workloads:
    """All of a device, in the order in which they come; `models` in the program's order, from a trace none."""

    def __init__(self, path, device_name, simulated, hostname, all_of_them, models):
        self.path = path
        self.device_name = device_name
        self.simulated = simulated
        self.trace = argparse.Namespace(hostname=hostname)  # as figure.title_of asks for it
        self.all = all_of_them
        self.models = models

    def scored(self):
        """Those by which models are scored; BadTrace where there is none."""
        if not self.models:
            raise loader.BadTrace(f"{self.path}: is a trace, which holds no predictions; '{COMMAND}' writes them")
        found = [w for w in self.all if w.scored]
        if not found:
            raise loader.BadTrace(f"{self.path}: holds no workload with its unsplit job and three cuts in streams that are there")
        return found


def options(description, default, trace_too=False):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("evaluation", help=f"what '{COMMAND}' writes; -: from a pipe"
                        + ("; or a trace (.h5), for the measured times alone" if trace_too else ""))
    parser.add_argument("-o", "--output", default=default, help=f"picture: .png, .svg or .pdf (default {default})")
    return parser


def options_of_columns(description, default):
    """Of figures that show some jobs of an evaluation, or of a trace, in columns."""
    parser = options(description, default, trace_too=True)
    parser.add_argument("--kernel", choices=["increment", "memory", "compute"], help="only jobs with this kernel")
    parser.add_argument("--pool", choices=["pooled", "fresh"], help="only in streams that are there, or made for the job")
    return parser


def number(value):
    return np.nan if value is None else float(value)


def from_document(path, document):
    if not isinstance(document, dict) or document.get("document") != DOCUMENT:
        raise loader.BadTrace(f"{path}: is JSON, but not what '{COMMAND}' writes")
    if document.get("version") != VERSION:
        raise loader.BadTrace(f"{path}: has version {document.get('version')} of its format; this script reads {VERSION}")
    found = []
    try:
        for key in ("workloads", "others"):
            for w in document[key]:
                points = [(p["streams"], number(p["low_us"]), p["measured_us"], number(p["high_us"])) for p in w["points"]]
                order = np.argsort([p["streams"] for p in w["points"]])
                one = Workload(w, points, (number(w["h2d_us"]), number(w["kernel_us"]), number(w["d2h_us"])), key == "workloads")
                for name, told in [(m["model"], m) for m in w["models"]] + [(h["hypothesis"], h) for h in w["hypotheses"]]:
                    one.predicted_us[name] = np.array([number(t) for t in told["predicted_us"]])[order]
                one.choices = {m["model"]: (number(m["regret"]), bool(m["hit"])) for m in w["models"]}
                found.append(one)
        return Workloads(path, document["device_name"], document["simulated"], "", found,
                         [m["model"] for m in document["models"]])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise loader.BadTrace(f"{path}: lacks what this figure needs ({error}); this '{COMMAND}' is of another npgpu") from None


def from_trace(path):
    trace = loader.Trace(path)
    if not trace.streams:
        raise loader.BadTrace(f"{path}: holds no jobs in streams (npgpu streams)")
    device = trace.streams[0].case["device"]
    found = {}
    for jobs in trace.streams:
        if jobs.case["device"] != device or jobs.gated != loader.OPEN or jobs.case["order"] == "apart" or jobs.case["workload"] == "none":
            continue
        for point in jobs.points:
            us = jobs.us(point)
            copies = int(point["bytes_in"]) + int(point["bytes_out"])
            if us is None or point["chunks"] != point["streams"] or not point["kernel_bytes"] or not copies:
                continue
            own = {w: int(point[w]) for w in ("bytes_in", "bytes_out", "kernel_bytes", "iterations", "threads")}
            words = {**jobs.case, **own}
            found.setdefault(tuple(words.items()), (words, []))[1].append((int(point["chunks"]), *us))
    return Workloads(path, trace.streams[0].device_name, trace.streams[0].simulated,
                     "" if trace.streams[0].simulated else trace.hostname, [Workload(*w) for w in found.values()], [])


def load(path):
    try:
        if path == "-":
            content = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                content = file.read()
    except FileNotFoundError:
        raise loader.BadTrace(f"{path}: there is no such file") from None
    except OSError as error:
        raise loader.BadTrace(f"{path}: cannot be read: {error.strerror}") from None
    name = "standard input" if path == "-" else path
    if content.startswith(b"\x89HDF"):
        if path == "-":
            raise loader.BadTrace(f"{name}: a trace is read from a file, not from a pipe")
        return from_trace(path)
    try:
        document = json.loads(content)
    except ValueError:
        raise loader.BadTrace(f"{name}: is neither a trace nor JSON; '{COMMAND}' writes what this script reads") from None
    return from_document(name, document)
