"""Time over size, both logarithmic, with the fitted line latency + bytes/rate.

Points are medians over visits, the band their 95 % interval, the thin grey line the fit (least squares on relative residuals).
A line that misses a point by more than 25 % is neither drawn nor named. A panel for each way that copies go."""
import numpy as np

from npgpu.plots import figure, loader, panels


POOR = 0.25  # a line that misses a point by more does not describe the curve


def is_fitted(curve):
    return bool(np.isfinite(curve.fit_us) or np.isfinite(curve.fit_rate)) and curve.fit_residual <= POOR


def text_of(curve):
    """The line as a formula; nothing where none describes the curve."""
    parts = [figure.time_text(curve.fit_us)] if np.isfinite(curve.fit_us) else []
    parts += [f"bytes / {figure.digits(curve.fit_rate * 1e-9)} GB/s"] if np.isfinite(curve.fit_rate) else []
    return " + ".join(parts) if is_fitted(curve) else ""


def options():
    parser = figure.options(__doc__, "latency.png", "transfers")
    parser.add_argument("--no-fit", action="store_true", help="without the fitted lines")
    return parser


@figure.drawn
def draw(trace, case=None, no_fit=False):
    """Time of a copy over its size, with the fitted lines."""
    def values(c):
        return np.where(c.us > 0, c.us, np.nan), c.low_us, c.high_us

    def dress(ax, curves, _):
        for c in curves:
            if not no_fit and is_fitted(c):
                x = np.geomspace(c.bytes.min(), c.bytes.max(), 200)
                ax.plot(x, np.nan_to_num(c.fit_us) + x * 1e6 / (c.fit_rate if np.isfinite(c.fit_rate) else np.inf),
                        color=figure.GREY, linewidth=0.7, zorder=1)
        figure.time_axis(ax, "Latency")

    return panels.draw(loader.load(trace, "transfers", case), "time of a copy, one way", values, dress,
                       wanted=lambda c: c.lanes == 1, note=(lambda c: "") if no_fit else text_of)
