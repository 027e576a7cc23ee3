"""Every sample: how far each trial lies from the median of its point, so that noise can be seen.

Without --bytes all sizes; with it one size, its trials visit by visit in the order in which they ran, and their
distribution. A point's median is that over its visits; grey are visits that were disturbed and do not count."""
import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import COLORS, FuncFormatter, GREY, plt

LEFT_OUT = "#aaaaaa"
CLOSEST = 0.065  # of the axis: labels that are nearer to each other would overlap
LINEAR = 2.0  # percent: between -2 and 2 the scale is linear, beyond it logarithmic


def all_sizes(curves):
    drawing, axes = figure.grid([(None, [c]) for c in curves])
    left_out = False
    for ax, c in zip(axes, curves):
        for n, stop, visits, median, low, high in zip(c.bytes, c.stop, loader.samples_of(c), c.us, c.low_us, c.high_us):
            if not median > 0:
                continue
            # Trials from left to right in the order in which they ran, within the room of their size.
            room = max(1, places_of(visits)[-1][-1])
            for (us, counts), places in zip(visits, places_of(visits)):
                left_out |= not counts
                ax.plot(n * 2 ** (0.26 * places / room - 0.13), 100 * (us / median - 1), linestyle="none", marker=".", markersize=3.2,
                        markeredgewidth=0, alpha=0.6, color=color_of(stop, counts))
            if np.isfinite(low):
                ax.vlines(n, 100 * (low / median - 1), 100 * (high / median - 1), color="black", linewidth=1.1, zorder=3)
        ax.axhline(0, color=GREY, linewidth=0.6)
        ax.set_yscale("symlog", linthresh=LINEAR, linscale=1.5)
        percent_axis(ax)
        ax.set_ylabel("Trial relative to the point's median")
        figure.size_axis(ax, c.bytes.min(), c.bytes.max(), narrow=len(curves) > 2)
        if len(curves) > 1:
            ax.set_title(c.words["direction"], loc="left", fontweight="bold")
    handles = {"trial": COLORS[0], "trial of a point that did not converge": COLORS[1],
               **({"trial of a disturbed visit, which does not count": LEFT_OUT} if left_out else {})}
    handles = {word: plt.Line2D([], [], linestyle="none", marker="o", markersize=4, color=color)
               for word, color in handles.items()}
    handles["95 % interval of the median"] = plt.Line2D([], [], color="black")
    drawing.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(0.01, 0.0),
                   ncols=2 if left_out else 3)
    return drawing


def color_of(stop, counts):
    return COLORS[1 if stop == "not-converged" else 0] if counts else LEFT_OUT


def places_of(visits):
    """For each visit the places of its trials among all, with one free place between visits."""
    places, first = [], 0
    for us, _ in visits:
        places.append(np.arange(first, first + len(us)))
        first += len(us) + 1
    return places


def percent_axis(ax):
    low, high = ax.get_ylim()
    fine = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    steps = fine if max(-low, high) < 1 else [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000]
    ticks = [t for t in [-s for s in steps[:0:-1]] + steps if low <= t <= high]
    places = ax.transScale.transform([(1, t) for t in ticks])[:, 1]
    kept = []  # from 0 outwards, as far apart as labels are high
    for tick, place in sorted(zip(ticks, places), key=lambda t: abs(t[0])):
        if all(abs(place - other) > CLOSEST * np.ptp(places) for _, other in kept):
            kept.append((tick, place))
    ax.set_yticks([tick for tick, _ in kept])
    ax.set_yticks([], minor=True)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:+g} %" if v else "0"))


def one_size(curves, wanted):
    chosen = [(c, i, loader.samples_of(c)[i]) for c in curves for i in np.flatnonzero((c.bytes == wanted) & (c.us > 0))]
    if not chosen:
        have = ", ".join(figure.size_text(int(n)) for n in curves[0].bytes)
        raise loader.BadTrace(f"--bytes: transfers:{curves[0].series.index} has no usable point of {figure.size_text(wanted)}; it has {have}")
    drawing, axes = plt.subplots(len(chosen), 2, figsize=(6.8, 2.7 * len(chosen) + 0.7), squeeze=False, sharey="row",
                                 gridspec_kw={"width_ratios": [4, 1]}, layout="constrained")
    for (ax, side), (c, i, visits) in zip(axes, chosen):
        unit, scale = figure.time_unit(c.us[i])
        times = np.concatenate([us for us, counts in visits if counts]) / scale
        order = np.concatenate([places for places, (_, counts) in zip(places_of(visits), visits) if counts]) + 1
        median, low, high, shortest = (values[i] / scale for values in (c.us, c.low_us, c.high_us, c.min_us))
        for (us, counts), places in zip(visits, places_of(visits)):
            color = COLORS[0] if counts else LEFT_OUT
            ax.plot(places + 1, us / scale, color=color, linewidth=0.6, marker="o", markersize=2.8, markeredgewidth=0)
            if len(visits) > 1:
                ax.hlines(np.median(us) / scale, places[0] + 0.6, places[-1] + 1.4, color=color, linewidth=1.6)
        for a in (ax, side):
            if np.isfinite(low):
                a.axhspan(low, high, color=COLORS[4], alpha=0.3, linewidth=0)
            a.axhline(median, color="black", linewidth=0.9)
        ax.annotate(f"median {median:.4g} {unit}", (1, median), xycoords=("axes fraction", "data"), xytext=(-2, 3),
                    textcoords="offset points", ha="right", fontsize=7.5)
        ax.annotate(f"shortest {shortest:.4g} {unit}", (order[np.argmin(times)], shortest), xytext=(0, -9),
                    textcoords="offset points", ha="center", fontsize=7.5, color=GREY)
        ax.set_xlabel("Trial, in the order of the run" + (f"; {len(visits)} visits" if len(visits) > 1 else ""))
        ax.set_ylabel(f"Latency of a copy, one way ({unit})")
        ax.set_xlim(0.5, places_of(visits)[-1][-1] + 1.5)
        ax.margins(y=0.15)
        ax.ticklabel_format(axis="y", useOffset=False)
        side.hist(times, bins=min(40, max(5, len(times) // 3)), orientation="horizontal", color=COLORS[0], alpha=0.7)
        side.set_xlabel("Trials")
        side.yaxis.set_tick_params(labelleft=False)
        note = ", not converged" if c.stop[i] == "not-converged" else ""
        ax.set_title(f"{c.words['direction']}, {figure.size_text(wanted)}{note}", loc="left", fontweight="bold")
    return drawing


def options():
    parser = figure.options(__doc__, "samples.png", "transfers")
    parser.add_argument("--bytes", type=figure.size, help="one size instead of all: 4096, 4KiB, 1.5MiB")
    return parser


@figure.drawn
def draw(trace, case=None, bytes=None):
    """Every trial of one series (the first, or the one that `case` names), of all sizes or of one."""
    chosen = loader.load(trace, "transfers", case or [("transfers", [0])])
    if len(chosen) > 1:
        raise loader.BadTrace("this figure shows one series: choose it with --case transfers:N, and name one trace")
    series = chosen[0]
    curves = [c for c in loader.curves_of([series]) if c.lanes == 1]
    drawing = all_sizes(curves) if bytes is None else one_size(curves, bytes)
    figure.headline(drawing, figure.title_of([series], "every sample"), series.title)
    return drawing
