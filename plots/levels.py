#!/usr/bin/env python3
"""Latency over the set that is walked: a load waits for the one before, and each level of memory is a step.

The line is the median of the trials, the band its 95 % interval."""
import numpy as np

import figure
import loader
from figure import GREY, plt


def curve_of(probe, cycles):
    """(bytes, low, median, high) of one load, by growing sets."""
    rows = []
    for point in np.sort(probe.points, order="bytes"):
        each = probe.each(point)
        loads = float(point["work"])
        if each is None or not loads > 0:
            continue
        three = each[1] / loads if cycles else each[0] * 1e3 / loads
        if np.isfinite(three[1]):
            rows.append((float(point["bytes"]), *three))
    return np.array(rows).T if rows else None


def main():
    parser = figure.options(__doc__.splitlines()[0], "levels.png", sweeps=False)
    parser.add_argument("--cycles", action="store_true", help="cycles of the unit's clock instead of nanoseconds")
    args = parser.parse_args()
    probes = loader.probes_of(args.trace, lambda p: p.case["probe"] == "latency", "probe latency")
    drawn = [(p, c) for p in probes if (c := curve_of(p, args.cycles)) is not None]
    if not drawn:
        raise loader.BadTrace(f"{args.trace[0]}: holds no usable point of a probe latency")
    several = len({(p.trace.name, p.case["device"]) for p, _ in drawn}) > 1
    labels = [p.case["space"] + (" by atomics" if p.case["operation"] == "rmw" else "") + (f" {p.trace.name} {p.case['device']}" if several else "") for p, _ in drawn]
    style = figure.styles(labels)
    picture, (axes,) = figure.grid([("", drawn)])
    for (_, (size, low, median, high)), label in zip(drawn, labels):
        color, dashes = style[label]
        axes.plot(size, median, color=color, linestyle=dashes, marker=".", markersize=3, label=label)
        axes.fill_between(size, low, high, color=color, alpha=0.25, linewidth=0)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: figure.digits(v)))
    axes.yaxis.set_minor_formatter(figure.FuncFormatter(lambda v, _: figure.digits(v) if str(v)[0] in "25" else ""))
    axes.tick_params(axis="y", which="minor", labelsize=7.5, labelcolor=GREY)
    axes.set_ylabel("cycles of a load" if args.cycles else "ns of a load")
    figure.size_axis(axes, min(c[0].min() for _, c in drawn), max(c[0].max() for _, c in drawn),
                     label="set that the loads walk")
    figure.headline(picture, figure.title_of([p for p, _ in drawn], "latency of memory"), "each load waits for the one before")
    if len(drawn) > 1:
        picture.legend(loc="upper left", bbox_to_anchor=(0.01, 0.0), ncols=4)
    figure.save(picture, args.output)


if __name__ == "__main__":
    figure.run(main)
