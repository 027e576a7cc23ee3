"""Products of square matrices over their size (Allada et al. 2009, figure 8): rates by what divides the size, and with copies.

A row for each type: at the left by size, at the right by what divides it. Colours are the classes of sizes that `npgpu
report` finds; crosses and diamonds are rates with the copies of A, B and C, in turn and in panels; the dashed line is the
limit. Bars are 95 % intervals; hollow are rates that are no better known than to 50 %."""
import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY


NEAR = 0.9  # of the largest size: sizes of so much are compared by what divides them


def products(trace, case=None):
    """All series of the probe gemm."""
    found = [p for p in loader.load(trace, "probes", case) if p.case["probe"] == "gemm"]
    if not found:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no products of matrices (npgpu probe gemm)")
    return found


def is_plain(point):
    """Nothing transposed, C not read, all columns by one device, the probe's own numbers."""
    usual = {"ops": "nn", "alpha": 1, "beta": 0, "host_columns": 0, "operands": "usual"}
    return all(point.get(axis, value) == value for axis, value in usual.items())


def is_square(point):
    return point["m"] == point["n"] == point["k"] and is_plain(point)


def rates(series, wanted):
    """(n, low, rate, high) of the usable points that are wanted, in operations a second, by growing n."""
    points = sorted((p for p in series.points if loader.usable(p["rate_per_s"]) and wanted(p)), key=lambda p: p["n"])
    return np.array([loader.numbers(points, "n"), *(loader.numbers(points, "rate_per_s", k) for k in ("low", "value", "high"))])


def divisor(n):
    return int(np.gcd(int(n), 64))


def divisor_of(sizes):
    return np.array([divisor(n) for n in sizes], dtype=int)


def classes_of(series):
    """[(label, least divisor, most)], the fastest first; one without a label where nothing differs or is known."""
    classes = series.document.get("classes") or []
    if len(classes) < 2:
        return [("without copies", 1, 64)]
    words = lambda c: f"{c['least_divisor']}" + (f" to {c['largest_divisor']}" if c["largest_divisor"] > c["least_divisor"] else "")
    ordered = sorted(classes, key=lambda c: -c["relative"]["value"])
    return [(f"divided by {words(c)}", c["least_divisor"], c["largest_divisor"]) for c in ordered]


def draw_rates(axes, columns, scale, color, label, marker="o"):
    """Points, and bars of those that are well known."""
    x, low, value, high = columns
    if len(x):
        vague = figure.is_vague(value, low, high)
        for shown, fill in ((~vague, "none" if marker in "xD" else color), (vague, "white")):
            axes.plot(x[shown], value[shown] * scale, color=color, marker=marker, markersize=4, linestyle="none", markerfacecolor=fill)
        known = ~vague & np.isfinite(low + high)
        axes.vlines(x[known], low[known] * scale, high[known] * scale, color=color, linewidth=1)
        axes.plot([], [], color=color, marker=marker, markersize=4, linestyle="none", markerfacecolor="none" if marker in "xD" else color, label=label)


def dress(axes, series, across, title):
    """The limit, and what axes of rates are called."""
    if series.document["limit_per_s"]:
        axes.axhline(series.document["limit_per_s"] * 1e-9, color=GREY, linewidth=0.9, linestyle=(0, (5, 1.6)))
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.set_ylabel("GFLOP/s")
    axes.set_title(title, loc="left", fontweight="bold")


def headed(picture, all_series, what):
    libraries = dict.fromkeys(s.document["library"].split(" (")[0] for s in all_series)
    figure.headline(picture, figure.title_of(all_series, what), f"by {', '.join(libraries)}; dashed: limits")
    return picture


def options():
    return figure.options(__doc__, "gemm.png", "probes")


@figure.drawn
def draw(trace, case=None):
    """Rates of products of squares over their size."""
    found = products(trace, case)
    without = [p for p in found if p.case["space"] != "host" or p.device == "host"]
    copied = {(p.trace.name, p.device, p.case["type"]): p for p in found if p not in without}
    panels = [(p, copied.get((p.trace.name, p.device, p.case["type"]))) for p in without if rates(p, is_square)[0].size]
    if not panels:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no usable product of squares without copies")
    picture, grid = figure.plt.subplots(len(panels), 2, figsize=(8.6, 0.8 + 2.6 * len(panels)), squeeze=False, sharey="row", layout="constrained")
    for (axes, divided), (series, with_copies) in zip(grid, panels):
        cores = max(p["blocks"] for p in series.points)
        wanted = lambda p: is_square(p) and p["blocks"] == cores
        largest = rates(series, wanted)[0].max()
        for (label, least, most), color in zip(classes_of(series), figure.COLORS):
            columns = rates(series, lambda p: wanted(p) and least <= divisor(p["n"]) <= most)
            near = columns[0] > NEAR * largest
            draw_rates(axes, columns[:, ~near | (divisor_of(columns[0]) == 64)], 1e-9, color, label)
            draw_rates(divided, np.array([divisor_of(columns[0][near]), *columns[1:, near]]), 1e-9, color, label)
        if with_copies:
            for label, marker, chosen in (("copied in turn", "x", lambda p: p["panels"] == 1), ("copied in panels", "D", lambda p: p["panels"] > 1)):
                draw_rates(axes, rates(with_copies, lambda p: is_square(p) and chosen(p)), 1e-9, "#000000", label, marker)
        dress(axes, series, "m = n = k", f"{series.device} {series.case['type']}")
        dress(divided, series, f"Greatest divisor up to 64 of sizes near {largest:g}", "")
        for ax in (axes, divided):
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        divided.set_ylabel("")
        drawn = {label: line for ax in (axes, divided) for line, label in zip(*ax.get_legend_handles_labels())}
        divided.legend(drawn.values(), drawn.keys(), loc="upper left", bbox_to_anchor=(1, 1))
    return headed(picture, [series for series, _ in panels], "products of matrices")
