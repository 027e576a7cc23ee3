"""What pageable memory and odd sizes cost: time of pageable over pinned copies, and what a few bytes more or less change
(Allada et al. 2009, of its figures 4 to 7).

Left: the time with pageable memory over that with pinned memory, by size. Right: the rate of each perturbed size over that of
the size next to it. Bands and bars follow from the intervals of both."""
import numpy as np

from npgpu.plots import figure, loader, panels


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
    series = loader.load(trace, "transfers", case)
    curves, of = loader.curves_of(series), panels.styles_of(series)
    drawn_panels = [("pageable over pinned, time", pageable_over_pinned(curves), "Times as long"),
                    ("a few bytes more or less, rate", odd_over_even(curves), "Of the rate next to it")]
    drawn_panels = [p for p in drawn_panels if p[1]]
    if not drawn_panels:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no case with pageable and pinned memory, and no perturbed sizes")
    picture, grid = figure.grid(drawn_panels)
    ends, vague = {}, False
    for ax, (title, drawn, label) in zip(grid, drawn_panels):
        shared, own = loader.shared_and_own([c.words for c, _, _ in drawn])
        ends[ax] = []
        for at, ((c, sizes, (value, low, high)), name) in enumerate(zip(drawn, own)):
            color, _, marker = of(c)
            dashes = "none" if label.startswith("Of") else figure.DASHES[at % len(figure.DASHES)]  # a case both ways has one colour
            vague |= figure.draw_points(ax, sizes, value, low, high, (color, dashes, marker))
            ends[ax].append((sizes[-1], value[-1], name or shared, color))
        ax.axhline(1, color=figure.GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        figure.size_axis(ax, min(s.min() for _, s, _ in drawn), max(s.max() for _, s, _ in drawn), narrow=len(drawn_panels) > 1)
        ax.set_ylabel(label)
        ax.set_title(title, loc="left", fontweight="bold")
    shown = [c.series for _, drawn, _ in drawn_panels for c, _, _ in drawn]
    figure.headline(picture, figure.title_of(shown, "what memory and sizes cost"), figure.HOLLOW if vague else "")
    figure.label_ends(picture, ends)
    return picture
