#!/usr/bin/env python3
"""Time over size, both logarithmic, with the fitted line latency + bytes/rate.

Points are medians, the band their 95 % interval, the thin grey line the fit (least squares on relative residuals).
"off 37 %": by so much the line misses a point, at worst; a line that misses by less is not remarked on."""
import numpy as np

import figure
import loader


POOR = 0.25  # a line that misses a point by more does not describe the curve


def text_of(t0, rate, worst):
    parts = []
    if np.isfinite(t0):
        parts.append(figure.time_text(t0))
    if np.isfinite(rate):
        parts.append(f"bytes / {figure.digits(rate * 1e-9)} GB/s")
    text = " + ".join(parts) or "no fit"
    return text + (f"; off {100 * worst:.0f} %" if worst > POOR else "")


def main():
    parser = figure.options(__doc__.splitlines()[0], "latency.png")
    parser.add_argument("--no-fit", action="store_true", help="without the fitted lines")
    args = parser.parse_args()

    def draw(ax, curves, of):
        texts = []
        for c in curves:
            label, color, dashes = of(c)
            shown = np.where(c.us > 0, c.us, np.nan)
            figure.draw_line(ax, c, shown, c.low_us, c.high_us, color, dashes, marker="o", markersize=2.2, linewidth=0.9)
            if args.no_fit:
                continue
            t0, rate = c.fit()
            worst = 0
            if np.isfinite(t0) or np.isfinite(rate):
                def line(n):
                    return np.nan_to_num(t0) + (c.copies * n * 1e6 / rate if np.isfinite(rate) else 0 * n)
                x = np.geomspace(c.bytes.min(), c.bytes.max(), 200)
                ax.plot(x, line(x), color=figure.GREY, linewidth=0.7, zorder=1)
                worst = np.max(np.abs(line(c.bytes[c.us > 0]) / c.us[c.us > 0] - 1))
            texts.append((text_of(t0, rate, worst), color))
        for i, (text, color) in enumerate(texts):
            ax.annotate(text, (0.03, 0.97), xycoords="axes fraction", xytext=(0, -10.5 * i), textcoords="offset points",
                        va="top", fontsize=7, color=color)
        figure.time_axis(ax, "time")

    sweeps = loader.load(args.trace, args.sweep)
    figure.save(figure.draw_panels(sweeps, "time of a copy, one way", draw, wanted=lambda c: c.copies == 1), args.output)


if __name__ == "__main__":
    figure.run(main)
