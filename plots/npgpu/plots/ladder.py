"""The ladder of reductions (Venetis, slides): what each rung reads a second, from the simplest kernel to the best.

Bars have the interval of the median; the dashed line is the limit of memory."""
from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY


def rate_of(point):
    return loader.usable(point["rate_per_s"])


def options():
    return figure.options(__doc__, "ladder.png", "probes")


@figure.drawn
def draw(trace, case=None):
    """What each rung of the reduction reads a second."""
    found = [p for p in loader.load(trace, "probes", case) if p.case["probe"] == "reduction" and any(map(rate_of, p.points))]
    if not found:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no usable point of a probe reduction (npgpu probe reduction)")
    picture, grid = figure.grid([("", p) for p in found])
    for axes, series in zip(grid, found):
        points = sorted(filter(rate_of, series.points), key=lambda p: p["rung"])
        rungs = loader.numbers(points, "rung")
        low, rate, high = (loader.numbers(points, "rate_per_s", k) * 1e-9 for k in ("low", "value", "high"))
        axes.bar(rungs, rate, color=figure.COLORS[0], width=0.7)
        axes.errorbar(rungs, rate, yerr=[rate - low, high - rate], color="#000000", linestyle="none", linewidth=1)
        for x, y in zip(rungs, rate):
            axes.text(x, y, f" {y / rate[0]:.2g}x", ha="center", va="bottom", fontsize=8)
        if series.document["limit_per_s"]:
            axes.axhline(series.document["limit_per_s"] * 1e-9, color=GREY, linewidth=0.9, linestyle=(0, (5, 1.6)))
        axes.xaxis.set_major_locator(figure.FixedLocator(rungs))
        axes.set_xlabel("Rung")
        axes.set_ylabel("Read (GB/s)")
        axes.set_title(f"{series.device} {series.case['type']}", loc="left", fontweight="bold")
    figure.headline(picture, figure.title_of(found, "ladder of reductions"), "numbers: times as fast as the first rung; dashed: limit of memory")
    return picture
