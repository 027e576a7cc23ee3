"""Energy of a byte or an operation over idle, a bar for each kind of work.

Bytes and operations have a picture of their own. The line at the end of a bar is the 95 % interval; what was measured
while the clock was lowered is hatched."""
import json

from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY, plt


def options():
    return figure.options(__doc__, "energy.png", "energies")


def costs_of(trace):
    """Figures of energy that are known."""
    return [f for f in json.loads(loader.report(trace)).get("energy_figures", []) if f["each_pj"]["value"] is not None]


@figure.drawn
def draw(trace, case=None):
    """Energy of a byte or an operation over idle, in pJ."""
    first = loader.first(trace)
    costs = costs_of(first)
    groups = {name: [f for f in costs if f["counts"] == name] for name in ("bytes", "operations")}
    groups = {name: some for name, some in groups.items() if some}
    if not groups:
        raise loader.BadTrace(f"{first}: holds no energy of a byte or an operation")
    tall = max(len(some) for some in groups.values())
    picture, all_axes = plt.subplots(1, len(groups), figsize=(5.2 * len(groups), 1.4 + 0.34 * tall), squeeze=False, layout="constrained")
    for axes, (name, some) in zip(all_axes[0], groups.items()):
        for at, f in enumerate(some):
            each = f["each_pj"]
            low, high = (each[k] if each[k] is not None else each["value"] for k in ("low", "high"))
            axes.barh(at, each["value"], color=figure.COLORS[0], alpha=0.75, hatch="//" if f["clock_lowered"] else None,
                      edgecolor="white")
            axes.plot([low, high], [at, at], color="black", linewidth=1.2)
            axes.annotate(figure.digits(each["value"]), (max(high, each["value"]), at), xytext=(4, 0), va="center",
                          textcoords="offset points", fontsize=8, color=GREY)
        axes.set_yticks(range(len(some)), [f["work"] for f in some], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.18 * max(f["each_pj"]["high"] or f["each_pj"]["value"] for f in some))
        axes.set_xlabel(f"pJ a{'n operation' if name == 'operations' else ' byte'} over idle")
    devices = sorted({f"{f['device']} ({f['device_name']})" for f in costs})
    simulated = "SIMULATED " if any(f["simulated"] for f in costs) else ""
    figure.headline(picture, f"{simulated}{', '.join(devices)}: energy", "hatched: the clock was lowered" if any(f["clock_lowered"] for f in costs) else "")
    return picture
