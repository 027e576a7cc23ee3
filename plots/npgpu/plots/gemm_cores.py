"""A product of matrices over the cores of the host (Allada et al. 2009, figure 9).

Dots: rates with their intervals; grey: one core's rate times the number of cores; dashed: the limit of all cores."""
import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY
from npgpu.plots.gemm import draw_rates, dress, headed, is_plain, products


def curve_of(series):
    """(cores, low, rate, high) of the largest product that was measured on one core, by growing cores; nothing where only
    one number of cores was measured."""
    usable = [p for p in series.points if loader.usable(p["rate_per_s"]) and is_plain(p)]
    size = max((tuple(p[axis] for axis in "mnk") for p in usable if p["blocks"] == 1), default=None)
    points = sorted((p for p in usable if tuple(p[axis] for axis in "mnk") == size), key=lambda p: p["blocks"])
    if len(points) < 2:
        return None
    return size, np.array([loader.numbers(points, "blocks"), *(loader.numbers(points, "rate_per_s", k) for k in ("low", "value", "high"))])


def options():
    return figure.options(__doc__, "gemm_cores.png", "probes")


@figure.drawn
def draw(trace, case=None):
    """Rates of one product over the host's cores."""
    drawn = [(p, c) for p in products(trace, case) if p.device == "host" and (c := curve_of(p)) is not None]
    if not drawn:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no product of matrices on one core of the host and on more")
    picture, grid = figure.grid([("", d) for d in drawn])
    for axes, (series, ((m, n, k), columns)) in zip(grid, drawn):
        cores, _, rate, _ = columns
        axes.plot(cores, rate[0] * cores * 1e-9, color=GREY, linewidth=1, label="one core's rate, times cores")
        axes.plot(cores, rate * 1e-9, color=figure.COLORS[0], linewidth=1)
        draw_rates(axes, columns, 1e-9, figure.COLORS[0], "measured; hollow: no better known than to 50 %")
        axes.xaxis.get_major_locator().set_params(integer=True)
        dress(axes, series, "Cores", f"{series.case['type']}, m {m}, n {n}, k {k}")
        axes.set_xlim(left=0)
    picture.legend(*grid[0].get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(0.01, 0), ncols=2)
    return headed(picture, [series for series, _ in drawn], "products of matrices over cores")
