"""Collectives by size: bus bandwidth with what the links allow, and time, a line for each operation.

The dashed line is the limit of the bus bandwidth of the first operation, by copies at once. Bars are 95 % intervals."""
import json

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY, plt


def options():
    return figure.options(__doc__, "collectives.png", "collectives")


def name_of(case):
    words = [case["operation"], case["type"]]
    words += ["in place"] if case["in_place"] else []
    words += [case["timing"]] if case["timing"] != "host" else []
    words += ["in graphs"] if case["launch"] != "eager" else []
    # Of older traces: a process or a rank for each GPU, registered buffers, a kernel at the same time.
    words += [case[way] for way, usual in (("processes", "one"), ("buffers", "plain"), ("overlap", "none")) if case[way] != usual]
    return ", ".join(words)


def columns(points, key, factor=1.0):
    """Values, and distances to both ends of the interval."""
    values = loader.numbers(points, key, "value") * factor
    low, high = (loader.numbers(points, key, part) * factor for part in ("low", "high"))
    return values, [values - low, high - values]


@figure.drawn
def draw(trace, case=None):
    """Bus bandwidth and time of collectives over size."""
    first = loader.first(trace)
    report = json.loads(loader.report(first))
    series = report.get("collectives", [])
    series = [(one, [p for p in one["points"] if p["time_us"]["value"]]) for one in series]
    series = [(one, points) for one, points in series if points]
    if not series:
        raise loader.BadTrace(f"{first}: holds no collectives with a figure")
    picture, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 7.2))
    style = figure.styles([name_of(one["case"]) for one, _ in series])
    for one, points in series:
        label = name_of(one["case"])
        color, dashes, marker = style[label]
        sizes = [p["bytes"] for p in points]
        for axes, key, factor in ((above, "bus_bytes_per_s", 1e-9), (below, "time_us", 1)):
            values, ends = columns(points, key, factor)
            axes.errorbar(sizes, values, yerr=ends, color=color, linestyle=dashes, marker=marker, markersize=3, linewidth=1, label=label)
    studies = report.get("collective_studies", [])
    limits = [o["limit_bus_bytes_per_s"] for study in studies for o in study["operations"] if o["limit_bus_bytes_per_s"]]
    if limits:
        above.axhline(limits[0] * 1e-9, color=GREY, linestyle="--", linewidth=1)
    above.set_ylabel("bus bandwidth (GB/s)")
    figure.time_axis(below, "time")
    smallest, largest = (f(p["bytes"] for _, points in series for p in points) for f in (min, max))
    figure.size_axis(below, smallest, largest, label="Size")
    above.legend(loc="best", fontsize=7)
    names = sorted({one["device_name"] for one, _ in series})
    simulated = "SIMULATED " if any(one["simulated"] for one, _ in series) else ""
    gpus = len(series[0][0]["case"]["devices"].split(","))
    figure.headline(picture, f"{simulated}{gpus} x {', '.join(names)}: collectives", "dashed: what the links allow, by copies at once" if limits else "")
    picture.tight_layout(rect=(0, 0, 1, 1 - 0.35 / picture.get_figheight()))
    return picture
