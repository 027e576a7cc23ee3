"""Products of square matrices over their size (Allada et al. 2009, figure 8): rates by what divides the size, and with copies.

A panel for each type. Colours are the classes of sizes that `npgpu report` finds; crosses and diamonds are rates with the
copies of A, B and C, in turn and in panels; the dashed line is the limit."""
import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY


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


def classes_of(series):
    """[(label, least divisor, most)], the fastest first; one without a label where nothing differs or is known."""
    classes = series.document.get("classes") or []
    if len(classes) < 2:
        return [("without copies", 1, 64)]
    words = lambda c: f"{c['least_divisor']}" + (f" to {c['largest_divisor']}" if c["largest_divisor"] > c["least_divisor"] else "")
    ordered = sorted(classes, key=lambda c: -c["relative"]["value"])
    return [(f"divided by {words(c)}", c["least_divisor"], c["largest_divisor"]) for c in ordered]


def draw_points(axes, columns, scale, **look):
    n, low, value, high = columns
    if len(n):
        axes.errorbar(n, value * scale, yerr=[np.nan_to_num((value - low) * scale), np.nan_to_num((high - value) * scale)], **look)


def dress(axes, series, across, title):
    """The limit, and what axes of rates are called."""
    if series.document["limit_per_s"]:
        axes.axhline(series.document["limit_per_s"] * 1e-9, color=GREY, linewidth=0.9, linestyle=(0, (5, 1.6)))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.set_ylabel("GFLOP/s")
    axes.set_title(title, loc="left", fontweight="bold")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.2), ncols=2)  # below: nothing is hidden


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
    picture, grid = figure.grid([("", p) for p in panels])
    for axes, (series, with_copies) in zip(grid, panels):
        cores = max(p["blocks"] for p in series.points)
        for (label, least, most), color in zip(classes_of(series), figure.COLORS):
            columns = rates(series, lambda p: is_square(p) and p["blocks"] == cores and least <= divisor(p["n"]) <= most)
            draw_points(axes, columns, 1e-9, color=color, marker="o", markersize=3.4, linestyle="none", linewidth=1, label=label)
        if with_copies:
            for label, marker, wanted in (("copied in turn", "x", lambda p: p["panels"] == 1), ("copied in panels", "D", lambda p: p["panels"] > 1)):
                columns = rates(with_copies, lambda p: is_square(p) and wanted(p))
                draw_points(axes, columns, 1e-9, color="#000000", marker=marker, markersize=4.5, linestyle="none", linewidth=0.8,
                            markerfacecolor="none", label=label)
        dress(axes, series, "m = n = k", f"{series.device} {series.case['type']}")
    return headed(picture, [series for series, _ in panels], "products of matrices")
