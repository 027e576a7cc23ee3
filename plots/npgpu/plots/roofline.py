"""A roofline: the roofs of memory and arithmetic with their intervals, and kernels of the user's own below them.

It takes a trace, or what 'npgpu roofline TRACE --json' wrote, with the kernels. Bands are 95 % intervals."""
import itertools
import math

from npgpu import program
from npgpu.plots import figure, loader
from npgpu.plots.figure import GREY, plt

COMMAND = "npgpu roofline TRACE --json"


def options():
    parser = figure.options(__doc__, "roofline.png", "probes")
    parser.add_argument("--device", help="of several devices this one (default: the first)")
    return parser


def devices_of(path):
    content = program.run("roofline", path, "--json") if loader.is_trace(path) else None
    name, document = loader.read_json(path, COMMAND, content)
    loader.check_document(name, document, "npgpu-roofline", 1, COMMAND)
    return document["devices"]


def chosen_of(path, device):
    known = devices_of(path)
    found = [d for d in known if device in (None, d["device"]) and any(r["name"] == "memory" for r in d["roofs"]) and d["ridges"]]
    if not found:
        raise loader.BadTrace(f"{path}: holds no roofs of memory and arithmetic{f' of {device}' if device else ''} (npgpu characterize)")
    return found[0]


def bounds(estimate):
    """Low and high; the value where there is no interval."""
    return [estimate[k] if estimate[k] is not None else estimate["value"] for k in ("low", "high")]


def shown_roofs(device):
    """Arithmetic that a kernel is compared with; all where there are none."""
    named = {u["roof"] for k in device["kernels"] for u in k["uses"]}
    return [r for r in device["roofs"] if r["kind"] == "arithmetic" and (r["name"] in named or not named)]


def alike(roofs):
    """[(names, roof)]: roofs of one rate are drawn as one, the lowest first."""
    found = []
    for roof in sorted(roofs, key=lambda r: r["rate_per_s"]["value"]):
        if found and roof["rate_per_s"]["value"] < 1.02 * found[-1][1]["rate_per_s"]["value"]:
            found[-1][0].append(roof["name"])
        else:
            found.append(([roof["name"]], roof))
    return [(joined(names), roof) for names, roof in found]


def joined(names):
    """tensor fp16 mma, tensor bf16 mma: tensor fp16, bf16 mma."""
    words = [name.split() for name in names]
    if all(len(w) == 3 and (w[0], w[2]) == (words[0][0], words[0][2]) for w in words):
        return f"{words[0][0]} {', '.join(w[1] for w in words)} {words[0][2]}"
    return ", ".join(names)


def span(values):
    positive = [v for v in values if v and math.isfinite(v) and v > 0]
    return min(positive) / 1.6, max(positive) * 1.6


def draw_slope(axes, memory, top, from_, to):
    slope = memory["rate_per_s"]
    end = to if top is None else min(to, top / slope["value"])
    low, high = bounds(slope)
    axes.fill_between([from_, end], [from_ * low, end * low], [from_ * high, end * high], color=GREY, alpha=0.3, linewidth=0)
    axes.plot([from_, end], [from_ * slope["value"], end * slope["value"]], color="black")
    axes.annotate(f"{memory['name']} {figure.digits(slope['value'] / 1e12)} TB/s", (from_, from_ * slope["value"]), xytext=(6, 12),
                  textcoords="offset points", rotation=30, rotation_mode="anchor", fontsize=8)


def draw_roofs(axes, device, roofs, from_, to):
    top = max((r["rate_per_s"]["value"] for r in roofs), default=None)
    memories = [r for r in device["roofs"] if r["kind"] == "memory"]
    for memory in memories:
        draw_slope(axes, memory, top, from_, to)
    slope, fastest = (next(r for r in memories if r["name"] == "memory")["rate_per_s"],
                      max(r["rate_per_s"]["value"] for r in memories))
    names = []
    for (name, roof), color in zip(alike(roofs), itertools.cycle(figure.COLORS)):
        rate = roof["rate_per_s"]
        ridge = rate["value"] / slope["value"]
        nearest = rate["value"] / fastest
        axes.fill_between([nearest, to], *[[b, b] for b in bounds(rate)], color=color, alpha=0.3, linewidth=0)
        axes.plot([nearest, to], [rate["value"]] * 2, color=color)
        axes.plot([ridge, ridge], [axes.get_ylim()[0], rate["value"]], color=color, linewidth=0.7, linestyle=(0, (4, 2)))
        names.append((to, rate["value"], f"{name} {figure.digits(rate['value'] / 1e12)}, ridge {figure.digits(ridge)}", color))
    return names


@figure.drawn
def draw(trace, case=None, device=None):
    """Operations a second over operations for each byte of memory, with the slopes of L2 and shared memory."""
    first = loader.first(trace)
    one = chosen_of(first, device)
    roofs = shown_roofs(one)
    # A kernel that moves no byte has no place.
    kernels = [k for k in one["kernels"] if k["intensity"] and k["operations_per_s"]]
    ridges = [r["intensity"]["value"] for r in one["ridges"]]
    slowest = min(r["rate_per_s"]["value"] for r in one["roofs"] if r["kind"] == "memory")
    picture, axes = plt.subplots(figsize=(8.4, 4.4), layout="constrained")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    from_, to = span([min(ridges) / 4, max(ridges) * 4] + [k["intensity"] for k in kernels])
    axes.set_xlim(from_, to)
    axes.set_ylim(*span([from_ * slowest] + [k["operations_per_s"] for k in kernels] + [r["rate_per_s"]["value"] for r in roofs]))
    names = draw_roofs(axes, one, roofs, from_, to)
    for marker, kernel in zip(figure.MARKERS * len(kernels), kernels):
        axes.plot(kernel["intensity"], kernel["operations_per_s"], marker, color="black", markersize=6)
        axes.annotate(kernel["name"], (kernel["intensity"], kernel["operations_per_s"]), xytext=(6, -3), textcoords="offset points",
                      fontsize=8)
    axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}"))
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda y, _: f"{y / 1e12:g}"))
    axes.set_xlabel("FLOP for each byte that is read")
    axes.set_ylabel("TFLOP/s")
    figure.headline(picture, f"{'SIMULATED ' if one['simulated'] else ''}{one['device']} ({one['device_name']}): roofline", "TFLOP/s of each arithmetic, and from how many FLOP a byte on it bounds and not the memory")
    figure.label_ends(picture, {axes: names})
    return picture
