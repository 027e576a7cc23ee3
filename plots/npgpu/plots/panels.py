"""The common frame of rate and latency: a panel for each way that copies go, and a name at the end of each curve."""
import numpy as np

from npgpu.plots import figure, loader


def panels_of(curves):
    """Curves by what they move where: [(title, [curve])]."""
    panels = {}
    for c in curves:
        lanes = [lane["name"] for lane in c.series.document["lanes"]]
        way = "" if c.series.case["pattern"] == "stream" else " " + c.series.case["pattern"]
        panels.setdefault((" + ".join(lanes) if len(lanes) > 1 else c.series.case["direction"]) + way, []).append(c)
    return list(panels.items())


def case_of(series):
    """What a case of copies is, whichever way it goes."""
    return tuple(value for word, value in series.words().items() if word not in ("direction", "pattern"))


def styles_of(series):
    """The style of a curve: colour by its case; of several lanes at once each has dashes of its own."""
    style = figure.case_styles(series, case_of)

    def of(curve):
        color, dashes, marker = style[case_of(curve.series)]
        is_part = curve.lanes < len(curve.series.document["lanes"])
        return color, figure.DASHES[1 + curve.lane % 3] if is_part else dashes, marker
    return of


def draw_curve(axes, curve, values, style):
    """Through the sizes that were asked for; dots are their perturbed neighbours. Returns whether an interval is vague."""
    y, low, high = values
    main, dots = ~curve.perturbed, curve.perturbed
    axes.plot(curve.bytes[dots], y[dots], color=style[0], linestyle="none", marker=".", markersize=3, alpha=0.7, markeredgewidth=0)
    return figure.draw_points(axes, curve.bytes[main], y[main], low[main], high[main], style)


def draw(series, what, values, dress, wanted=lambda curve: True, note=lambda curve: ""):
    """A figure of copies over size. `values(curve)` is (y, low, high); `dress(axes, curves, of)` draws what is no curve and
    sets the limits, of(curve) is (colour, dashes, marker); `note(curve)` is a second line of its name."""
    of = styles_of(series)
    panels = [(title, inside) for title, its in panels_of(loader.curves_of(series)) if (inside := list(filter(wanted, its)))]
    if not panels:
        raise loader.BadTrace(f"{series[0].trace.path}: holds no usable point of one direction alone")
    shared, names = loader.named_in_panels([[c.words for c in inside] for _, inside in panels])
    picture, grid = figure.grid(panels, most=2)
    ends, vague = {}, False
    for axes, (title, inside), (common, own) in zip(grid, panels, names):
        ends[axes] = []
        for c, name in zip(inside, own):
            vague |= draw_curve(axes, c, values(c), of(c))
            last = np.flatnonzero(~c.perturbed)[-1] if not c.perturbed.all() else -1
            text = "\n".join(filter(None, (name, note(c))))
            ends[axes] += [(c.bytes[last], values(c)[0][last], text, of(c)[0])] if text else []
        dress(axes, inside, of)
        figure.size_axis(axes, min(c.bytes.min() for c in inside), max(c.bytes.max() for c in inside), narrow=len(panels) > 1)
        axes.set_title(title if len(panels) > 1 else "", loc="left", fontweight="bold")
        axes.set_title(common, loc="right", fontsize=8, color=figure.GREY)
    if len(panels) > 1:  # as high as names need, and as wide as three columns without
        lines = max(sum(1 + text.count("\n") for _, _, text, _ in its) for its in ends.values())
        picture.set_size_inches(10.4, 0.5 + max(2.6, 0.9 + 0.15 * lines) * -(-len(panels) // 2))
    figure.headline(picture, figure.title_of(series, what), "; ".join(filter(None, (
        shared, "dots: perturbed sizes" if any(c.perturbed.any() for _, inside in panels for c in inside) else "",
        figure.HOLLOW if vague else ""))))
    figure.label_ends(picture, ends)
    return picture
