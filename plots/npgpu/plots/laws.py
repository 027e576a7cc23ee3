"""What patterns cost, and the law that is taught: how many times as long as the cheapest access.

A panel for each series that has a law. Circles with 95 % intervals are measured, the line is the law; what does not
agree with it is crossed."""
import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY

# What may vary along an axis, and what it is called.
AXES = [("stride", "Stride (accesses)"), ("ways", "Ways of the branch"), ("offset_bytes", "Offset (B)")]
USUAL = {"stride": 1, "ways": 1, "offset_bytes": 0}


def curves_of(series):
    """[(label, name of the axis, points by growing axis)]. Offsets and strides are curves of their own."""
    points = [p for p in series.points if p["law"] and loader.usable(p["law"]["times"])]
    found = []
    if not points:
        return found
    if series.case["probe"] == "divergence":
        for stride in sorted({p["stride"] for p in points}):
            some = sorted((p for p in points if p["stride"] == stride), key=lambda p: p["ways"])
            found.append((f"{stride} neighbours go one way" if stride != 1 else "each lane its own way", "Ways of the branch",
                          [(p["ways"], p["law"]) for p in some]))
        return found
    if series.case["probe"] == "product":
        for rung, label in ((1, "from global memory"), (2, "by tiles")):
            some = sorted((p for p in points if p["rung"] == rung), key=lambda p: p["threads"])
            if some:
                found.append((label, "Tile or block, T * T", [(round(p["threads"] ** 0.5), p["law"]) for p in some]))
        return found
    if series.case["probe"] == "occupancy":
        for limit, label in (("shared_bytes", "by shared memory"), ("registers", "by registers")):
            least = min(p[limit] for p in points)
            some = sorted((p for p in points if p[limit] > least), key=lambda p: p["law"]["passes"])
            if some:
                found.append((f"limited {label}", "Waves of blocks", [(p["law"]["passes"], p["law"]) for p in some]))
        return found
    sets = sorted({p["bytes"] for p in points})
    for size in sets:
        named = f" ({figure.size_text(size)})" if len(sets) > 1 else ""
        for axis, called in AXES:
            some = sorted((p for p in points if p["bytes"] == size and
                           all(p[other] == USUAL[other] for other in USUAL if other != axis)), key=lambda p: p[axis])
            if len({p[axis] for p in some}) > 1:
                found.append((called.split(" (")[0].lower() + named, called, [(p[axis], p["law"]) for p in some]))
    return found


def draw_curve(axes, points, style, label):
    color, dashes, marker = style
    x = np.array([p[0] for p in points], dtype=float)
    times = {k: np.array([loader.number(p[1]["times"][k]) for p in points]) for k in ("value", "low", "high")}
    law = np.array([p[1]["times_by_law"] for p in points], dtype=float)
    axes.plot(x, law, color=GREY, linestyle=dashes, linewidth=1)
    axes.errorbar(x, times["value"], yerr=[times["value"] - times["low"], times["high"] - times["value"]], color=color,
                  linestyle="none", marker=marker, markersize=4, label=label)
    off = np.array([p[1]["verdict"] != "agrees" for p in points])
    axes.plot(x[off], times["value"][off], color="#000000", linestyle="none", marker="x", markersize=8)


def options():
    return figure.options(__doc__, "laws.png", "probes")


@figure.drawn
def draw(trace, case=None):
    """What patterns cost and their laws, a panel for each series that has one."""
    probes = loader.load(trace, "probes", case)
    panels = [(p, called, [c for c in curves_of(p) if c[1] == called])
              for p in probes if p.document.get("law") for called in dict.fromkeys(c[1] for c in curves_of(p))]
    if not panels:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no probe with a law (npgpu probe onchip,access,atomics,divergence,occupancy)")
    picture, grid = figure.grid([(p.title, curves) for p, _, curves in panels])
    for axes, (series, called, curves) in zip(grid, panels):
        style = figure.styles([c[0] for c in curves])
        for label, _, points in curves:
            draw_curve(axes, points, style[label], label)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.set_xlabel(called)
        axes.set_ylabel("Times as long")
        axes.set_title(" ".join((series.case["probe"], series.case["operation"], series.case["space"])), loc="left", fontweight="bold")
        if len(curves) > 1:
            axes.legend()
    figure.headline(picture, figure.title_of([p for p, _, _ in panels], "patterns and their laws"),
                    "grey line: by the law; cross: does not agree within 5 %")
    return picture
