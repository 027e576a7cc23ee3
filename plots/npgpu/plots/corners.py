"""How the rate grows with threads on one unit, threads on all, and one-thread blocks (Perez & Piccoli 2011: the four corners).

Left: the threads of a block, with one block and with blocks on all units; right: one-thread blocks on each unit. The
ends of the curves are the corners One-One, One-All, All-One and All-All; the dashed line is the limit."""
import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY

UNITS = {"compute": "GOP/s", "bandwidth": "Bandwidth (GB/s)"}
WHAT = {"compute": "computing power", "bandwidth": "memory bandwidth"}


def rates_of(series):
    """[(point, rate a second)] of the shapes that have one."""
    return [(p, p["rate_per_s"]["value"]) for p in series.points if loader.usable(p["rate_per_s"])]


def best_by(rates, axis, wanted):
    """The best rate of the wanted shapes for each value of an axis."""
    best = {}
    for point, rate in rates:
        if wanted(point):
            value = float(axis(point))
            best[value] = max(best.get(value, 0), rate)
    return np.array(sorted(best.items())).T if best else None


def options():
    parser = figure.options(__doc__, "corners.png", "probes")
    parser.add_argument("--probe", choices=sorted(UNITS), default="compute")
    return parser


@figure.drawn
def draw(trace, case=None, probe="compute"):
    """Rates of the probe `compute` or `bandwidth` over threads and blocks."""
    probes = [p for p in loader.load(trace, "probes", case) if p.case["probe"] == probe]
    if not probes:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no probe {probe}")
    probes = [p for p in probes if rates_of(p)]
    if not probes:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no usable point of a probe {probe}")
    probes = [p for p in probes if (p.trace, p.device) == (probes[0].trace, probes[0].device)]
    label = lambda p: " ".join([p.case["operation"], p.case["type"]] + ([p.case["form"]] if probe == "bandwidth" else []))
    style = figure.case_styles(probes, lambda p: label(p) if p.case["probe"] == probe else None)
    picture, (left, right) = figure.grid([("", None)] * 2)
    picture.set_size_inches(10.4, 3.6)
    ends = {left: [], right: []}
    for p in probes:
        color, _, marker = style[label(p)]
        rates = rates_of(p)
        # Sets inside a cache are another question.
        largest = max((int(q["bytes"]) for q, _ in rates), default=0)
        rates = [(q, r) for q, r in rates if int(q["bytes"]) == largest or 0.9 * largest <= int(q["bytes"])]
        one = best_by(rates, lambda q: q["threads"], lambda q: q["blocks"] == 1)
        units = max(p.document["units"], 1)
        full = best_by(rates, lambda q: q["threads"], lambda q: q["blocks"] >= max(units, 2) and q["threads"] > 1)
        thin = best_by(rates, lambda q: q["blocks"] / units,
                       lambda q: q["threads"] == 1 and q["ilp"] == 1 and q["blocks"] % units == 0)
        for curve, axes, dashes in ((one, left, (0, (4, 1.5))), (full, left, "-"), (thin, right, "-")):
            if curve is not None:
                axes.plot(curve[0], curve[1] * 1e-9, color=color, linestyle=dashes, marker=marker, markersize=3.2)
                if curve is not one:
                    ends[axes].append((curve[0][-1], curve[1][-1] * 1e-9, label(p), color))
        if p.document["limit_per_s"]:
            left.axhline(p.document["limit_per_s"] * 1e-9, color=color, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    for axes, what, title in ((left, "Threads of a block", "full blocks: on all units, dashed on one"),
                              (right, "One-thread blocks of each unit", "one-thread blocks on all units")):
        axes.set_title(title, loc="left", fontweight="bold")
        if not axes.lines:
            axes.set_axis_off()
            axes.text(0, 0.95, "not measured", transform=axes.transAxes, va="top", color=GREY)
            continue
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.yaxis.set_minor_formatter(figure.LogFormatter())  # 20 and 30, not powers of ten
        axes.set_xlabel(what)
    left.set_ylabel(UNITS[probe])
    figure.headline(picture, figure.title_of(probes, WHAT[probe]), "best of the measured shapes; dotted: limits" if any(
        p.document["limit_per_s"] for p in probes) else "best of the measured shapes")
    figure.label_ends(picture, ends)
    return picture
