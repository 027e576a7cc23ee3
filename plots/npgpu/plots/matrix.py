"""A node's matrix as heat maps: rates of copies between its GPUs and the host, and latencies of loads, atomics and flags.

Rows are copied from, columns to; of a latency, the device of the row loads from the memory of the column. The scale of a
panel begins at 0, so that two colours are as far apart as their rates."""
import argparse

import numpy as np

from npgpu.plots import figure, loader

HOW = {"copy-engine": "copy engines", "sm-kernel": "a kernel"}
LATENCY = {"chase": "a load", "atomic": "an atomic addition", "flag": "a flag until it is seen"}


def ends(matrix, devices):
    used = {end for cell in matrix["cells"] for end in (cell["source"], cell["target"])}
    return [end for end in ["host", *devices] if end in used]


def short(name):
    return name.rsplit(":", 1)[-1]


def values(matrix, names):
    scale = 1e3 if matrix["unit"] == "us" else 1e-9
    place = {name: i for i, name in enumerate(names)}
    grid = np.full((len(names), len(names)), np.nan)
    for cell in matrix["cells"]:
        if loader.usable(cell["value"]):
            grid[place[cell["source"]], place[cell["target"]]] = cell["value"]["value"] * scale
    return grid


def title(matrix):
    if matrix["unit"] == "us":
        return f"Latency of {LATENCY.get(matrix['pattern'], matrix['pattern'])} (ns)"
    between = any("host" not in (c["source"], c["target"]) and c["source"] != c["target"] for c in matrix["cells"])
    how = "copies" if not between else "reads" if matrix["access"] == "read" else "writes"
    return f"{how} by {HOW[matrix['executor']]}{', both ways' if matrix['both_ways'] else ''} (GB/s)"


def draw_matrix(ax, matrix, devices):
    names = ends(matrix, devices)
    grid = values(matrix, names)
    # Copies within a GPU are ten times as fast as all others, and are written and not coloured.
    colored = np.where(np.eye(len(names), dtype=bool), np.nan, grid)
    top = np.nanmax(colored) if np.isfinite(colored).any() else 1
    ax.imshow(colored, vmin=0, vmax=top, cmap="viridis")
    if len(names) <= 12:
        for (row, column), value in np.ndenumerate(grid):
            if np.isfinite(value):
                dark = np.isfinite(colored[row, column]) and value < 0.6 * top
                ax.annotate(figure.digits(value), (column, row), ha="center", va="center",
                            color="white" if dark else "black", fontsize="small")
    place = {name: i for i, name in enumerate(names)}
    for cell in matrix["cells"]:
        if cell.get("verdict") in ("slow", "undecided"):
            ax.add_patch(figure.plt.Rectangle((place[cell["target"]] - 0.5, place[cell["source"]] - 0.5), 1, 1, fill=False,
                                              edgecolor="#d62728", linewidth=1.6))
    ticks = range(0, len(names), max(1, len(names) // 16))
    ax.set_xticks(ticks, [short(names[i]) for i in ticks])
    ax.set_yticks(ticks, [short(names[i]) for i in ticks])
    ax.grid(False)
    ax.set_title(title(matrix), loc="left", fontweight="bold", fontsize="small")


def read(path):
    """What 'npgpu report --json' says of the trace, or wrote to the file."""
    content = loader.report(path) if loader.is_trace(path) else None
    _, report = loader.read_json(path, "npgpu report TRACE --json", content)
    if not report.get("matrix"):
        raise loader.BadTrace(f"{path}: it has no matrix; npgpu matrix measures one")
    return report


def options():
    parser = argparse.ArgumentParser(description=figure.about(__doc__))
    parser.add_argument("trace", help="npgpu trace (.h5), or what 'npgpu report TRACE --json' wrote (-: from a pipe)")
    return figure.look(parser, "matrix.png")


@figure.drawn
def draw(trace):
    """Heat maps of a node's matrix."""
    report = read(trace)
    node = report["matrix"]
    devices = [d["id"] for d in node["devices"]]
    if not node["matrices"]:
        raise loader.BadTrace(f"{trace}: its matrix has no copies between devices; the figure numa shows those of NUMA nodes")
    shown = [m for m in node["matrices"] if any(loader.usable(cell["value"]) for cell in m["cells"])]
    if not shown:
        raise loader.BadTrace(f"{trace}: its matrix has no usable rate of a copy")
    columns = min(len(shown), 3)
    rows = -(-len(shown) // columns)
    side = 2.4 + 0.18 * min(len(devices), 12)
    picture, axes = figure.plt.subplots(rows, columns, figsize=(side * columns, side * rows), squeeze=False,
                                        layout="constrained")
    for ax, matrix in zip(axes.flat, shown):
        draw_matrix(ax, matrix, devices)
    for ax in list(axes.flat)[len(shown):]:
        ax.set_visible(False)
    simulated = all(d["simulated"] for d in node["devices"])
    names = list(dict.fromkeys(d["name"] for d in node["devices"]))
    figure.headline(picture, f"{'SIMULATED ' if simulated else ''}{len(devices)} x {', '.join(names)}: rows from, columns to", "")
    return picture
