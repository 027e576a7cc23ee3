"""Copies of many pieces: time of one copy of all over the size of a piece, a line for each way.

A panel for each number of pieces. Bands are 95 % intervals; a filled marker is of a way that cannot be told from the
fastest one."""
import json

import numpy as np

from npgpu.plots import figure, loader


MOST_TICKS = 4
DIRECTIONS = {"h2d": "host to GPU", "d2h": "GPU to host", "d2d": "within the GPU", "peer": "GPU to GPU"}


def tables_of(trace):
    return json.loads(loader.report(trace)).get("piece_tables", [])


def options():
    parser = figure.options(__doc__, "pieces.png", "pieces")
    parser.add_argument("--direction", choices=["h2d", "d2h", "d2d", "peer"], help="(default: the first of the trace)")
    return parser


def line_of(table, pieces, way):
    """(bytes, low, time, high, as fast as the fastest), by bytes."""
    rows = []
    for row in table["rows"]:
        for one in row["ways"]:
            time = one["time_us"]
            if row["pieces"] == pieces and one["way"] == way and loader.usable(time):
                rows.append([row["piece_bytes"], *(loader.number(time[k]) for k in ("low", "value", "high")), one["as_fast"]])
    return np.array(sorted(rows), dtype=float).reshape(-1, 5).T


def headline_of(table):
    simulated = "SIMULATED " if table["simulated"] else ""
    return f"{simulated}{table['device_name']}: copies of many pieces, {DIRECTIONS[table['direction']]}"


@figure.drawn
def draw(trace, case=None, direction=None):
    """Time of each way over the size of a piece."""
    first = loader.first(trace)
    known = [t for t in tables_of(first) if t["rows"]]
    found = [t for t in known if direction in (None, t["direction"])]
    if not found:
        raise loader.BadTrace(f"{first}: holds no copies of pieces{f' {direction}' if direction else ''} (npgpu pieces)")
    table = found[0]
    numbers = sorted({row["pieces"] for row in table["rows"]})
    ways = sorted({one["way"] for t in known for row in t["rows"] for one in row["ways"]})  # of all: one colour in all directions
    style = figure.styles(ways)
    picture, all_axes = figure.grid(numbers)
    for axes, pieces in zip(all_axes, numbers):
        sizes = []
        for way in ways:
            size, low, time, high, first_of = line_of(table, pieces, way)
            if not size.size:
                continue
            sizes += list(size)
            color, dashes, marker = style[way]
            axes.plot(size, time, color=color, linestyle=dashes, linewidth=1)
            for shown, fill in ((first_of > 0, color), (first_of == 0, "none")):
                axes.plot(size[shown], time[shown], color=color, linestyle="none", marker=marker, markersize=4, markerfacecolor=fill)
            known = ~figure.is_vague(time, low, high)
            axes.fill_between(size, np.where(known, low, np.nan), np.where(known, high, np.nan), color=color, alpha=figure.BAND, linewidth=0)
        axes.set_title(f"{pieces} piece{'s' if pieces > 1 else ''}", loc="left", fontweight="bold")
        figure.time_axis(axes, "Time")
        if sizes:
            figure.size_axis(axes, min(sizes), max(sizes), label="Size of a piece")
            axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda n, _: figure.size_text(round(n))))
            ticks = sorted(set(sizes))
            axes.xaxis.set_major_locator(figure.FixedLocator(ticks[::-(-len(ticks) // MOST_TICKS)]))
    handles = [figure.plt.Line2D([], [], color=color, linestyle=dashes, linewidth=1, marker=marker, markersize=4)
               for color, dashes, marker in map(style.get, ways)]
    figure.headline(picture, headline_of(table), f"{table['title']}; filled: no way is faster beyond the intervals")
    picture.legend(handles, ways, loc="upper left", bbox_to_anchor=(0.01, 0.0), ncols=len(ways))
    return picture
