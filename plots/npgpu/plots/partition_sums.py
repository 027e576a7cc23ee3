"""The partition method: the time of the stages that streams can hide, over the size (Veneva & Imamura 2025, figure 2).

Dots: measured; line: the straight line that `npgpu report` fits, as the paper's (4)."""
import numpy as np

from npgpu.plots import figure, loader, partition


def options():
    return figure.look(partition.parser_of(__doc__), "partition_sums.png")


@figure.drawn
def draw(trace):
    """Times of the stages that streams can hide, over the size."""
    studies = partition.load(trace)
    picture, grid = figure.grid([("", s) for s in studies])
    for axes, named in zip(grid, studies):
        study = named.document
        size = loader.numbers(study["sizes"], "size")
        axes.plot(size, loader.numbers(study["sizes"], "sum_us"), color=figure.COLORS[0], marker="o", markersize=4, linestyle="none", label="measured")
        slope, start = (loader.number(study["fitted"][k]) for k in ("sum_slope", "sum_start"))
        if np.isfinite(slope):
            r2 = study["quality"]["sum"]["r2"]
            axes.plot(size, slope * size + start, color=figure.COLORS[1], linewidth=1, label=f"{slope * 1e3:.3g} ns each + {start:.3g} us, R2 {r2:.6f}")
        axes.set_xscale("log")
        figure.time_axis(axes, "Stages that streams can hide")
        axes.set_xlabel("Unknowns")
        axes.set_title(named.type, loc="left", fontweight="bold")
        axes.legend()
    figure.headline(picture, figure.title_of(studies, "tridiagonal partition method"), "copies out and in between the two kernels, and the kernels, in one stream")
    return picture
