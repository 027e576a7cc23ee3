"""The partition method: what streams cost and what they hide, over their number (Veneva & Imamura 2025, figures 3 and 4).

Dots: measured; lines: the forms of the paper's (7) that `npgpu report` refits, for up to 1e6 unknowns and for more."""
from npgpu.plots import figure, loader, partition

MOST = 8  # sizes that are drawn


def options():
    return figure.look(partition.parser_of(__doc__), "partition_overhead.png")


@figure.drawn
def draw(trace):
    """What streams cost and what they hide, over their number."""
    studies = partition.load(trace)
    picture, grid = figure.grid([("", s) for s in studies])
    for axes, named in zip(grid, studies):
        study = named.document
        rows = study["sizes"]
        step = max(1, -(-len(rows) // MOST))
        for row, color in zip(rows[::-step][::-1], figure.COLORS):
            points = [p for p in row["points"] if p["streams"] > 1]
            n = loader.numbers(points, "streams")
            if not len(n):
                continue
            axes.plot(n, loader.numbers(points, "overhead_us") * 1e-3, color=color, marker="o", markersize=3.4, linestyle="none", label=f"{row['size']:g}")
            axes.plot(n, loader.numbers(points, "fitted_overhead_us") * 1e-3, color=color, linewidth=1)
        axes.set_xscale("log", base=2)
        axes.set_yscale("symlog", linthresh=0.1)
        axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.set_xlabel("Streams")
        axes.set_ylabel("Overhead (ms)")
        axes.set_title(named.type, loc="left", fontweight="bold")
        axes.margins(y=0.08)
    picture.legend(*max((axes.get_legend_handles_labels() for axes in grid), key=lambda found: len(found[0])), title="unknowns",
                   loc="upper left", bbox_to_anchor=(0.01, 0), ncols=MOST)
    figure.headline(picture, figure.title_of(studies, "what streams cost"), "dots: measured; lines: the forms of Veneva & Imamura 2025, refitted")
    return picture
