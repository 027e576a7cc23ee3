"""Bandwidth of L1 and L2 over the set that is read: how much a cache really holds, and how fast it answers.

The line is the median over the visits of a point, the band its 95 % interval."""
import numpy as np

from npgpu.plots import figure, loader


def curve_of(series):
    """(bytes, low, median, high) in bytes per cycle of one unit, by growing sets."""
    units = series.document["units"]
    points = sorted((p for p in series.points if loader.usable(p["rate_per_cycle"])), key=lambda p: p["bytes"])
    if not points or not units:
        return None
    return np.array([loader.numbers(points, "bytes"),
                     *(loader.numbers(points, "rate_per_cycle", k) / units for k in ("low", "value", "high"))])


def options():
    return figure.options(__doc__, "onchip.png", "probes")


@figure.drawn
def draw(trace, case=None):
    """Bandwidth of L1 and L2 over the set that is read."""
    probes = [p for p in loader.load(trace, "probes", case)
              if p.case["probe"] == "onchip" and p.case["space"] in ("l1", "l2")]
    drawn = [(p, c) for p in probes if (c := curve_of(p)) is not None]
    if not drawn:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no usable point of probe onchip in l1 or l2")
    several = len({(p.trace.name, p.device) for p, _ in drawn}) > 1
    labels = [p.case["space"].upper() + (f" {p.trace.name} {p.device}" if several else "") for p, _ in drawn]
    style = figure.styles(labels)
    picture, (axes,) = figure.grid([("", drawn)])
    for (_, (size, low, median, high)), label in zip(drawn, labels):
        figure.draw_points(axes, size, median, low, high, style[label])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("Bandwidth (bytes per cycle and SM)")
    figure.size_axis(axes, min(c[0].min() for _, c in drawn), max(c[0].max() for _, c in drawn), label="Set that all units read")
    figure.headline(picture, figure.title_of([p for p, _ in drawn], "reads on the chip"), "16 bytes a thread")
    figure.label_ends(picture, {axes: [(size[-1], median[-1], label, style[label][0]) for (_, (size, _, median, _)), label in zip(drawn, labels)]})
    return picture
