"""Predicted over measured times of jobs in streams, one model large and the others small, and its errors over the number
of streams.

Only split jobs: what a kernel takes is known from the unsplit ones. Dashed: 10 % off."""
import numpy as np

from npgpu.plots import evaluations, figure, loader
from npgpu.plots.figure import GREY

OFF = 0.10


def pairs_of(workloads, model):
    """{kernel: rows of (streams, measured us, predicted us)} of the split jobs that the model has a time for."""
    found = {}
    for w in workloads:
        for n, us, predicted in zip(w.n, w.us, w.predicted_us[model]):
            if n > 1 and np.isfinite(predicted) and predicted > 0:
                found.setdefault(w.kernel, []).append((n, us, predicted))
    return {kernel: np.array(rows) for kernel, rows in sorted(found.items())}


def percentile_95(values):
    """As the program has it: the least value that 95 of 100 are not greater than."""
    return np.sort(values)[max(1, int(np.ceil(0.95 * len(values)))) - 1]


def errors_over_streams(pairs):
    """Rows of (streams, median |error|, 95th percentile) in percent."""
    rows = np.concatenate(list(pairs.values()))
    errors = 100 * np.abs(rows[:, 2] / rows[:, 1] - 1)
    return np.array([(n, np.median(errors[rows[:, 0] == n]), percentile_95(errors[rows[:, 0] == n]))
                     for n in np.unique(rows[:, 0])])


def with_times(models, workloads):
    """[(names, pairs)] of the models that tell times, those whose times are the same all over as one."""
    timed = []
    for model in models:
        pairs = pairs_of(workloads, model)
        if not pairs:
            continue
        for names, others in timed:
            if all(k in pairs and np.array_equal(rows, pairs[k]) for k, rows in others.items()):
                names.append(model)
                break
        else:
            timed.append(([model], pairs))
    return timed


FEW = 200  # points: fewer are drawn larger


def draw_pairs(axes, pairs, style, limits, large):
    axes.plot(limits, limits, color=GREY, linewidth=0.8, zorder=1)
    for factor in (1 - OFF, 1 + OFF):
        axes.plot(limits, [factor * v for v in limits], color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    between = "25" if limits[1] / limits[0] < 50 else ()  # labels between powers of ten, where there are few of these
    # Mixed, so that no kernel hides the others.
    points = [(us, predicted, style[kernel][0]) for kernel, rows in pairs.items() for _, us, predicted in rows]
    points = [points[i] for i in np.random.default_rng(1).permutation(len(points))]
    us, predicted, colors = zip(*points)
    axes.scatter(us, predicted, c=colors, s=(9 if large else 3) * (3 if len(us) < FEW else 1), alpha=0.6, linewidths=0, rasterized=True)
    for axis, scale, limit in ((axes.xaxis, axes.set_xscale, axes.set_xlim), (axes.yaxis, axes.set_yscale, axes.set_ylim)):
        scale("log")
        limit(*limits)
        axis.set_major_formatter(figure.FuncFormatter(lambda us, _: figure.time_text(us)))
        axis.set_minor_formatter(figure.FuncFormatter(lambda us, _: figure.time_text(us) if f"{us:e}"[0] in between else ""))
    axes.set_aspect("equal")


def draw_errors(axes, pairs):
    rows = errors_over_streams(pairs)
    axes.plot(rows[:, 0], rows[:, 1], color=figure.COLORS[0], marker="o", markersize=3.5, label="median")
    axes.plot(rows[:, 0], rows[:, 2], color=figure.COLORS[1], marker="s", markersize=3.5, label="95th percentile")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(figure.FuncFormatter(lambda n, _: f"{n:g}"))
    axes.set_ylim(0, 1.1 * max(rows[:, 2].max(), 1e-3))
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g} %"))
    axes.set_xlabel("Streams")
    axes.set_ylabel("|Predicted / measured - 1|")
    axes.legend(loc="upper left")


def options():
    parser = evaluations.options(__doc__, "predicted.png")
    parser.add_argument("--model", help="drawn large (default: the simulator)")
    return parser


@figure.drawn
def draw(trace, measured=None, model=None):
    """Predicted over measured times, of one model large (the simulator) and of the others small; `measured`: the trace of
    the jobs, if it is another one."""
    found = evaluations.predictions(trace, measured)
    workloads = found.scored()
    timed = with_times(found.models, workloads)
    if not timed:
        raise loader.BadTrace(f"{found.path}: holds no predicted time of a split job")
    wanted = model or timed[0][0][0]
    first = [t for t in timed if wanted in t[0]]
    if not first:
        raise loader.BadTrace(f"--model: '{wanted}' is none of {', '.join(name for names, _ in timed for name in names)}")
    (names, pairs), others = first[0], [t for t in timed if wanted not in t[0]]
    times = np.concatenate([rows[:, 1] for _, p in timed for rows in p.values()])
    limits = (times.min() / 1.5, times.max() * 1.5)
    style = figure.styles(sorted({kernel for _, p in timed for kernel in p}))

    across = 4
    down = -(-len(others) // across)
    picture = figure.plt.figure(figsize=(10.4, 4.4 + 2.6 * down), layout="constrained")
    # Two parts, so that the labels of one do not move the other's panels.
    heights = [4.2, 2.6 * down] if others else [4.2]
    upper, *lower = picture.subfigures(len(heights), 1, squeeze=False, height_ratios=heights).flat
    large, errors = upper.subplots(1, 2, width_ratios=[1, 1.15])
    draw_pairs(large, pairs, style, limits, True)
    large.set_title(", ".join(names), loc="left", fontweight="bold")
    large.set_xlabel("Measured time of a job")
    large.set_ylabel("Predicted time")
    large.legend(handles=[figure.plt.Line2D([], [], color=color, linestyle="none", marker="o", markersize=4,
                                            label=kernel + " kernel") for kernel, (color, *_) in style.items() if kernel in pairs],
                 loc="upper left")
    draw_errors(errors, pairs)
    errors.set_title("its errors, by the number of streams", loc="left", fontweight="bold")
    panels = lower[0].subplots(down, across, squeeze=False).flat if others else []
    for spare in panels[len(others):] if others else []:
        spare.set_visible(False)
    for i, (ax, (names, pairs)) in enumerate(zip(panels, others)):
        draw_pairs(ax, pairs, style, limits, False)
        ax.set_title("\n".join(names), loc="left", fontweight="bold", fontsize=8)
        if i % across:
            ax.tick_params(labelleft=False, which="both")
        if i + across < len(others):
            ax.tick_params(labelbottom=False, which="both")
        ax.tick_params(labelsize=7, which="both")
    split = sum(len(rows) for rows in first[0][1].values())
    figure.headline(picture, figure.title_of([found], "predicted and measured times of jobs in streams"),
                    f"{len(workloads)} workloads, {split} times in two and more streams; dashed: {100 * OFF:.0f} % off")
    return picture
