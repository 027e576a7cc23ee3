"""What a model's choice of the number of streams costs: for each model the share of workloads whose regret is at most so
much, and how often its choice was as good as the best.

Regret: measured time with the number that the model chose among those measured, over the best of them, less 1."""
import numpy as np

from npgpu.plots import evaluations, figure, loader
from npgpu.plots.figure import GREY
from npgpu.plots.predicted import percentile_95

LEAST = 0.01  # percent: left edge of the axis, where all that is less is counted


def regrets_of(models, workloads):
    """{names, one a line: (regrets in percent, ascending, share of hits in percent)}; models that choose alike are one."""
    alike = {}
    for model in models:
        choices = tuple(w.choices[model] for w in workloads if np.isfinite(w.choices[model][0]))
        if not choices:
            continue
        alike.setdefault(choices, []).append(model)
    return {"\n".join(names): (100 * np.sort([regret for regret, _ in choices]), 100 * np.mean([hit for _, hit in choices]))
            for choices, names in alike.items()}


def styles_of(groups):
    """The style of each group of models: the colour of its first model that has one, else one that no model has; dashes set
    groups of one colour apart."""
    free = ((color, dashes) for dashes in figure.DASHES for color in figure.COLORS[len(evaluations.MODEL_COLORS):])
    known = [next((c for model in name.split("\n") if (c := evaluations.MODEL_COLORS.get(model))), None) for name in groups]
    return {name: (*((color, figure.DASHES[0]) if color else next(free)), marker)
            for name, color, (_, _, marker) in zip(groups, known, figure.styles(groups).values())}


def draw_shares(axes, regrets, style):
    top = max(100, 1.3 * max(values[-1] for values, _ in regrets.values()))
    for name, (values, _) in regrets.items():
        color, dashes, _ = style[name]
        x = np.maximum(np.concatenate([[LEAST], values, [top]]), LEAST)
        y = 100 * np.concatenate([[0], np.arange(1, len(values) + 1), [len(values)]]) / len(values)
        first = name == next(iter(regrets))
        axes.step(x, y, where="post", color=color, linestyle=dashes, linewidth=2.4 if first else 1.2, zorder=4 if first else 2)
        for value, share, marker in ((np.median(values), 50, "o"), (percentile_95(values), 95, "s")):
            axes.plot(max(value, LEAST), share, color=color, marker=marker, markersize=5, zorder=5, clip_on=False,
                      markeredgecolor="white", markeredgewidth=0.6)
    for share in (50, 95):
        axes.axhline(share, color=GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    axes.set_xscale("log")
    axes.set_xlim(LEAST, top)
    axes.set_ylim(0, 101)
    axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: (f"≤{v:g} %" if v <= LEAST else f"{v:g} %")))
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g} %"))
    axes.set_xlabel("regret")
    axes.set_ylabel("workloads with at most that regret")
    axes.set_title("circle: median, square: 95th percentile", loc="left", fontweight="bold")


def draw_hits(axes, regrets, style):
    """A row a model, which is the legend, too: its line, name, hits as a bar, median and 95th percentile as numbers."""
    for row, (name, (values, hits)) in enumerate(regrets.items()):
        color, dashes, _ = style[name]
        axes.barh(row, hits, color=color, height=0.62, alpha=0.85)
        axes.plot([-17, -4], [row, row], color=color, linestyle=dashes, linewidth=2, clip_on=False)
        for x, value in ((116, np.median(values)), (136, percentile_95(values)), (156, values[-1])):
            axes.text(x, row, f"{value:.2f}" if value < 99.95 else f"{value:.0f}", ha="right", va="center", clip_on=False)
        inside = hits > 88
        axes.text(hits - 1.5 if inside else hits + 1.5, row, f"{hits:.0f} %", ha="right" if inside else "left", va="center",
                  fontsize=7.5, color="white" if inside else "black")
    for x, word in ((116, "median"), (136, "p95"), (156, "most")):
        axes.text(x, -0.85, word, ha="right", va="center", fontweight="bold", clip_on=False)
    axes.set_yticks(range(len(regrets)), list(regrets), fontsize=8)
    axes.tick_params(axis="y", length=0, pad=38)
    axes.set_ylim(len(regrets) - 0.5, -0.6)
    axes.set_xlim(0, 100)
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g} %"))
    axes.set_xlabel("workloads where the choice was as good as the best, within the noise")
    axes.set_title("hits; at the right the regret in %", loc="left", fontweight="bold", pad=16)


def options():
    return evaluations.options(__doc__, "regret.png")


@figure.drawn
def draw(trace, measured=None):
    """What each model's choice of the number of streams costs over the best one."""
    found = evaluations.predictions(trace, measured)
    workloads = found.scored()
    regrets = regrets_of(found.models, workloads)
    if not regrets:
        raise loader.BadTrace(f"{found.path}: holds no choice of a model between measured numbers of streams")
    style = styles_of(list(regrets))
    picture, (left, right) = figure.plt.subplots(1, 2, figsize=(12.5, 4.8), layout="constrained", width_ratios=[1.25, 1])
    draw_shares(left, regrets, style)
    draw_hits(right, regrets, style)
    # The numbers stand outside the axes.
    picture.get_layout_engine().set(rect=(0, 0, 0.9, 1))
    figure.headline(picture, figure.title_of([found], "regret of the chosen number of streams"),
                    f"{len(workloads)} workloads; fitted models were fitted to all of them but the one they choose for")
    return picture
