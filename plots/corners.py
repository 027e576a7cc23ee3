#!/usr/bin/env python3
"""How the rate grows with threads on one unit, threads on all, and one-thread blocks (paper 002's four corners).

Left: blocks of so many threads, on one unit and on all; right: so many one-thread blocks on each unit. The points at
the ends of the curves are the corners One-One, One-All, All-One and All-All; the dashed line is the limit."""
import numpy as np

import figure
import loader
from figure import GREY

RATES = {"compute": ("operations a second", 1e9, "GOP/s"), "bandwidth": ("bytes a second", 1e9, "GB/s")}


def rates_of(probe):
    """[(point, rate a second)] of the shapes that have one."""
    found = []
    for point in probe.points:
        each = probe.each(point)
        if each is not None and float(point["work"]) > 0:
            found.append((point, float(point["work"]) / (each[0][1] * 1e-6)))
    return found


def best_by(rates, axis, wanted):
    """The best rate of the wanted shapes for each value of an axis."""
    best = {}
    for point, rate in rates:
        if wanted(point):
            value = float(axis(point))
            best[value] = max(best.get(value, 0), rate)
    return np.array(sorted(best.items())).T if best else None


def main():
    parser = figure.options(__doc__.splitlines()[0], "corners.png", several=False)
    parser.add_argument("--probe", choices=sorted(RATES), default="compute")
    args = parser.parse_args()
    probes = loader.probes_of(args.trace, lambda p: p.case["probe"] == args.probe, f"probe {args.probe}")
    devices = list(dict.fromkeys(p.case["device"] for p in probes))
    probes = [p for p in probes if p.case["device"] == devices[0]]
    _, _, unit = RATES[args.probe]
    label = lambda p: " ".join([p.case["operation"], p.case["type"]] + ([p.case["form"]] if args.probe == "bandwidth" else []))
    style = figure.styles([label(p) for p in probes])
    picture, (left, right) = figure.grid([("", None)] * 2)
    handles = {}
    for p in probes:
        color, _ = style[label(p)]
        rates = rates_of(p)
        # Sets inside a cache are another question.
        largest = max((int(q["bytes"]) for q, _ in rates), default=0)
        rates = [(q, r) for q, r in rates if int(q["bytes"]) == largest or 0.9 * largest <= int(q["bytes"])]
        one = best_by(rates, lambda q: q["threads"], lambda q: q["blocks"] == 1)
        full = best_by(rates, lambda q: q["threads"], lambda q: q["blocks"] >= max(p.units, 2) and q["threads"] > 1)
        units = max(p.units, 1)
        thin = best_by(rates, lambda q: q["blocks"] / units,
                       lambda q: q["threads"] == 1 and q["ilp"] == 1 and q["blocks"] % units == 0)
        for curve, axes, dashes in ((one, left, (0, (4, 1.5))), (full, left, "-"), (thin, right, "-")):
            if curve is not None:
                handles[label(p)], = axes.plot(curve[0], curve[1] * 1e-9, color=color, linestyle=dashes, marker=".", markersize=4)
        if np.isfinite(p.peak) and p.peak > 0:
            left.axhline(p.peak * 1e-9, color=color, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    for axes, what, title in ((left, "threads of a block", "full blocks: on all units, dashed on one"),
                              (right, "one-thread blocks of each unit", "one-thread blocks on all units")):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.set_xlabel(what)
        axes.set_title(title, loc="left", fontweight="bold")
    left.set_ylabel(unit)
    figure.headline(picture, figure.title_of(probes, args.probe), "best of the shapes measured; dotted: limits" if any(
        np.isfinite(p.peak) for p in probes) else "best of the shapes measured")
    picture.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(0.01, 0.0), ncols=3)
    figure.save(picture, args.output)


if __name__ == "__main__":
    figure.run(main)
