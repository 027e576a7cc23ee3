"""A node's matrix as heat maps: rates of copies between its GPUs and the host, and latencies of loads, atomics and flags.

Rows are copied from, columns to; of a latency, the device of the row loads from the memory of the column. A scale begins at
0, so that two colours are as far apart as their rates, and is that of all panels of its unit. Better is yellow: the high
rate, and the short time. A red frame is around what is slow, undecided or failed, a
dashed one around copies through the host."""
import argparse

import numpy as np

from npgpu.plots import figure, loader

BAD, STAGED = "#d62728", "staged"  # of a frame; through the host
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


def heat(ax, grid, top, times=False, **how):
    """Cells from 0 to top, yellow is better; returns what a colour bar is of."""
    return ax.imshow(grid, vmin=0, vmax=top, cmap="viridis_r" if times else "viridis", **how)


def ink_on(image, value):
    """Black or white, as can be read on a cell of this value; black on a cell without colour."""
    rgb = np.array(image.cmap(image.norm(value))[:3]) if np.isfinite(value) else np.ones(3)
    return "white" if figure.contrast_to_white(rgb) > 4.5 else "black"


def is_time(matrix):
    return matrix["unit"] == "us"


def colored(matrix, devices):
    """Copies within a GPU are ten times as fast as all others, and are written and not coloured."""
    names = ends(matrix, devices)
    return np.where(np.eye(len(names), dtype=bool), np.nan, values(matrix, names))


def draw_matrix(ax, matrix, devices, top):
    names, shown = ends(matrix, devices), colored(matrix, devices)
    image = heat(ax, shown, top, is_time(matrix))
    if len(names) <= 12:
        for (row, column), value in np.ndenumerate(values(matrix, names)):
            if np.isfinite(value):
                ax.annotate(figure.digits(value), (column, row), ha="center", va="center", color=ink_on(image, shown[row, column]), fontsize=8)
    place = {name: i for i, name in enumerate(names)}
    for cell in matrix["cells"]:
        column, row = place[cell["target"]], place[cell["source"]]
        if is_bad(cell) or cell["access"] == STAGED:
            how = {"edgecolor": BAD, "linewidth": 1.6} if is_bad(cell) else {"edgecolor": "white", "linestyle": (0, (3, 2)), "linewidth": 1}
            ax.add_patch(figure.plt.Rectangle((column - 0.45, row - 0.45), 0.9, 0.9, fill=False, **how))
        if not loader.usable(cell["value"]):
            ax.annotate("x", (column, row), ha="center", va="center", color=BAD, fontweight="bold")
    ticks = range(0, len(names), max(1, len(names) // 16))
    ax.set_xticks(ticks, [short(names[i]) for i in ticks])
    ax.set_yticks(ticks, [short(names[i]) for i in ticks])
    ax.grid(False)
    ax.set_title(title(matrix), loc="left", fontweight="bold", fontsize="small")
    return image


def color_bar(picture, image, axes, label, **where):
    bar = picture.colorbar(image, ax=axes, fraction=0.05, pad=0.02, label=label, **where)
    bar.outline.set_visible(False)


def is_bad(cell):
    """Slow or undecided, without a valid copy, or of a pair that a finding of its own names."""
    return cell.get("verdict") in ("slow", "undecided") or not loader.usable(cell["value"]) or cell.get("failed", False)


def mark_failed(node):
    """In the cells of pairs that a failed finding names."""
    pairs = [set(f["devices"]) for f in node.get("findings", []) if f["health"] == "fail" and len(f["devices"]) == 2]
    for cell in (cell for matrix in node["matrices"] for cell in matrix["cells"]):
        cell["failed"] = {cell["source"], cell["target"]} in pairs


def said(matrices):
    """What the frames mean that there are."""
    cells = [cell for m in matrices for cell in m["cells"]]
    return "; ".join(words for words, there in (
        ("red frame: slow, undecided or failed", any(is_bad(cell) for cell in cells)),
        ("x: no valid copy", not all(loader.usable(cell["value"]) for cell in cells)),
        ("dashed: through the host", any(cell["access"] == STAGED and not is_bad(cell) for cell in cells))) if there)


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
    mark_failed(node)
    if not node["matrices"]:
        raise loader.BadTrace(f"{trace}: its matrix has no copies between devices; the figure numa shows those of NUMA nodes")
    shown = [m for m in node["matrices"] if any(loader.usable(cell["value"]) for cell in m["cells"])]
    if not shown:
        raise loader.BadTrace(f"{trace}: its matrix has no usable rate of a copy")
    columns = min(len(shown), 3)
    rows = -(-len(shown) // columns)
    side = 2.4 + 0.18 * min(len(devices), 12)
    picture, grid = figure.plt.subplots(rows, columns, figsize=(side * columns, side * rows + 0.6), squeeze=False, layout="constrained")
    for ax in list(grid.flat)[len(shown):]:
        ax.set_visible(False)
    scales = {}
    for times in (False, True):
        its = [(ax, m) for ax, m in zip(grid.flat, shown) if is_time(m) == times]
        top = max([np.nanmax(cells) for _, m in its if np.isfinite(cells := colored(m, devices)).any()] or [1])
        for ax, matrix in its:
            scales[times] = draw_matrix(ax, matrix, devices, top)
    for times, image in scales.items():
        color_bar(picture, image, list(grid.flat), "ns, less is better" if times else "GB/s, more is better", location="bottom", aspect=40)
    simulated = all(d["simulated"] for d in node["devices"])
    names = list(dict.fromkeys(d["name"] for d in node["devices"]))
    figure.headline(picture, f"{'SIMULATED ' if simulated else ''}{len(devices)} x {', '.join(names)}: rows from, columns to", said(shown))
    return picture
