"""The partition method: the time of the stages that streams can hide, over the size (Veneva & Imamura 2025, figure 2).

Dots: measured; line: the straight line that `npgpu report` fits, as the paper's (4)."""
import argparse

import numpy as np

from npgpu.plots import figure, loader, partition


def studies_of(trace):
    """[(study as the document has it, its device as titles need it)]"""
    path, found = partition.studies_of(trace)
    try:
        studies = [(s, partition.Study(s)) for s in found]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise loader.BadTrace(f"{path}: lacks what this figure needs ({error}); this '{partition.COMMAND}' is of another npgpu") from None
    studies = [(s, named) for s, named in studies if len(named.sizes)]
    if not studies:
        raise loader.BadTrace(f"{path}: holds no size of the partition method with a time")
    return studies


def options_of(text, output):
    parser = argparse.ArgumentParser(description=figure.about(text))
    parser.add_argument("trace", help=f"npgpu trace (.h5), or what '{partition.COMMAND}' wrote (-: from a pipe)")
    return figure.look(parser, output)


def options():
    return options_of(__doc__, "partition_sums.png")


@figure.drawn
def draw(trace):
    """Times of the stages that streams can hide, over the size."""
    studies = studies_of(trace)
    picture, grid = figure.grid([("", s) for s in studies])
    for axes, (study, named) in zip(grid, studies):
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
    figure.headline(picture, figure.title_of([n for _, n in studies], "tridiagonal partition method"), "copies out and in between the two kernels, and the kernels, in one stream")
    return picture
