"""Derived parameters of several devices side by side, each with its verdict: what a method says of all, and where it has no answer.

A row is a parameter, a column a device of the traces. The colour says whether `npgpu derive` found that the value agrees with
what was reported of the device; an empty cell is a parameter that the device's trace does not give."""
import argparse
import json
import textwrap

from npgpu import program
from npgpu.plots import figure, loader

# Of the papers' corners, then of the universal form, then of memories.
ROWS = ("SM", "N_PPipe", "L_Pipe", "w*", "Sigma", "FMA latency", "lanes*ports", "lanes", "ports", "N_MINBl", "W_bus", "T_delay",
        "rmw latency", "L1 size", "L1 latency", "L2 size", "memory latency", "shared latency", "shared bandwidth", "banks")
FILL = {"agrees": "#BFE3D0", "disagrees": "#F3C1A8", "undecided": "#F7E7A6", "no reference": "#E9E9E9"}
SHORT = {"FMAs per cycle": "a cycle", "instructions per cycle": "a cycle", "instructions": "", "units": "", "threads": "", "blocks": "",
         "chains": "", "lanes": "", "banks": "", "B/cycle/SM": "B a cycle"}


def devices_of(traces):
    """{(name, id, simulated): {parameter: what derive says}}; a device of several traces has one column."""
    columns = {}
    for trace in traces:
        for device in json.loads(program.run("derive", trace, "--json"))["devices"]:
            column = columns.setdefault((device["device_name"], device["device"], device["simulated"]), {})
            for parameter in device["parameters"]:
                if loader.usable(parameter["estimate"]):
                    column.setdefault(parameter["name"], parameter)
    return columns


def text_of(estimate):
    """The value with its unit, short enough for a cell."""
    value, unit = loader.number(estimate["value"]), estimate["unit"]
    if unit == "bytes":
        return f"{figure.digits(value / (1 << 20))} MiB" if value >= 1 << 20 else f"{figure.digits(value / 1024)} KiB"
    return f"{figure.digits(value)} {SHORT.get(unit, unit)}".strip()


def options():
    parser = argparse.ArgumentParser(description=figure.about(__doc__))
    parser.add_argument("trace", nargs="+", help="npgpu traces (.h5) with probes; each device of them is a column")
    return figure.look(parser, "universality.png")


@figure.drawn
def draw(trace):
    """A table of derived parameters over devices."""
    traces = [trace] if isinstance(trace, str) else trace
    columns = {key: found for key, found in devices_of(traces).items() if any(row in found for row in ROWS)}
    rows = [row for row in ROWS if any(row in found for found in columns.values())]
    if not rows:
        raise loader.BadTrace(f"{traces[0]}: holds no probe that parameters follow from")
    picture, axes = figure.plt.subplots(figsize=(1.4 + 1.35 * len(columns), 1.2 + 0.25 * len(rows)), layout="constrained")
    for x, found in enumerate(columns.values()):
        for y, row in enumerate(rows):
            parameter = found.get(row)
            if parameter is None:
                continue
            axes.add_patch(figure.plt.Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=FILL.get(parameter["verdict"], "#E9E9E9"),
                                                linewidth=0))
            axes.annotate(text_of(parameter["estimate"]), (x, y), ha="center", va="center", fontsize="small")
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    names = [textwrap.fill(name.replace("(R)", ""), 18) + f"\n{id}" + ("\nSIMULATED" if simulated and "SIMULATED" not in name else "")
             for name, id, simulated in columns]
    axes.set_xticks(range(len(columns)), names, fontsize="small")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    found = {p["verdict"] for column in columns.values() for name, p in column.items() if name in rows}
    axes.legend([figure.plt.Rectangle((0, 0), 1, 1, color=FILL[v]) for v in FILL if v in found], [v for v in FILL if v in found],
                loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=len(FILL))
    if figure.CHOSEN.title:
        figure.headline(picture, figure.CHOSEN.title, "")
    return picture
