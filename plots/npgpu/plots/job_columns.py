"""The figures of Gomez-Luna et al. 2012: a column for each length of the kernel, with its jobs side by side; measured
times, the times of the stages, the models' predictions, and below them the errors."""
import dataclasses

import numpy as np

from npgpu.plots import figure
from npgpu.plots.evaluations import MODEL_COLORS
from npgpu.plots.figure import COLORS, GREY

_, VERMILION, GREEN, PURPLE, ORANGE, _, BLACK, _ = COLORS[:8]
# How the time of each is drawn. Copies are green, kernels vermilion, and thin lines of these colours suppose that they
# are the longest, as in the paper.
STAGES = [("no streams", GREY, "-", 1.4, lambda w: w.unsplit_us),
          ("copies, t_T", GREEN, "-", 3.4, lambda w: w.h2d_us + w.d2h_us),
          ("copy to the device", GREEN, (0, (1, 1.2)), 1.6, lambda w: w.h2d_us),
          ("copy from the device", GREEN, (0, (4, 1.5)), 1.6, lambda w: w.d2h_us),
          ("kernel, t_E", VERMILION, "-", 3.4, lambda w: w.kernel_us)]
HYPOTHESES = [("dominant kernel", VERMILION, "-"), ("dominant transfers", "#00513A", "-"),
              ("dominant kernel, h2d hidden", PURPLE, "-"), ("dominant kernel, d2h hidden", ORANGE, "-")]
MODELS = [(name, MODEL_COLORS[name], dashes) for name, dashes in
          (("c.c. 1.x corrected", (0, (4, 1.5))), ("c.c. 2.x", (0, (4, 1.5))), ("van Werkhoven 2014", "-"), ("simulator", "-"))]
CALLED = {"c.c. 1.x corrected": "c.c. 1.x, with n t_sc", "c.c. 2.x": "c.c. 2.x, with n t_sc",
          "dominant kernel, h2d hidden": "dominant kernel,\nonly h2d hidden",
          "dominant kernel, d2h hidden": "dominant kernel,\nonly d2h hidden"}


@dataclasses.dataclass
class Column:
    iterations: int
    x: np.ndarray   # of its points, from 0 to 1
    points: list    # (workload, index of the number of streams), as x

    def of(self, value):
        return np.array([value(w, i) for w, i in self.points], dtype=float)


def along(columns, value):
    """x and y of a line through all columns that is broken between them."""
    x = [np.append(k + 0.08 + 0.84 * c.x, np.nan) for k, c in enumerate(columns)]
    y = [np.append(c.of(value), np.nan) for c in columns]
    return np.concatenate(x), np.concatenate(y)


def error_of(name):
    return lambda w, i: 100 * (w.predicted_us[name][i] / w.us[i] - 1)


def draw_measured(axes, columns, scale):
    x, us = along(columns, lambda w, i: w.us[i])
    low, high = (along(columns, bound)[1] for bound in (lambda w, i: w.low_us[i], lambda w, i: w.high_us[i]))
    bars = np.nan_to_num([us - low, high - us]) / scale
    axes.errorbar(x, us / scale, yerr=bars, color=BLACK, linestyle="none", marker="o", markersize=2.6, elinewidth=0.9,
                  label="measured", zorder=5)


def draw_errors(axes, columns, lines):
    for name, color, dashes in lines:
        axes.plot(*along(columns, error_of(name)), color=color, linestyle=dashes, marker=".", markersize=2.5, linewidth=1)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_yscale("symlog", linthresh=2, linscale=0.6)
    axes.set_ylim(-110, 110)
    axes.set_yticks([-100, -10, -2, 0, 2, 10, 100])
    axes.yaxis.set_minor_locator(figure.NullLocator())
    axes.yaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:+g} %" if v else "0"))
    axes.set_ylabel("Error")


def label_columns(axes, columns, ticks, along_words):
    """Below the lowest axes; `ticks`: [(x from 0 to 1, words)] of every column, where there is room for them."""
    roomy = len(columns) * len(ticks) <= 36
    if roomy:
        axes.set_xticks([k + 0.08 + 0.84 * x for k in range(len(columns)) for x, _ in ticks],
                        [word for _ in columns for _, word in ticks], minor=True)
        axes.tick_params(axis="x", which="minor", labelsize=7, labelcolor=GREY)
    # Not quite in the middle: a minor tick at the place of a major one would be left out.
    axes.set_xticks([k + 0.501 for k in range(len(columns))], [f"{c.iterations}" for c in columns])
    axes.tick_params(axis="x", which="major", length=0, pad=14 if roomy else 4)
    axes.set_xlabel(f"Iterations of the kernel; within each column: {along_words}")


def draw(found, columns, what, subtitle, ticks, along_words, hypotheses):
    """The picture. Without predictions, as from a trace, what was measured alone."""
    lines = [l for l in HYPOTHESES if l[0] in hypotheses]
    groups = [("The Best Practices Guide's estimates, and revisions", STAGES, lines), ("Models", STAGES[:1], MODELS)]
    if not found.models:
        groups = [("", STAGES[:1], [])]
    largest = max(np.nanmax(c.of(lambda w, i: max(w.us[i], w.unsplit_us))) for c in columns)
    unit, scale = figure.time_unit(largest)
    points = sum(len(c.points) for c in columns)
    heights = [h for _, _, predicted in groups for h in ([2.9, 1.5] if predicted else [3.6])]
    picture, axes = figure.plt.subplots(len(heights), 1, sharex=True, squeeze=False, layout="constrained",
                                        figsize=(min(14, max(9.2, 3.2 + 0.085 * points)), sum(heights) + 0.9),
                                        height_ratios=heights)
    rows = list(axes.flat)
    for title, stages, predicted in groups:
        ax = rows.pop(0)
        for name, color, dashes, width, stage in stages:
            x, us = along(columns, lambda w, i: stage(w))
            ax.plot(x, us / scale, color=color, linestyle=dashes, linewidth=width, label=name, solid_capstyle="butt", zorder=1.5)
        for name, color, dashes in predicted:
            x, us = along(columns, lambda w, i: w.predicted_us[name][i])
            ax.plot(x, us / scale, color=color, linestyle=dashes, linewidth=1.1, label=CALLED.get(name, name), zorder=3)
        draw_measured(ax, columns, scale)
        ax.set_ylim(0, 1.15 * largest / scale)
        ax.set_ylabel(f"Time of a job ({unit})")
        ax.set_title(title, loc="left", fontweight="bold")
        ax.legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), borderaxespad=0)
        if predicted:
            draw_errors(rows.pop(0), columns, predicted)
    for ax in axes.flat:
        ax.set_xlim(0, len(columns))
        ax.grid(False, axis="x", which="both")
        for k in range(1, len(columns)):
            ax.axvline(k, color="#d0d0d0", linewidth=0.7, zorder=0)
        ax.tick_params(axis="x", which="both", length=0)
    label_columns(axes.flat[-1], columns, ticks, along_words)
    figure.headline(picture, figure.title_of([found], what), subtitle)
    return picture
