"""What patterns cost, and the law that is taught: how many times as long as the cheapest access.

A panel for each series that has a law; series of two accesses, as the same word or neighbours, are rows of one panel.
Circles with 95 % intervals are measured, the line is the law; what does not agree with it is crossed."""
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


FEW = 3  # points of one axis: fewer are no curve


def draw_rows(axes, rows):
    """A row for each series of two accesses: how many times as long the dearer one takes, and a grey bar at its law."""
    for at, (name, law) in enumerate(rows):
        low, value, high = (loader.number(law["times"][k]) for k in ("low", "value", "high"))
        axes.plot([law["times_by_law"]] * 2, [at - 0.35, at + 0.35], color=GREY, linewidth=3, alpha=0.5)
        axes.plot([low, high], [at, at], color=figure.COLORS[0], linewidth=1)
        axes.plot(value, at, color=figure.COLORS[0], marker="o", markersize=4)
        if law["verdict"] != "agrees":
            axes.plot(value, at, color="#000000", marker="x", markersize=8)
        axes.annotate(figure.digits(value), (value, at), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8)
        axes.annotate(name, (0, at), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks([])
    axes.set_ylim(max(4, len(rows)) - 0.4, -0.7)
    axes.set_xlim(0, 1.15 * max([1] + [max(law["times_by_law"], law["times"]["value"]) for _, law in rows]))
    axes.set_xlabel("Times as long")
    axes.set_title("one access over the other", loc="left", fontweight="bold")


def name_of(series):
    return " ".join((series.case["probe"], series.case["operation"], series.case["space"]))


def options():
    return figure.options(__doc__, "laws.png", "probes")


@figure.drawn
def draw(trace, case=None):
    """What patterns cost and their laws, a panel for each series that has one."""
    probes = loader.load(trace, "probes", case)
    curves = [(p, curve) for p in probes if p.document.get("law") for curve in curves_of(p)]
    rows = [(name_of(p) + (label[label.find(" ("):] if " (" in label else ""), max((law for _, law in points), key=lambda law: law["times_by_law"]))
            for p, (label, _, points) in curves if len({x for x, _ in points}) < FEW]
    panels = {}
    for p, curve in curves:
        if len({x for x, _ in curve[2]}) >= FEW:
            panels.setdefault((name_of(p), p.trace.name, p.device, curve[1]), []).append(curve)
    if not curves:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no probe with a law (npgpu probe onchip,access,atomics,divergence,occupancy)")
    picture, grid = figure.grid([*panels, *([rows] if rows else [])])
    for axes, ((name, _, _, called), its) in zip(grid, panels.items()):
        style = figure.styles([c[0] for c in its])
        for label, _, points in its:
            draw_curve(axes, points, style[label], label)
        least, most = (f(x for _, _, points in its for x, _ in points) for f in (min, max))
        if most > 8 * max(least, 1):
            axes.set_xscale("symlog", base=2, linthresh=max(least, 1))
            axes.set_xlim(left=least - 0.3)
            ticks = [2 ** k for k in range(12) if max(least, 1) <= 2 ** k <= most]
            axes.set_xticks(([0] if least == 0 else []) + ticks[::-(-len(ticks) // 5)])
            axes.xaxis.set_minor_locator(figure.NullLocator())
        axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_locator(figure.LogTicks(2))
        axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.set_xlabel(called)
        axes.set_ylabel("Times as long")
        axes.set_title(name, loc="left", fontweight="bold")
        if len(its) > 1:
            axes.legend()
    if rows:
        draw_rows(grid[-1], rows)
    figure.headline(picture, figure.title_of([p for p, _ in curves], "patterns and their laws"),
                    "grey: by the law; cross: does not agree within 5 %")
    return picture
