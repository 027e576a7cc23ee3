"""What all figures share: look, axes of sizes, panels, labels, the command line, and how errors end."""
import argparse
import functools
import io
import math
import os

import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatter, LogLocator, NullLocator

from npgpu import output
from npgpu.plots import loader

# Okabe & Ito's colours, which the colour-blind tell apart; the order keeps neighbours unlike. Black comes late.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D00"]
DASHES = ["-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5))]
MARKERS = "osD^vP*X"
GREY = "#666666"
FEW_DECADES = 200  # the largest over the smallest
MOST = len(COLORS) * len(DASHES)

LOOK = {
    "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "legend.fontsize": 8, "figure.titlesize": 11,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6, "axes.axisbelow": True, "axes.linewidth": 0.8, "lines.linewidth": 1.4,
    "legend.frameon": False, "savefig.dpi": 200, "figure.dpi": 100, "pdf.fonttype": 42, "svg.fonttype": "none",
    "svg.hashsalt": "npgpu", "axes.unicode_minus": False,
}


def size_text(n):
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= scale and n * 4 % scale == 0:
            return f"{n / scale:g} {unit}"
    return f"{n:g} B"


CHOSEN = argparse.Namespace(title=None)  # of the figure that is being drawn


def drawn(draw):
    """Of a function that returns a figure: it draws in the look of all figures, and leaves the caller's look and pyplot's
    list of open figures as they were. It takes the keywords title, width (inches) and font_size (points), too."""
    @functools.wraps(draw)
    def draw_so(*what, title=None, width=None, font_size=None, **how):
        was, CHOSEN.title = CHOSEN.title, title
        try:
            with plt.rc_context({**LOOK, **sizes_of(font_size)}):
                picture = draw(*what, **how)
                if width:
                    inches = picture.get_size_inches()
                    picture.set_size_inches(width, inches[1] * width / inches[0])
                picture.draw_without_rendering()  # ticks get their labels only now, and in this look
        finally:
            CHOSEN.title = was
        plt.close(picture)
        return picture
    return draw_so


def sizes_of(font_size):
    scale = (font_size or 9) / 9
    return {"font.size": 9 * scale, "axes.titlesize": 9 * scale, "axes.labelsize": 9 * scale,
            "legend.fontsize": 8 * scale, "figure.titlesize": 11 * scale}


def look(parser, default):
    """The options of every figure."""
    parser.add_argument("-o", "--output", default=default, help=f"picture: .png, .svg or .pdf (default {default})")
    parser.add_argument("--title", help="title of the figure, instead of the machine and what is shown")
    parser.add_argument("--width", type=positive, metavar="INCHES", help="width of the figure; its height follows")
    parser.add_argument("--font-size", type=positive, metavar="POINTS", help="size of the text (default 9)")
    return parser


def positive(word):
    try:
        value = float(word)
    except ValueError:
        value = 0
    if not 0 < value < 1000:
        raise argparse.ArgumentTypeError(f"'{word}' is no number above 0 and below 1000")
    return value


def size(word):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    try:
        for unit, scale in units.items():
            if word.endswith(unit):
                return int(float(word.removesuffix(unit)) * scale)
        return int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' is no size (4096, 4KiB, 1.5MiB)") from None


def about(text):
    """The first paragraph of a script's own description, as argparse takes it."""
    return " ".join(text.split("\n\n")[0].split()).replace("%", "%%")


def options(text, default, kind):
    parser = argparse.ArgumentParser(description=about(text))
    parser.add_argument("trace", nargs="+", help="npgpu trace (.h5), or what 'npgpu report TRACE --json' wrote (-: from a pipe)")
    parser.add_argument("--case", type=loader.case_of, action="append", metavar="KIND:LIST",
                        help=f"only these series, as 'npgpu report' numbers them: {kind}:0,3")
    return look(parser, default)


def save(figure, path):
    """Writes the picture, whose bytes depend on the data alone."""
    suffix = os.path.splitext(path)[1].lower()
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {"Software": None}}
    if suffix not in metadata:
        raise loader.BadTrace(f"--output: '{path}' ends in none of .png, .svg, .pdf")
    try:
        with plt.rc_context(LOOK):
            picture = io.BytesIO()
            figure.set_layout_engine("none")  # it was laid out when it was drawn
            figure.savefig(picture, format=suffix[1:], metadata=metadata[suffix], bbox_inches="tight", pad_inches=0.08)
        output.write(path, picture.getvalue())
    except OSError as error:
        raise loader.BadTrace(f"--output: cannot write '{path}': {error.strerror}") from None


def title_of(series, what):
    """Machine first; a simulated device is no measurement, and the title says so."""
    devices = list(dict.fromkeys(s.device_name for s in series))
    hosts = list(dict.fromkeys(s.trace.hostname for s in series if s.trace.hostname and not s.simulated))
    simulated = [s.simulated for s in series]
    mark = "SIMULATED " if all(simulated) else "partly SIMULATED: " if any(simulated) else ""
    named = ", ".join(devices) if len(devices) <= 3 else f"{len(devices)} devices"
    return mark + named + (f" on {', '.join(hosts)}" if hosts else "") + ": " + what


def digits(value):
    """Three significant digits, never an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def time_unit(us):
    """The unit that suits a time, and its length in us."""
    for unit, scale in (("s", 1e6), ("ms", 1e3), ("us", 1)):
        if us >= scale * 0.9995:
            return unit, scale
    return "ns", 1e-3


def time_text(us):
    unit, scale = time_unit(us)
    return f"{digits(us / scale)} {unit}"


def time_axis(axes, label):
    """Logarithmic. Where it has few powers of ten, 2 and 5 times a power have labels, too: one label is no scale."""
    axes.set_yscale("log")

    def text(us, _):
        low, high = axes.get_ylim()
        unit, scale = time_unit(us)
        # As many digits as neighbouring ticks need to differ.
        narrow = high < 1.1 * low
        return f"{us / scale:.{2 + math.ceil(math.log10(high / (high - low)))}g} {unit}" if narrow else time_text(us)

    axes.yaxis.set_major_formatter(FuncFormatter(text))

    def between(us, _):
        low, high = axes.get_ylim()
        return text(us, None) if high < FEW_DECADES * low else ""

    axes.yaxis.set_minor_locator(LogLocator(base=10, subs=(2, 5)))
    axes.yaxis.set_minor_formatter(FuncFormatter(between))
    axes.set_ylabel(label)


def size_axis(axes, smallest, largest, narrow=False, label="Transfer size"):
    """log2, in bytes, KiB, MiB, GiB; a tick at every power of 16, a label at every other one where they are many or it is narrow."""
    axes.set_xscale("log", base=2)
    smallest = max(1, smallest)
    margin = max(2 ** 0.4, (largest / smallest) ** 0.02)
    axes.set_xlim(smallest / margin, largest * margin)
    step = 4 if largest / smallest > 4096 else 1
    ticks = [2 ** k for k in range(0, 64) if k % step == 0 and smallest <= 2 ** k <= largest]
    if len(ticks) < 2:
        ticks = sorted({int(smallest), int(largest)})
    labelled = set(ticks[::2] if len(ticks) > (4 if narrow else 10) else ticks)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: size_text(round(n)) if round(n) in labelled else ""))
    axes.set_xlabel(label)


def panels_of(curves):
    """Curves by what they move where: [(title, [curve])]. One panel where there are few."""
    if len(curves) <= 5:
        return [("", curves)]
    panels = {}
    for c in curves:
        direction = c.series.case["direction"]
        lanes = [lane["name"] for lane in c.series.document["lanes"]]
        way = "" if c.series.case["pattern"] == "stream" else " " + c.series.case["pattern"]
        direction = " + ".join(lanes) if len(lanes) > 1 else direction
        panels.setdefault(direction + way, []).append(c)
    return list(panels.items())


def styles(labels):
    """Colour, dashes and marker for each label, the same in every panel."""
    order = list(dict.fromkeys(labels))
    if len(order) > MOST:
        raise loader.BadTrace(f"{len(order)} curves are too many for one figure: choose some with --case")
    return {label: (COLORS[i % len(COLORS)], DASHES[i // len(COLORS)], MARKERS[i % len(MARKERS)])
            for i, label in enumerate(order)}


def grid(panels):
    """A figure with one pair of axes a panel, and room for title and legend."""
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    width = {1: 6.4, 2: 8.6, 3: 10.4}[across]
    height = 4.0 if len(panels) == 1 else 2.75 * down + 0.5
    figure, axes = plt.subplots(down, across, figsize=(width, height), squeeze=False, layout="constrained")
    for spare in axes.flat[len(panels):]:
        spare.set_visible(False)
    return figure, list(axes.flat[:len(panels)])


def headline(figure, title, subtitle):
    figure.suptitle((title if CHOSEN.title is None else CHOSEN.title) + ("\n" if subtitle else ""), x=0.012, ha="left", fontweight="bold")
    if subtitle:
        figure.draw_without_rendering()  # lays the title out, so that the second line can stand below it
        box = figure._suptitle.get_window_extent().transformed(figure.transFigure.inverted())
        figure.text(0.012, box.y0, subtitle, ha="left", va="bottom", fontsize=9, color=GREY)


def draw_line(axes, curve, y, low, high, style, **more):
    """Line and band through the sizes that were asked for; dots are their perturbed neighbours."""
    color, dashes, marker = style
    main = ~curve.perturbed
    axes.plot(curve.bytes[main], y[main], color=color, linestyle=dashes, marker=marker, markersize=3.2, markeredgewidth=0,
              markevery=max(1, int(main.sum()) // 14), **more)
    axes.fill_between(curve.bytes[main], low[main], high[main], color=color, alpha=0.25, linewidth=0)
    if curve.perturbed.any():
        axes.plot(curve.bytes[~main], y[~main], color=color, linestyle="none", marker=".", markersize=3, alpha=0.7,
                  markeredgewidth=0)


def draw_panels(series, what, draw, wanted=lambda curve: True):
    """The common frame of rate and latency: panels, colours, legend or direct labels, titles. `draw(axes, curves, of)`
    draws the curves of a panel; of(curve) is (colour, dashes, marker). Returns the figure."""
    curves = loader.curves_of(series)  # all of them, so that a curve has one colour in every figure of a trace
    panels = panels_of(curves)
    by_panel = len(panels) > 1
    # Within panels, direction and pattern are the panel's title; unless lanes differ in it.
    words = []
    for c in curves:
        own = dict(c.words)
        if by_panel:
            own["pattern"] = ""
            if len(c.series.document["lanes"]) == 1:
                own["direction"] = ""
        words.append(own)
    shared, labels = loader.shared_and_own(words)
    style = styles(labels)
    label_of = {id(c): label for c, label in zip(curves, labels)}

    panels = [(title, [c for c in inside if wanted(c)]) for title, inside in panels]
    panels = [(title, inside) for title, inside in panels if inside]
    if not panels:
        raise loader.BadTrace(f"{series[0].trace.path}: holds no usable point of one direction alone")
    figure, axes = grid(panels)
    for ax, (title, inside) in zip(axes, panels):
        draw(ax, inside, lambda c: style[label_of[id(c)]])
        ax.set_title(title, loc="left", fontweight="bold")
        size_axis(ax, min(c.bytes.min() for c in inside), max(c.bytes.max() for c in inside),
                  narrow=len(panels) > 1)
    dots = "; dots: perturbed sizes" if any(c.perturbed.any() for c in curves) else ""
    headline(figure, title_of(series, what), shared + dots)
    drawn = [label_of[id(c)] for _, inside in panels for c in inside]
    used = [l for l in dict.fromkeys(labels) if l and l in drawn]
    if used:
        handles = [plt.Line2D([], [], color=style[l][0], linestyle=style[l][1], marker=style[l][2], markersize=3.2) for l in used]
        figure.legend(handles, used, loc="upper left", bbox_to_anchor=(0.01, 0.0), ncols=min(len(used), 3, max(2, len(panels))))
    return figure
