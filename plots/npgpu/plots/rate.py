"""Rate over size: NetPIPE's figure (Allada et al. 2009, Figs. 4 to 7).

The line is the rate of the median time over all visits, the band its 95 % interval, the dashed line the theoretical
limit. A panel for each way that copies go; a case has one colour in all of them."""
import numpy as np

from npgpu.plots import figure, loader, panels


def options():
    parser = figure.options(__doc__, "rate.png", "transfers")
    parser.add_argument("--gbit", action="store_true", help="Gbit/s, as NetPIPE draws it, instead of GB/s")
    parser.add_argument("--log", action="store_true", help="logarithmic rates: shows the small sizes too")
    parser.add_argument("--minimum", action="store_true", help="also the rate of the shortest trial (NetPIPE's), thin")
    return parser


@figure.drawn
def draw(trace, case=None, gbit=False, log=False, minimum=False):
    """Bandwidth of copies over their size; `log`: also of the small ones; `minimum`: also of the shortest trials."""
    unit, scale = ("Gbit/s", 8e-9) if gbit else ("GB/s", 1e-9)

    def values(c):
        return c.rate * scale, c.low_rate * scale, c.high_rate * scale

    def dress(ax, curves, of):
        if minimum:
            for c in curves:
                main = ~c.perturbed
                ax.plot(c.bytes[main], (c.rate * scale * c.us / c.min_us)[main], color=of(c)[0], linewidth=0.6)
        limits = {}
        for c in curves:
            if np.isfinite(c.limit) and c.limit > 0:
                limits.setdefault(c.limit * scale, []).append(c)
        # A limit far above would press the curves flat: then it is named instead of drawn.
        far = [l for l in limits if l > 4 * ax.dataLim.y1 and not log]
        for limit in sorted(l for l in limits if l not in far):
            ax.axhline(limit, color=figure.GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            ax.annotate(f"limit {limit:.4g} {unit}" + (" both ways" if all(c.lanes == 2 for c in limits[limit]) else ""),
                        (0.015, limit), xycoords=("axes fraction", "data"), xytext=(0, 2), textcoords="offset points",
                        fontsize=8, color=figure.GREY)
        if far:
            ax.annotate(f"limit {min(far):.4g} {unit}, off the scale", (0.015, 0.97), xycoords="axes fraction",
                        va="top", fontsize=8, color=figure.GREY)
        ax.set_ylabel(f"Bandwidth ({unit})")
        if log:
            ax.set_yscale("log")
        else:
            ax.set_ylim(0, 1.1 * ax.dataLim.y1 or 1)

    return panels.draw(loader.load(trace, "transfers", case), "bandwidth of copies", values, dress)
