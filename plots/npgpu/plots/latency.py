"""Time over size, both logarithmic, with the fitted line latency + bytes/rate.

Points are medians over visits, the band their 95 % interval, the thin grey line the fit (least squares on relative residuals).
"off 37 %" says by how much the line misses its worst point, where that is more than 25 %."""
import numpy as np

from npgpu.plots import figure, loader


POOR = 0.25  # a line that misses a point by more does not describe the curve


def text_of(t0, rate, worst):
    parts = []
    if np.isfinite(t0):
        parts.append(figure.time_text(t0))
    if np.isfinite(rate):
        parts.append(f"bytes / {figure.digits(rate * 1e-9)} GB/s")
    text = " + ".join(parts) or "no fit"
    return text + (f"; off {100 * worst:.0f} %" if worst > POOR else "")


def options():
    parser = figure.options(__doc__, "latency.png", "transfers")
    parser.add_argument("--no-fit", action="store_true", help="without the fitted lines")
    return parser


@figure.drawn
def draw(trace, case=None, no_fit=False):
    """Time of a copy over its size, with the fitted lines."""
    def draw_panel(ax, curves, of):
        texts = []
        for c in curves:
            shown = np.where(c.us > 0, c.us, np.nan)
            figure.draw_line(ax, c, shown, c.low_us, c.high_us, of(c), linewidth=0.9)
            if no_fit:
                continue
            t0, rate = c.fit_us, c.fit_rate
            if np.isfinite(t0) or np.isfinite(rate):
                def line(n):
                    return np.nan_to_num(t0) + (n * 1e6 / rate if np.isfinite(rate) else 0 * n)
                x = np.geomspace(c.bytes.min(), c.bytes.max(), 200)
                ax.plot(x, line(x), color=figure.GREY, linewidth=0.7, zorder=1)
            texts.append((text_of(t0, rate, c.fit_residual), of(c)[0]))
        for i, (text, color) in enumerate(texts):
            ax.annotate(text, (0.03, 0.97), xycoords="axes fraction", xytext=(0, -10.5 * i), textcoords="offset points",
                        va="top", fontsize=7, color=color)
        figure.time_axis(ax, "Latency")

    return figure.draw_panels(loader.load(trace, "transfers", case), "time of a copy, one way", draw_panel,
                              wanted=lambda c: c.lanes == 1)
