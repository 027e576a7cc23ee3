"""What all figures share: look, axes of sizes, panels, labels, the command line, and how errors end."""
import argparse
import functools
import io
import math
import os

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatter, Locator, MaxNLocator, NullLocator

from npgpu import output
from npgpu.plots import loader

# Okabe & Ito's colours, which the colour-blind tell apart, and four of Tol's for what comes late; the order keeps neighbours
# unlike. The first eight are the names that figures use.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D00",
          "#882255", "#44AA99", "#332288", "#999933"]
DASHES = ["-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5))]
MARKERS = "osD^vP*X"
GREY = "#666666"
BAND = 0.25  # of an interval's colour
VAGUE = 0.5  # of its value: an interval that reaches farther would be all that a figure shows
HOLLOW = f"hollow: no better known than to {100 * VAGUE:.0f} %"
FAR = 0.85  # of the axes' width: an end left of it is named where it is
MOST_TICKS = 9
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


class LogTicks(Locator):
    """Powers of ten, with 2 and 5 times them where they are few, or powers of two; between neighbours round steps. One label
    is no scale."""

    def __init__(self, base=10):
        self.base = base

    def __call__(self):
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin, vmax):
        if not 0 < vmin < vmax < np.inf:
            return []
        powers = np.arange(np.floor(np.log(vmin) / np.log(self.base)), np.ceil(np.log(vmax) / np.log(self.base)) + 1)
        for parts, enough in (((1,), 4), ((1, 2, 5), 3)) if self.base == 10 else (((1,), 3),):
            ticks = [t for power in powers for part in parts if vmin <= (t := part * float(self.base) ** power) <= vmax]
            if len(ticks) >= enough:
                return ticks[::-(-len(ticks) // MOST_TICKS)]
        return [t for t in MaxNLocator(4).tick_values(vmin, vmax) if vmin <= t <= vmax]


def time_axis(axes, label):
    """Logarithmic."""
    axes.set_yscale("log")

    def text(us, _):
        low, high = axes.get_ylim()
        unit, scale = time_unit(us)
        # As many digits as neighbouring ticks need to differ.
        narrow = high < 1.1 * low
        return f"{us / scale:.{2 + math.ceil(math.log10(high / (high - low)))}g} {unit}" if narrow else time_text(us)

    axes.yaxis.set_major_locator(LogTicks())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(text))
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


def styles(labels):
    """Colour, dashes and marker for each label, the same in every panel."""
    order = list(dict.fromkeys(labels))
    if len(order) > MOST:
        raise loader.BadTrace(f"{len(order)} curves are too many for one figure: choose some with --case")
    return {label: (COLORS[i % len(COLORS)], DASHES[i // len(COLORS)], MARKERS[i % len(MARKERS)])
            for i, label in enumerate(order)}


def ink_of(color):
    """The colour for text: dark enough to be read on white."""
    rgb = np.array(matplotlib.colors.to_rgb(color))
    while contrast_to_white(rgb) < 4.5:
        rgb *= 0.95
    return tuple(rgb)


def contrast_to_white(rgb):
    """As the Web Content Accessibility Guidelines define it."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05)


def case_styles(series, key):
    """What `styles` has for each case, by its `key(series)`; None is no case of the figure. All cases of the traces count,
    whether --case names them or not, so that a case has one style in all figures of a trace."""
    traces = {id(s.trace): s.trace for s in series}.values()
    return styles([k for trace in traces for s in trace.kinds[series[0].kind] if (k := key(s)) is not None])


def grid(panels, most=3):
    """A figure with one pair of axes a panel, and room for title and legend."""
    across = min(most, len(panels))
    down = -(-len(panels) // across)
    width = {1: 6.4, 2: 8.6, 3: 10.4}[across]
    height = 4.0 if len(panels) == 1 else 2.75 * down + 0.5
    figure, axes = plt.subplots(down, across, figsize=(width, height), squeeze=False, layout="constrained")
    for spare in axes.flat[len(panels):]:
        spare.set_visible(False)
    return figure, list(axes.flat[:len(panels)])


def headline(figure, title, subtitle):
    figure.suptitle((title if CHOSEN.title is None else CHOSEN.title) + ("\n" * (1 + subtitle.count("\n")) if subtitle else ""), x=0.012, ha="left", fontweight="bold")
    if subtitle:
        figure.draw_without_rendering()  # lays the title out, so that the second line can stand below it
        box = figure._suptitle.get_window_extent().transformed(figure.transFigure.inverted())
        figure.text(0.012, box.y0, subtitle, ha="left", va="bottom", fontsize=9, color=GREY)


def is_vague(value, low, high):
    """Of arrays: whose interval reaches so far from the value that its ends are none of a figure's."""
    return np.maximum(high - value, value - low) > VAGUE * np.abs(value)


def draw_points(axes, x, y, low, high, style, **more):
    """Line and band. A point of a vague interval is hollow and without band, so that it does not set the scale.
    Returns whether there is such a point."""
    color, dashes, marker = style
    vague = is_vague(y, low, high)
    axes.fill_between(x, np.where(vague, np.nan, low), np.where(vague, np.nan, high), color=color, alpha=BAND, linewidth=0)
    axes.plot(x, y, color=color, linestyle=dashes, **{"linewidth": 1.2, **more})
    marked = np.arange(len(x)) % max(1, len(x) // 14) == 0
    for shown, fill in ((marked & ~vague, color), (vague, "white")):
        axes.plot(x[shown], y[shown], color=color, linestyle="none", marker=marker, markersize=3.2, markerfacecolor=fill, markeredgewidth=0.7)
    return bool(vague.any())


def spread(wanted, heights, room):
    """Places near the wanted ones at which labels of these heights do not overlap, from 0 to `room` where they fit: those
    that would overlap move as one, as little as can be."""
    below = np.concatenate([[0], np.cumsum((np.array(heights[:-1]) + heights[1:]) / 2)])
    blocks = []  # [mean, how many]
    for place in np.array(wanted) - below:
        blocks.append([place, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, n), (b, m) = blocks[-2:]
            blocks[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    places = np.concatenate([[mean] * count for mean, count in blocks])
    first = heights[0] / 2
    return np.clip(places, first, max(first, room - below[-1] - heights[-1] / 2)) + below


def label_ends(figure, labels):
    """Names at curves' ends: {axes: [(x, y, text, colour)]}; at the right of the axes, with a line from the curve, or right at
    an end that is far from there. Limits of the axes are set before."""
    away = 12  # points
    texts = {}
    for ax, its in labels.items():
        for x, y, text, color in its:
            at = dict(va="center", textcoords="offset points", fontsize=plt.rcParams["legend.fontsize"], color=ink_of(color), annotation_clip=False)
            if place_of(ax, x, y)[0] < FAR:
                ax.annotate(text, (x, y), xytext=(6, 0), **at, bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1})
            else:
                texts.setdefault(ax, []).append((ax.annotate(text, (1, y), xycoords=("axes fraction", "data"), xytext=(away + 2, 0), **at), x, y, color))
    figure.draw_without_rendering()  # only now is known how large axes and texts are
    points = 72 / figure.dpi
    for ax, its in texts.items():
        width, height = ax.bbox.width * points, ax.bbox.height * points
        its = sorted(((*place_of(ax, x, y), text, color) for text, x, y, color in its), key=lambda it: it[1])
        places = spread([y * height for _, y, _, _ in its], [text.get_window_extent().height * points + 1 for _, _, text, _ in its], height)
        for place, (x, y, text, color) in zip(places, its):
            text.xyann = (away + 2, place - y * height)
            ax.plot([x, 1 + away / width], [y, place / height], color=color, linewidth=0.6, alpha=0.7, transform=ax.transAxes, clip_on=False)


def place_of(axes, x, y):
    """As parts of the axes' width and height."""
    return axes.transAxes.inverted().transform(axes.transData.transform((x, y)))
