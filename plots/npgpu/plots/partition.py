"""The tridiagonal partition method: for each size the best number of streams, as measured and as models choose it, and
what each choice costs over the best.

A number of streams counts as measured best where its time is within the noise of the best one's. --table adds Table IV of
Veneva & Imamura 2025 (data/papers/003_table4_optimum.csv): the same of their RTX 2080 Ti."""
import argparse
import csv

import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.evaluations import MODEL_COLORS
from npgpu.plots.figure import GREY

COMMAND = "npgpu report TRACE --json"
DOCUMENT, VERSION = "npgpu-report", 3
MODELS = {name: (label, MODEL_COLORS[name], marker) for name, label, marker in
          (("simulator", "simulator", "o"), ("Veneva & Imamura 2025", "Veneva & Imamura 2025, refitted", "D"))}


class Study:
    """One type on one device: sizes, measured times by number of streams, and choices by model."""

    def __init__(self, study):
        self.document = study
        self.device_name, self.simulated = study["device_name"], study["simulated"]
        self.trace = argparse.Namespace(hostname="")  # as figure.title_of asks for it
        self.type = study["type"]
        study["sizes"] = [row for row in study["sizes"] if any(usable(p) for p in row["points"])]
        self.sizes = np.array([row["size"] for row in study["sizes"]], dtype=float)
        self.best = np.array([row["best"] for row in study["sizes"]], dtype=float)
        self.ties = [ties(row["points"]) for row in study["sizes"]]
        self.streams = sorted({p["streams"] for row in study["sizes"] for p in row["points"]})
        self.choices = {}
        for at, model in enumerate(m["model"] for m in study["models"]):
            chosen = [row["choices"][at] for row in study["sizes"]]
            self.choices[model] = np.array([[loader.number(c[k]) for k in ("streams", "regret", "regret_low", "regret_high")] for c in chosen])


def usable(point):
    return loader.usable({"value": point["time_us"]})


def ties(points):
    """The numbers of streams whose interval reaches down to the best one's."""
    points = [p for p in points if usable(p)]
    best = min(points, key=lambda p: p["time_us"])
    high = best["time_us"] if best["high_us"] is None else best["high_us"]
    return [p["streams"] for p in points if (p["time_us"] if p["low_us"] is None else p["low_us"]) <= high]


def studies_of(path):
    """(name, studies of the partition method) of a trace, or of what the command wrote."""
    path, document = loader.read_json(path, COMMAND, loader.report(path) if loader.is_trace(path) else None)
    loader.check_document(path, document, DOCUMENT, VERSION, COMMAND)
    if not document.get("partition_studies"):
        raise loader.BadTrace(f"{path}: holds no partitions in one stream and in more; npgpu partition measures some")
    return path, document["partition_studies"]


def load(path):
    """The studies that have a size with a time."""
    path, studies = studies_of(path)
    try:
        studies = [study for study in map(Study, studies) if len(study.sizes)]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise loader.BadTrace(f"{path}: lacks what this figure needs ({error}); this '{COMMAND}' is of another npgpu") from None
    if not studies:
        raise loader.BadTrace(f"{path}: holds no size of the partition method with a time")
    return studies


def table4(path):
    """Rows of size, measured, predicted; comments and the heading left out."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = [row for row in csv.reader(line for line in file if not line.startswith("#"))][1:]
        return np.array(rows, dtype=float).reshape(-1, 3)
    except (OSError, ValueError) as error:
        raise loader.BadTrace(f"{path}: is no table of size, measured, predicted ({error})") from None


def draw_choices(axes, study, paper):
    for size, tied in zip(study.sizes, study.ties):
        axes.plot([size, size], [min(tied), max(tied)], color="#bbbbbb", linewidth=5, solid_capstyle="round", zorder=1)
    axes.plot(study.sizes, study.best, color="black", marker="_", markersize=9, markeredgewidth=1.8, linestyle="none",
              zorder=5, label="measured best; grey: within the noise of it")
    for model, (label, color, marker) in MODELS.items():
        if model in study.choices and np.isfinite(study.choices[model][:, 0]).any():
            axes.plot(study.sizes, study.choices[model][:, 0], color=color, marker=marker, markersize=4.5, linewidth=1,
                      zorder=3, label=label)
    if paper is not None and study.type == "fp64":
        axes.plot(paper[:, 0], paper[:, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, zorder=2,
                  label="measured on an RTX 2080 Ti (Table IV)")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(figure.FixedLocator([1, 2, 4, 8, 16, 32, 64, 128]))
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_minor_locator(figure.NullLocator())
    axes.set_ylim(0.85, 1.2 * max(study.streams))
    axes.set_ylabel("Streams")
    axes.set_title(f"{study.type}: number of streams", loc="left", fontweight="bold")


def draw_regrets(axes, study):
    for model, (label, color, marker) in MODELS.items():
        if model not in study.choices:
            continue
        regret, low, high = 100 * study.choices[model][:, 1:].T
        there = np.isfinite(regret)
        if there.any():
            axes.plot(study.sizes[there], regret[there], color=color, marker=marker, markersize=4.5, linewidth=1, label=label)
            there &= np.isfinite(low + high) & ~figure.is_vague(100 + regret, 100 + low, 100 + high)
            axes.vlines(study.sizes[there], low[there], high[there], color=color, alpha=0.4, linewidth=2)
    axes.axhline(1, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g} %"))
    axes.set_ylabel("Time over the best")
    axes.set_title(f"{study.type}: what the choice costs", loc="left", fontweight="bold")


def parser_of(text, prog=None):
    parser = argparse.ArgumentParser(prog=prog, description=figure.about(text))
    parser.add_argument("trace", help=f"npgpu trace (.h5), or what '{COMMAND}' wrote (-: from a pipe)")
    return parser


def options():
    parser = parser_of(__doc__)
    parser.add_argument("--table", metavar="FILE", help="also draw Table IV of the paper: data/papers/003_table4_optimum.csv")
    return figure.look(parser, "partition.png")


@figure.drawn
def draw(trace, table=None):
    """The partition method: best and chosen numbers of streams by size; `table`: the file of the paper's Table IV."""
    studies = load(trace)
    paper = table4(table) if table else None
    picture, axes = figure.plt.subplots(len(studies), 2, figsize=(11, 3.4 * len(studies) + 0.6), squeeze=False, layout="constrained")
    for (left, right), study in zip(axes, studies):
        draw_choices(left, study, paper)
        draw_regrets(right, study)
        for ax in (left, right):
            ax.set_xscale("log")
            ax.set_xlabel("Unknowns")
    figure.headline(picture, figure.title_of(studies, "tridiagonal partition method"),
                    "the refitted model was fitted to the sizes other than the one it chooses for")
    drawn = {label: line for left in axes[:, 0] for line, label in zip(*left.get_legend_handles_labels())}
    picture.legend(drawn.values(), drawn.keys(), loc="upper left", bbox_to_anchor=(0.01, 0.0), ncols=2)
    return picture
