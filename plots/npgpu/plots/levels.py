"""Latency over the working set: a load waits for the one before, and each level of memory is a step.

The line is the median over the visits of a point, the band its 95 % interval."""
import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY, plt


def curve_of(series, cycles):
    """(bytes, low, median, high) of one load, by growing sets."""
    column = "rate_per_cycle" if cycles else "rate_per_s"
    points = sorted((p for p in series.points if loader.usable(p[column])), key=lambda p: p["bytes"])
    if not points:
        return None
    # The report has loads per second or cycle: the highest rate is the shortest load.
    return np.array([loader.numbers(points, "bytes"), *((1 if cycles else 1e9) / loader.numbers(points, column, k)
                                                        for k in ("high", "value", "low"))])


def name_of(series):
    """The memory and how it is read, and whose it is; of another probe nothing."""
    case = series.case
    return (case["space"] + (" by atomics" if case["operation"] == "rmw" else ""), series.trace.name, series.device) if case["probe"] == "latency" else None


def options():
    parser = figure.options(__doc__, "levels.png", "probes")
    parser.add_argument("--cycles", action="store_true", help="cycles of the unit's clock instead of nanoseconds")
    return parser


@figure.drawn
def draw(trace, case=None, cycles=False):
    """Latency of loads over the working set, in ns or in cycles of the unit's clock."""
    probes = [p for p in loader.load(trace, "probes", case) if p.case["probe"] == "latency"]
    if not probes:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no probe latency")
    drawn = [(p, c) for p in probes if (c := curve_of(p, cycles)) is not None]
    if not drawn:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no usable point of a probe latency")
    several = len({(p.trace.name, p.device) for p, _ in drawn}) > 1
    labels = [name_of(p)[0] + (f" {p.trace.name} {p.device}" if several else "") for p, _ in drawn]
    style = figure.case_styles([p for p, _ in drawn], name_of)
    picture, (axes,) = figure.grid([("", drawn)])
    axes.set_yscale("log")
    for p, (size, low, median, high) in drawn:
        figure.draw_points(axes, size, median, low, high, style[name_of(p)])
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: figure.digits(v)))
    axes.yaxis.set_minor_formatter(figure.FuncFormatter(lambda v, _: figure.digits(v) if str(v)[0] in "25" else ""))
    axes.tick_params(axis="y", which="minor", labelsize=7.5, labelcolor=GREY)
    axes.set_ylabel("Latency (cycles)" if cycles else "Latency (ns)")
    figure.size_axis(axes, min(c[0].min() for _, c in drawn), max(c[0].max() for _, c in drawn),
                     label="Working set")
    figure.headline(picture, figure.title_of([p for p, _ in drawn], "latency of memory"), "each load waits for the one before")
    if len(drawn) > 1:
        figure.label_ends(picture, {axes: [(size[-1], median[-1], label, style[name_of(p)][0])
                                           for (p, (size, _, median, _)), label in zip(drawn, labels)]})
    return picture
