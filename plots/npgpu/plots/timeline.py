"""One step of a recorded application: as it is, and as the best advice would have it, one below the other; and its
kernels by time.

Both are played by the costs of a node, which --on names as for npgpu predict. Rows are the host and the streams."""
import argparse

import matplotlib.pyplot as plt
import numpy as np

from npgpu import program
from npgpu.plots import figure, loader

DOCUMENT, VERSION = "npgpu-app-forecast", 1
SORTS = {"copy in": "#0072B2", "copy out": "#D55E00", "other copy": "#8A6D00", "kernel": "#009E73", "memset": "#CC79A7",
         "in a call": "#777777", "waits": "#cccccc"}
MOST_KERNELS = 8
NEW_STREAM = 0xffff0000  # from here on the program numbers streams that a change adds


def forecast_of(trace, on=None):
    """What npgpu predict says of the recording, or what it wrote before."""
    command, content = "npgpu predict APP.h5 --json", None
    if loader.is_trace(trace):
        loader.Trace(trace).choose("records", None)
        content = program.run("predict", trace, *(("--on", on) if on else ()), "--json")
    name, document = loader.read_json(trace, command, content)
    loader.check_document(name, document, DOCUMENT, VERSION, command)
    if not document.get("played"):
        raise loader.BadTrace(f"{name}: holds no step that was played")
    return document


def sort_of(span):
    host = ("pageable", "pinned")
    if span["on_host"]:
        return "waits" if span["activity"] == "wait" or span["blocks"] else "in a call"
    if span["activity"] != "copy":
        return span["activity"]
    ends = span["source"] in host, span["target"] in host
    return {(True, False): "copy in", (False, True): "copy out"}.get(ends, "other copy")


def rows_of(spans):
    """[(label, spans)]: the host, then streams, those that a change adds last."""
    streams = sorted({s["stream"] for s in spans if not s["on_host"]})
    rows = [("host", [s for s in spans if s["on_host"]])]
    for stream in streams:
        label = f"stream {stream}" if stream < NEW_STREAM else f"new stream {stream - NEW_STREAM + 1}"
        rows.append((label, [s for s in spans if not s["on_host"] and s["stream"] == stream]))
    return rows


def draw_step(axes, played, longest, scale):
    rows = rows_of(played["spans"])
    used = set()
    for at, (_, spans) in enumerate(rows):
        for span in spans:
            sort = sort_of(span)
            used.add(sort)
            wide = (span["end_us"] - span["start_us"]) / longest
            axes.broken_barh([(span["start_us"] / scale, (span["end_us"] - span["start_us"]) / scale)], (at - 0.36, 0.72),
                             facecolor=SORTS[sort], edgecolor="white", linewidth=0.4 if wide > 0.004 else 0)
            if wide > 0.12 and span["text"]:
                text = span["text"] if len(span["text"]) <= 100 * wide else span["text"][:int(100 * wide) - 1] + "…"
                axes.text((span["start_us"] + span["end_us"]) / 2 / scale, at, text, ha="center", va="center", fontsize="x-small",
                          color="black" if sort == "waits" else "white", clip_on=True, parse_math=False)
    axes.axvline(played["step_us"] / scale, color="black", linewidth=1)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, longest / scale * 1.02)
    axes.grid(axis="y", visible=False)
    axes.set_title(f"{played['what']}: {figure.time_text(played['step_us'])} a step", loc="left", fontweight="bold", parse_math=False)
    return used


def draw_kernels(axes, kernels):
    more = kernels[MOST_KERNELS:]
    kernels = kernels[:MOST_KERNELS]
    unit, scale = figure.time_unit(kernels[0]["total_us"])
    totals = np.array([k["total_us"] for k in kernels]) / scale
    axes.barh(np.arange(len(kernels)) + 0.2, totals, height=0.36, color=SORTS["kernel"])
    for at, k in enumerate(kernels):
        name = k["name"] if len(k["name"]) <= 60 else k["name"][:59] + "…"
        times = "once" if k["times"] == 1 else f"{k['times']} times"
        axes.text(0, at - 0.05, f" {name}, {times}: {k['why']}", va="bottom", fontsize="small", parse_math=False)
    axes.set_yticks([])
    axes.set_ylim(len(kernels) - 0.5, -0.6)
    axes.set_xlim(0, max(totals[0], 1e-9) * 1.02)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"Time in a step ({unit})")
    rest = f"; {len(more)} more take less" if more else ""
    axes.set_title(f"kernels by time, and what their shape says of it{rest}", loc="left", fontweight="bold")


@figure.drawn
def draw(trace, on=None):
    of = forecast_of(trace, on)
    steps = of["played"]
    kernels = of["kernels"]
    longest = max(p["step_us"] for p in steps)
    unit, scale = figure.time_unit(longest)
    rows = [max(2, len(rows_of(p["spans"]))) for p in steps] + ([min(len(kernels), MOST_KERNELS) + 1] if kernels else [])
    picture, axes = plt.subplots(len(rows), 1, figsize=(7.2, 0.9 * len(rows) + 0.34 * sum(rows)), layout="constrained",
                                 gridspec_kw={"height_ratios": rows}, squeeze=False)
    axes = axes[:, 0]
    used = set()
    for ax, played in zip(axes, steps):
        used |= draw_step(ax, played, longest, scale)
    axes[len(steps) - 1].set_xlabel(f"Time from the beginning of the step ({unit})")
    if kernels:
        draw_kernels(axes[-1], kernels)
    device = of["device_name"] or of["device"]
    note = "" if len(steps) > 1 else "; nothing that can be judged from the recording makes it faster"
    figure.headline(picture, f"{device}: a step of a recorded application", f"played by the costs of {of['costs_of']}{note}")
    handles = [plt.Rectangle((0, 0), 1, 1, color=SORTS[s]) for s in SORTS if s in used]
    picture.legend(handles, [s for s in SORTS if s in used], loc="upper left", bbox_to_anchor=(0.01, 0.0), ncols=len(handles))
    return picture


def options():
    parser = argparse.ArgumentParser(description=figure.about(__doc__))
    parser.add_argument("trace", help="recording (.h5), or what 'npgpu predict APP.h5 --json' wrote (-: from a pipe)")
    parser.add_argument("--on", metavar="NODE", help="the costs of this node: a trace, or a device as npgpu predict --on has it")
    return figure.look(parser, "timeline.png")
