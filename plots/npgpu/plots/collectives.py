"""Collectives by size: bus bandwidth with what the links allow, and time, a line for each operation.

The dashed line is the limit of the bus bandwidth of the first operation, by copies at once. Bands are 95 % intervals."""
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
    picture, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7.4, 7.2), layout="constrained")
    style = figure.styles([name_of(one["case"]) for one, _ in series])
    ends, vague = {above: [], below: []}, False
    for one, points in series:
        label = name_of(one["case"])
        sizes = loader.numbers(points, "bytes")
        for axes, key, factor in ((above, "bus_bytes_per_s", 1e-9), (below, "time_us", 1)):
            values, low, high = (loader.numbers(points, key, part) * factor for part in ("value", "low", "high"))
            vague |= figure.draw_points(axes, sizes, values, low, high, style[label])
            ends[axes].append((sizes[-1], values[-1], label, style[label][0]))
    studies = report.get("collective_studies", [])
    limits = [o["limit_bus_bytes_per_s"] for study in studies for o in study["operations"] if o["limit_bus_bytes_per_s"]]
    if limits:
        above.axhline(limits[0] * 1e-9, color=GREY, linestyle="--", linewidth=1)
    above.set_ylabel("bus bandwidth (GB/s)")
    figure.time_axis(below, "time")
    smallest, largest = (f(p["bytes"] for _, points in series for p in points) for f in (min, max))
    figure.size_axis(below, smallest, largest, label="Size")
    names = sorted({one["device_name"] for one, _ in series})
    simulated = "SIMULATED " if any(one["simulated"] for one, _ in series) else ""
    gpus = len(series[0][0]["case"]["devices"].split(","))
    figure.headline(picture, f"{simulated}{gpus} x {', '.join(names)}: collectives", "; ".join(
        filter(None, ("dashed: what the links allow, by copies at once" if limits else "", figure.HOLLOW if vague else ""))))
    figure.label_ends(picture, ends)
    return picture
