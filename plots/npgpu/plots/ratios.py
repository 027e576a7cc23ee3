"""What pageable memory and odd sizes cost: time of pageable over pinned copies, and what a few bytes more or less change
(Allada et al. 2009, of its figures 4 to 7).

Left: the time with pageable memory over that with pinned memory, by size. Right: the rate of each perturbed size over that of
the size next to it. Bands and bars follow from the intervals of both."""
import numpy as np

from npgpu.plots import figure, loader


def options():
    return figure.options(__doc__, "ratios.png", "transfers")


def quotient(above, below):
    """(value, low, high) of two of them."""
    return above[0] / below[0], above[1] / below[2], above[2] / below[1]


def pageable_over_pinned(curves):
    """[(pageable curve, sizes, (ratio, low, high))] of curves that differ in nothing else."""
    def rest(c):
        return tuple(v for k, v in c.words.items() if k != "memory"), c.lanes
    pinned = {rest(c): c for c in curves if c.words["memory"] == "pinned"}
    found = []
    for c in (c for c in curves if c.words["memory"] == "pageable" and rest(c) in pinned):
        other = pinned[rest(c)]
        sizes, at, of = np.intersect1d(np.where(c.perturbed, -1, c.bytes), np.where(other.perturbed, -2, other.bytes), return_indices=True)
        if len(sizes):
            found.append((c, sizes, quotient((c.us[at], c.low_us[at], c.high_us[at]), (other.us[of], other.low_us[of], other.high_us[of]))))
    return found


def odd_over_even(curves):
    """[(curve, sizes, (rate there over that of the nearest size that was asked for, low, high))]."""
    found = []
    for c in curves:
        odd, main = np.flatnonzero(c.perturbed), np.flatnonzero(~c.perturbed)
        if not len(odd) or not len(main):
            continue
        near = main[[np.abs(c.bytes[main] - c.bytes[i]).argmin() for i in odd]]
        found.append((c, c.bytes[odd], quotient((c.rate[odd], c.low_rate[odd], c.high_rate[odd]), (c.rate[near], c.low_rate[near], c.high_rate[near]))))
    return found


@figure.drawn
def draw(trace, case=None):
    """Pageable over pinned copies, and what a few bytes more or less change."""
    curves = loader.curves_of(loader.load(trace, "transfers", case))
    panels = [("pageable over pinned, time", pageable_over_pinned(curves), "Times as long"),
              ("a few bytes more or less, rate", odd_over_even(curves), "Of the rate next to it")]
    panels = [p for p in panels if p[1]]
    if not panels:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no case with pageable and pinned memory, and no perturbed sizes")
    picture, grid = figure.grid(panels)
    for ax, (title, drawn, label) in zip(grid, panels):
        shared, own = loader.shared_and_own([c.words for c, _, _ in drawn])
        style = figure.styles(own)
        for (c, sizes, (value, low, high)), name in zip(drawn, own):
            color, dashes, marker = style[name]
            dotted = c.perturbed.any() and label.startswith("Of")
            ax.plot(sizes, value, color=color, linestyle="none" if dotted else dashes, marker=marker, markersize=3.2, markeredgewidth=0, label=name or shared)
            ax.fill_between(sizes, low, high, color=color, alpha=0.25, linewidth=0)
        ax.axhline(1, color=figure.GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        figure.size_axis(ax, min(s.min() for _, s, _ in drawn), max(s.max() for _, s, _ in drawn), narrow=len(panels) > 1)
        ax.set_ylabel(label)
        ax.set_title(title, loc="left", fontweight="bold")
        ax.legend(fontsize=6.5)
    shown = [c.series for _, drawn, _ in panels for c, _, _ in drawn]
    figure.headline(picture, figure.title_of(shown, "what memory and sizes cost"), "")
    return picture
