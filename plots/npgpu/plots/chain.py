"""From the corners to the number of streams: measured corners, derived parameters, a kernel's time, the job's time over streams.

All figures are the program's: of the corners by 'npgpu report', of the parameters by 'npgpu derive', of the kernel and
the job by 'npgpu predict'. The job is that of docs/streams.md unless options say another: y = a x over 16 Mi floats."""
import re

import numpy as np

from npgpu import program
from npgpu.plots import corners, figure, loader
from npgpu.plots.figure import COLORS, GREY, plt

# Option, what docs/streams.md has, and what it is.
JOB = (("bytes-in", "64MiB", "bytes that are copied in"), ("bytes-out", "64MiB", "bytes that are copied out"),
       ("flops", "16777216", "operations of the kernel"), ("bytes-moved", "128MiB", "bytes that the kernel moves"),
       ("bytes-written", "64MiB", "of them, those that it writes"), ("blocks", "65536", "its blocks"),
       ("threads", "256", "threads of a block"), ("in-flight", "1", "loads of a thread that do not wait for each other"))
# Name in `npgpu derive`, scale and unit, and what it is, of the papers' parameters.
PARAMETERS = (("SM", 1, "", "multiprocessors"), ("N_PPipe", 1, "", "lanes of an instruction"),
              ("L_Pipe", 1, "", "instructions in flight"), ("P", 1e-12, "TFLOP/s", "arithmetic, fp32"),
              ("N_MINBl", 1, "", "blocks that fill the bus"), ("W_bus", 1, "", "full over one-thread blocks"),
              ("T_delay", 1, "", "one-thread blocks in flight"), ("B", 1e-9, "GB/s", "memory"))
# Operations whose corners the parameters come from.
OPERATION = {"compute": ("fma", "streaming"), "bandwidth": ("rmw", "dependent")}


def options():
    parser = figure.options(__doc__, "chain.png", "probes")
    for name, usual, what in JOB:
        parser.add_argument(f"--{name}", default=usual, help=f"{what} (default {usual})")
    parser.add_argument("--device", help="of several devices this one (default: the first)")
    return parser


def asked(command, trace, kind, version, *more):
    """What the program says of a trace, as JSON."""
    name, document = loader.read_json(trace, f"npgpu {command} TRACE --json", program.run(command, trace, "--json", *more))
    loader.check_document(name, document, kind, version, f"npgpu {command} TRACE --json")
    return document


def spaced(size):
    """64MiB: 64 MiB."""
    return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", size)


def draw_corners(axes, probes, kind, title):
    """Blocks on all multiprocessors and one block, over the threads of a block; the four ends are the corners."""
    operation, form = OPERATION[kind]
    found = [p for p in probes if (p.case["probe"], p.case["operation"], p.case["type"], p.case["form"]) == (kind, operation, "fp32", form)]
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlabel("Threads of a block")
    if not found or not corners.rates_of(found[0]):
        axes.text(0.02, 0.9, "not measured", transform=axes.transAxes, color=GREY)
        return
    rates = corners.rates_of(found[0])
    units = max(found[0].document["units"], 1)
    for name, color, wanted in (("All", COLORS[0], lambda q: q["blocks"] >= max(units, 2)), ("One", COLORS[1], lambda q: q["blocks"] == 1)):
        curve = corners.best_by(rates, lambda q: q["threads"], wanted)
        if curve is None:
            continue
        axes.plot(curve[0], curve[1] * 1e-9, color=color, marker="o", markersize=3)
        for end, threads, side in ((0, "One", "left"), (-1, "All", "right")):
            axes.annotate(f"{name}-{threads}", (curve[0][end], curve[1][end] * 1e-9), xytext=(0, 6) if end else (4, -11),
                          textcoords="offset points", ha=side, color=color, fontsize=8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.margins(y=0.15)
    axes.yaxis.set_minor_locator(figure.NullLocator())
    axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_ylabel(corners.UNITS[kind])


def draw_parameters(axes, device):
    """The papers' parameters with their intervals, as a table."""
    axes.set_title("2  derived parameters", loc="left", fontweight="bold")
    axes.set_axis_off()
    have = {p["name"]: p["estimate"] for p in device["parameters"]}
    for row, (name, scale, unit, what) in enumerate(PARAMETERS):
        estimate = have.get(name)
        y = 0.93 - row * 0.125
        text, interval = "not measured", ""
        if estimate and loader.usable(estimate):
            text = f"{estimate['value'] * scale:.4g} {unit}".rstrip()
            low, high = (loader.number(estimate[k]) for k in ("low", "high"))
            if np.isfinite(low + high):
                interval = f"{low * scale:.4g} .. {high * scale:.4g}" if low < high else "exact"
        axes.text(0, y, name, transform=axes.transAxes, va="center", fontweight="bold", fontsize=8)
        axes.text(0.25, y, text, transform=axes.transAxes, va="center", fontsize=8)
        axes.text(0.56, y, interval, transform=axes.transAxes, va="center", fontsize=8, color=GREY)
        axes.text(0.25, y - 0.052, what, transform=axes.transAxes, va="center", fontsize=7, color=GREY)


def draw_kernel(axes, kernel):
    """Its parts and its whole time with the interval, in us."""
    axes.set_title("3  the kernel's time", loc="left", fontweight="bold")
    parts = [("arithmetic", kernel["arithmetic_us"], COLORS[5]), ("memory", kernel["memory_us"], COLORS[5]),
             ("empty kernel", kernel["launch_us"], COLORS[5]), ("whole", kernel["likely_us"], COLORS[2])]
    for row, (_, us, color) in enumerate(reversed(parts)):
        axes.barh(row, us, color=color, height=0.6)
        axes.annotate(figure.digits(us), (us if row else kernel["high_us"], row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.errorbar(kernel["likely_us"], 0, xerr=[[kernel["likely_us"] - kernel["low_us"]], [kernel["high_us"] - kernel["likely_us"]]],
                  color="black", capsize=3)
    axes.set_yticks(range(len(parts)), [name for name, _, _ in reversed(parts)])
    axes.set_xlim(0, 1.2 * kernel["high_us"])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"Time (us); bound by {kernel['bound']}")


def draw_streams(axes, job):
    """The job's time over the number of streams, and what is advised."""
    axes.set_title("4  the job's time over streams", loc="left", fontweight="bold")
    streams = loader.numbers(job["candidates"], "streams")
    ms, low, high = (loader.numbers(job["candidates"], f"{k}_us") / 1e3 for k in ("time", "low", "high"))
    axes.plot(streams, ms, color=COLORS[0])
    axes.fill_between(streams, low, high, color=COLORS[0], alpha=figure.BAND, linewidth=0)
    axes.annotate("a chunk in each stream", (streams[0], ms[0]), xytext=(6, 2), textcoords="offset points", color=COLORS[0], fontsize=8)
    advised = job["advised"]
    at = advised["streams"], advised["time_us"] / 1e3
    axes.plot(*at, "o", color=COLORS[1], markersize=7)
    # Below the curve, where nothing is.
    axes.annotate("advised: " + job["answer"].replace(": ", ":\n", 1), at, xytext=(0, -12), textcoords="offset points", va="top",
                  ha="left" if advised["streams"] < 16 else "right", color=figure.ink_of(COLORS[1]), fontsize=8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_ylim(0, 1.08 * np.nanmax(high))
    axes.set_xlabel("Streams; band: the costs' 95 % interval")
    axes.set_ylabel("Time (ms)")


@figure.drawn
def draw(trace, case=None, device=None, **job):
    """The chain of docs/streams.md, of one job; `job` are options of npgpu predict, as flops="2e9"."""
    path = loader.first(trace)
    if not loader.is_trace(path):
        raise loader.BadTrace(f"{path}: is a report; this figure asks the program for more than that: name the trace itself")
    probes = loader.load(trace, "probes", case)
    devices = [d for d in asked("derive", path, "npgpu-parameters", 1)["devices"] if d["device"] != "host" and device in (None, d["device"])]
    if not devices:
        raise loader.BadTrace(f"{path}: holds no parameters of {device or 'a GPU'}")
    one = devices[0]
    chosen = {name: str(job.get(name.replace("-", "_")) or usual) for name, usual, _ in JOB}
    words = [f"--{name}={value}" for name, value in chosen.items()]
    said = asked("predict", path, "npgpu-prediction", 2, f"--device={one['device']}", *words)
    probes = [p for p in probes if p.device == one["device"]]
    picture = plt.figure(figsize=(10.4, 6.2), layout="constrained")
    cells = picture.add_gridspec(2, 6)
    draw_corners(picture.add_subplot(cells[0, :2]), probes, "compute", "1  corners of arithmetic")
    draw_corners(picture.add_subplot(cells[0, 2:4]), probes, "bandwidth", "    corners of memory")
    draw_parameters(picture.add_subplot(cells[0, 4:]), one)
    draw_kernel(picture.add_subplot(cells[1, :2]), said["kernel"])
    draw_streams(picture.add_subplot(cells[1, 2:]), said)
    figure.headline(picture, f"{'SIMULATED ' if one['simulated'] else ''}{one['device_name']}: from the corners to the number of streams",
                    f"{spaced(chosen['bytes-in'])} in, a kernel of {int(float(chosen['flops'])):,} operations that moves {spaced(chosen['bytes-moved'])}, {spaced(chosen['bytes-out'])} out; "
                    "corners: blocks on all multiprocessors or one, with all threads or one")
    return picture
