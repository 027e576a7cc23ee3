"""Reads jobs in streams for the figures: measured and predicted times from what `python -m npgpu.study TRACE
--json` writes, or measured times alone from a trace."""
import argparse

import numpy as np

from npgpu.plots import figure, loader
from npgpu.study import scores

# A model has one colour in all figures.
MODEL_COLORS = dict(zip(("simulator", "c.c. 1.x corrected", "c.c. 2.x", "van Werkhoven 2014", "Veneva & Imamura 2025"), figure.COLORS))
COMMAND = "python -m npgpu.study TRACE --json"


class Workload:
    """One job over the numbers of streams that it was split into. Times in us, NaN where unknown."""

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
    def unsplit_us(self):
        return self.us[0] if self.n[0] == 1 else np.nan

    def sizes(self):
        return self.bytes_in, self.bytes_out


class Workloads:
    """All of a device, in the order in which they come; `models` in the study's order, from a trace none."""

    def __init__(self, path, device_name, simulated, hostname, all_of_them, models):
        self.path = path
        self.device_name = device_name
        self.simulated = simulated
        self.trace = argparse.Namespace(hostname=hostname)  # as figure.title_of asks for it
        self.all = all_of_them
        self.models = models

    def scored(self):
        """Those by which models are scored; BadTrace where there is none."""
        found = [w for w in self.all if w.scored]
        if not found:
            raise loader.BadTrace(f"{self.path}: holds no workload with its unsplit job and three splits in streams that are there")
        return found


def options(text, default, alone=False):
    parser = argparse.ArgumentParser(description=figure.about(text))
    parser.add_argument("trace", help=f"npgpu trace (.h5){', of which measured times alone are drawn' if alone else ''}; or what "
                        f"'{COMMAND}' wrote (-: from a pipe)")
    if not alone:
        parser.add_argument("--measured", metavar="TRACE", help="trace of the measured jobs, if it is another one")
    return figure.look(parser, default)


def options_of_columns(text, default):
    """Of figures that show some jobs of an evaluation, or of a trace, in columns."""
    parser = options(text, default, alone=True)
    parser.add_argument("--kernel", choices=["increment", "memory", "compute"], help="only jobs with this kernel")
    parser.add_argument("--pool", choices=["pooled", "fresh"], help="only in streams that are there, or made for the job")
    parser.add_argument("--sizes", type=sizes, metavar="IN,OUT",
                        help="only jobs of these bytes in and out (60MiB,60MiB); default: those with most times")
    return parser


def sizes(word):
    parts = word.split(",")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"'{word}' is not two sizes (60MiB,60MiB)")
    return tuple(figure.size(part) for part in parts)


def wanted(w, kernel, pool, sizes):
    """Whether a workload is one that the options of columns ask for."""
    return kernel in (None, w.kernel) and pool in (None, w.pool) and sizes in (None, w.sizes())


def shown(found, columns):
    """", 5 of 205 workloads" where a figure shows some of them only."""
    workloads = {id(w) for c in columns for w, _ in c.points}
    return f"; {len(workloads)} of {len(found.all)} workloads" if len(workloads) < len(found.all) else ""


def from_document(path, document):
    loader.check_document(path, document, scores.DOCUMENT, scores.VERSION, COMMAND)
    found = []
    try:
        for key in ("workloads", "others"):
            for w in document[key]:
                there = [i for i, p in enumerate(w["points"]) if loader.usable({"value": p["measured_us"]})]
                if not there:
                    continue
                points = [(p["streams"], loader.number(p["low_us"]), p["measured_us"], loader.number(p["high_us"]))
                          for p in (w["points"][i] for i in there)]
                order = [there[i] for i in np.argsort([p[0] for p in points])]
                one = Workload(w, points, (loader.number(w["h2d_us"]), loader.number(w["kernel_us"]), loader.number(w["d2h_us"])), key == "workloads")
                for name, told in [(m["model"], m) for m in w["models"]] + [(h["hypothesis"], h) for h in w["hypotheses"]]:
                    one.predicted_us[name] = np.array([loader.number(t) for t in told["predicted_us"]])[order]
                one.choices = {m["model"]: (loader.number(m["regret"]), bool(m["hit"])) for m in w["models"]}
                found.append(one)
        return Workloads(path, document["device_name"], document["simulated"], "", found,
                         [m["model"] for m in document["models"]])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise loader.BadTrace(f"{path}: lacks what this figure needs ({error}); this '{COMMAND}' is of another npgpu") from None


def from_trace(path):
    series = loader.load([path], "jobs")
    found = {}
    for jobs in series:
        if (jobs.device != series[0].device or jobs.case["gating"] != "open" or jobs.case.get("issue") == "graph" or jobs.case["order"] == "independent"
                or jobs.case["workload"] == "none"):
            continue
        for point in jobs.points:
            us = [loader.number(point["time_us"][k]) for k in ("low", "value", "high")]
            if (not loader.usable(point["time_us"]) or point["chunks"] != point["streams"] or not point["kernel_bytes"]
                    or not point["bytes_in"] + point["bytes_out"]):
                continue
            words = {**jobs.case, **{w: point[w] for w in ("bytes_in", "bytes_out", "kernel_bytes", "iterations", "threads")}}
            found.setdefault(tuple(words.items()), (words, []))[1].append((point["chunks"], *us))
    return Workloads(path, series[0].device_name, series[0].simulated, series[0].trace.hostname,
                     [Workload(*w) for w in found.values()], [])


def load(path):
    """What the command wrote; of a trace the measured times alone."""
    return from_trace(path) if loader.is_trace(path) else from_document(*loader.read_json(path, COMMAND))


def predictions(path, measured=None):
    """What the command wrote, or writes of a trace, and of the jobs that another trace holds."""
    if not loader.is_trace(path):
        return from_document(*loader.read_json(path, COMMAND))
    return from_document(path, scores.of_trace(path, measured))
