"""The host's NUMA nodes against each GPU, as heat maps: rates of copies in both directions.

Rows are GPUs, columns the nodes that buffers and thread were on. A black frame is around the node that the system calls
near the GPU, a dashed red one around the fastest where that is another. The scale begins at 0 and is the same for both
directions."""
import argparse

import numpy as np

from npgpu.plots import figure, loader
from npgpu.plots.matrix import color_bar, heat, ink_on, read, short

WAYS = {"h2d": "Host to GPU (GB/s)", "d2h": "GPU to host (GB/s)"}
FASTEST = figure.COLORS[1]


def grid_of(numa, direction):
    nodes, gpus = numa["host_nodes"], numa["gpus"]
    grid = np.full((len(gpus), len(nodes)), np.nan)
    for row, gpu in enumerate(gpus):
        for cell in gpu["cells"]:
            if cell["direction"] == direction and loader.usable(cell["rate_bytes_per_s"]):
                grid[row, nodes.index(cell["host_node"])] = cell["rate_bytes_per_s"]["value"] * 1e-9
    return grid


def frame(ax, row, column, **how):
    ax.add_patch(figure.plt.Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, linewidth=1.6, **how))


def draw_way(ax, numa, direction, grid, top):
    nodes, gpus = numa["host_nodes"], numa["gpus"]
    image = heat(ax, grid, top, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value) and grid.size <= 144:
            ax.annotate(figure.digits(value), (column, row), ha="center", va="center", color=ink_on(image, value), fontsize=8)
    for row, gpu in enumerate(gpus):
        if gpu["system_node"] in nodes:
            frame(ax, row, nodes.index(gpu["system_node"]), edgecolor="black")
        if gpu["fastest_node"] in nodes and gpu["fastest_node"] != gpu["system_node"]:
            frame(ax, row, nodes.index(gpu["fastest_node"]), edgecolor=FASTEST, linestyle="--")
    ax.set_xticks(range(len(nodes)), [f"node {node}" for node in nodes])
    ax.set_yticks(range(len(gpus)), [short(gpu["id"]) for gpu in gpus])
    ax.grid(False)
    ax.set_title(WAYS[direction], loc="left", fontweight="bold")
    return image


def options():
    parser = argparse.ArgumentParser(description=figure.about(__doc__))
    parser.add_argument("trace", help="npgpu trace (.h5), or what 'npgpu report TRACE --json' wrote (-: from a pipe)")
    return figure.look(parser, "numa.png")


@figure.drawn
def draw(trace):
    """Heat maps of the host's NUMA nodes against each GPU."""
    node = read(trace)["matrix"]
    numa = node.get("numa") or {"gpus": []}
    if not numa["gpus"]:
        raise loader.BadTrace(f"{trace}: it has no copies of each NUMA node of the host; npgpu matrix --only numa measures them, "
                              "where there are several")
    grids = {direction: grid_of(numa, direction) for direction in WAYS}
    shown = {direction: grid for direction, grid in grids.items() if np.isfinite(grid).any()}
    if not shown:
        raise loader.BadTrace(f"{trace}: its copies of each NUMA node have no rates")
    top = max(np.nanmax(grid) for grid in shown.values())
    picture, axes = figure.plt.subplots(
        1, len(shown), figsize=((1.2 + 0.8 * len(numa["host_nodes"])) * len(shown) + 0.7, 1.2 + 0.32 * len(numa["gpus"])),
        squeeze=False, layout="constrained")
    images = [draw_way(ax, numa, direction, grid, top) for ax, (direction, grid) in zip(axes.flat, shown.items())]
    color_bar(picture, images[0], list(axes.flat), "GB/s, more is better")
    simulated = all(d["simulated"] for d in node["devices"])
    axes.flat[0].set_ylabel("GPU")
    any_other = any(gpu["fastest_node"] != gpu["system_node"] for gpu in numa["gpus"])
    frames = "black frame: nearest node, by the system" + ("\ndashed frame: the fastest, where it is another" if any_other else "")
    figure.headline(picture, f"{'SIMULATED ' if simulated else ''}NUMA nodes of the host", frames)
    return picture
