"""What follows freed memory: how long reads of the device's memory are slower, over the bytes that were freed.

A filled marker is the median time until reads are as fast as before; a hollow one the time of the call itself where no
read was slower. The band is the 95 % interval of filled ones."""
import numpy as np

from npgpu.plots import figure, loader

NAMES = {"free": "cudaFree", "pool-free": "cudaFreeAsync, the pool keeps it", "pool-trim": "cudaMemPoolTrimTo",
         "managed-free": "cudaFree of managed memory", "process-free": "cudaFree by another process",
         "process-end": "another process ends"}


def times_of(series):
    """(bytes, low, median, high, is slower) in ms, by bytes; of points without a usable time nothing."""
    rows = []
    for p in sorted(series.points, key=lambda p: p["bytes"]):
        is_slower = loader.usable(p["slowed"])
        time = p["done_us"] if is_slower else p["host_us"]
        if loader.usable(time):
            rows.append([p["bytes"], *(loader.number(time[k]) * 1e-3 for k in ("low", "value", "high")), is_slower])
    return np.array(rows, dtype=float).reshape(-1, 5).T


def slope_of(series):
    """ms a byte that clearing takes, without what the call itself takes; NaN of fewer than two sizes."""
    points = [(p["bytes"], 1e-3 * (p["done_us"]["value"] - p["host_us"]["value"])) for p in series.points
              if loader.usable(p["slowed"]) and loader.usable(p["done_us"]) and loader.usable(p["host_us"])]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:] if a[0] != b[0]]
    return float(np.median(slopes)) if slopes else np.nan


def name_of(series):
    """What frees, and where; of another call nothing."""
    return (series.case["call"], series.trace.name, series.device) if series.case["call"] in NAMES else None


def options():
    return figure.options(__doc__, "frees.png", "calls")


@figure.drawn
def draw(trace, case=None):
    """Time until reads are as fast as before memory was freed, over its bytes."""
    calls = [c for c in loader.load(trace, "calls", case) if c.case["call"] in NAMES]
    drawn = [(c, t) for c in calls if (t := times_of(c)).size]
    if not drawn:
        raise loader.BadTrace(f"{loader.first(trace)}: holds no calls that free memory (npgpu calls --call free)")
    several = len({(c.trace.name, c.device) for c, _ in drawn}) > 1
    labels = [NAMES[c.case["call"]] + (f" {c.trace.name} {c.device}" if several else "") for c, _ in drawn]
    style = figure.case_styles([c for c, _ in drawn], name_of)
    picture, (axes,) = figure.grid([("", drawn)])
    for series, (size, low, median, high, slower) in drawn:
        color, dashes, marker = style[name_of(series)]
        axes.plot(size, median, color=color, linestyle=dashes, linewidth=1)
        for shown, fill in ((slower > 0, color), (slower == 0, "none")):
            axes.plot(size[shown], median[shown], color=color, linestyle="none", marker=marker, markersize=5,
                      markerfacecolor=fill)
        known = ~figure.is_vague(median, low, high) & (slower > 0)
        axes.fill_between(size, np.where(known, low, np.nan), np.where(known, high, np.nan), color=color, alpha=figure.BAND, linewidth=0)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: figure.digits(v)))
    axes.set_ylabel("Until reads are as fast as before (ms)")
    figure.size_axis(axes, min(t[0].min() for _, t in drawn), max(t[0].max() for _, t in drawn), label="Memory that was freed")
    rates = [1e-6 / s for c, _ in drawn if c.case["call"] == "free" and np.isfinite(s := slope_of(c)) and s > 0]
    said = f"after cudaFree the driver clears {' and '.join(f'{r:.0f}' for r in rates)} GB/s" if rates else ""
    figure.headline(picture, figure.title_of([c for c, _ in drawn], "what follows freed memory"), said)
    if len(drawn) > 1:
        figure.label_ends(picture, {axes: [(size[-1], median[-1], label, style[name_of(c)][0])
                                           for (c, (size, _, median, _, _)), label in zip(drawn, labels)]})
    return picture
