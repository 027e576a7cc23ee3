"""A soak over time: rate over its begin, temperature, clock and power of each GPU, a line each.

All are of one load, that of several at once where there is one. Vertical lines are the moments at which a GPU first said
that its clocks were taken away, but for its own power cap."""
import json

import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.figure import plt

PANELS = (("rate_per_s", "rate over its begin"), ("temperature_c", "temperature (°C)"), ("clock_mhz", "SM clock (MHz)"),
          ("power_w", "power (W)"))
USUAL = "tensor, together"


def options():
    parser = figure.options(__doc__, "soak.png", "soaks")
    parser.add_argument("--load", metavar="NAME", help=f"a load as npgpu report names it (default {USUAL})")
    return parser


def soaks_of(trace):
    return json.loads(loader.report(trace)).get("soak_figures", [])


def load_of(soak, name):
    """That load; without a name the usual one, or the first."""
    loads = [one for one in soak["loads"] if len(one["course"]["elapsed_s"]) > 1]
    for wanted in [name] if name else [USUAL]:
        for one in loads:
            if one["name"] == wanted:
                return one
    return None if name or not loads else loads[0]


@figure.drawn
def draw(trace, case=None, load=None):
    """Rate, temperature, clock and power over a soak's time."""
    first = loader.first(trace)
    soaks = [(soak, one) for soak in soaks_of(first) if (one := load_of(soak, load))]
    if not soaks:
        raise loader.BadTrace(f"{first}: holds no soak" + (f" with a load {load}" if load else " of several slices"))
    picture, all_axes = plt.subplots(len(PANELS), 1, sharex=True, figsize=(7.4, 7.2), layout="constrained")
    style = figure.styles([soak["device"] for soak, _ in soaks])
    ends = {}
    for axes, (column, label) in zip(all_axes, PANELS):
        ends[axes] = []
        for soak, one in soaks:
            color, dashes, _ = style[soak["device"]]
            minutes, values = (np.array([loader.number(v) for v in one["course"][name]]) for name in ("elapsed_s", column))
            minutes = minutes / 60
            if column == "rate_per_s":
                values = values / loader.number(one["begin_per_s"]["value"])
            axes.plot(minutes, values, color=color, linestyle=dashes, linewidth=1)
            known = np.flatnonzero(np.isfinite(values))
            ends[axes] += [(minutes[known[-1]], values[known[-1]], soak["device"], color)] if len(known) else []
            for throttle in soak["throttles"]:
                if throttle["reason"] != "power cap":
                    axes.axvline(throttle["at_s"] / 60, color=color, linestyle=dashes, linewidth=0.8, alpha=0.6)
        axes.set_ylabel(label)
    all_axes[-1].set_xlabel("minutes")
    simulated = "SIMULATED " if any(soak["simulated"] for soak, _ in soaks) else ""
    names = sorted({soak["device_name"] for soak, _ in soaks})
    throttled = any(throttle["reason"] != "power cap" for soak, _ in soaks for throttle in soak["throttles"])
    figure.headline(picture, f"{simulated}{', '.join(names)}: soak, {soaks[0][1]['name']}",
                    "vertical lines: clocks were taken away, for another reason than the power cap" if throttled else "")
    figure.label_ends(picture, ends)
    return picture
