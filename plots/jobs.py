#!/usr/bin/env python3
"""Jobs in streams: time over the number of streams, and over how the bytes divide between both directions (paper 000).

Left: jobs that were cut into several numbers of chunks, a line for each length of kernel; the point at 1 is the uncut
job. Right: jobs of one total cut into one number of chunks, over the part that is copied to the device; dashed: uncut."""
import numpy as np

import figure
import loader

LEAST = 5  # points that make a line


def lines_over_streams(jobs):
    """{iterations: rows of (streams, low, median, high) in us} of the job with most numbers of chunks, each chunk in a
    stream of its own."""
    families = {}
    for point in jobs.points:
        if point["chunks"] != point["streams"] or point["kernel_bytes"] == 0:
            continue
        us = jobs.us(point)
        if us is not None:
            sizes = (int(point["bytes_in"]), int(point["bytes_out"]), int(point["kernel_bytes"]))
            families.setdefault(sizes, {}).setdefault(int(point["iterations"]), {})[int(point["chunks"])] = us
    best, most = None, 0
    for sizes, by_iterations in families.items():
        long = {i: rows for i, rows in by_iterations.items() if len(rows) >= LEAST}
        if sum(map(len, long.values())) > most:
            best, most = (sizes, long), sum(map(len, long.values()))
    if not best:
        return None, {}
    return best[0], {i: np.array([(n, *us) for n, us in sorted(rows.items())]) for i, rows in sorted(best[1].items())}


def lines_over_division(jobs):
    """{(iterations, chunks): rows of (part of the bytes that goes to the device, median us)} of the total with most
    divisions."""
    totals = {}
    for point in jobs.points:
        total = int(point["bytes_in"]) + int(point["bytes_out"])
        us = jobs.us(point)
        if us is not None and total and point["kernel_bytes"]:
            key = (int(point["iterations"]), int(point["chunks"]))
            totals.setdefault(total, {}).setdefault(key, {})[int(point["bytes_in"]) / total] = us[1]
    best = max(totals.items(), key=lambda t: max(map(len, t[1].values())), default=(0, {}))
    return best[0], {k: np.array(sorted(rows.items())) for k, rows in sorted(best[1].items()) if len(rows) >= LEAST}


def main():
    parser = figure.options(__doc__.splitlines()[0], "jobs.png", several=False)
    parser.add_argument("--jobs", type=int, metavar="N", help="this case, as 'npgpu report' orders them (from 0)")
    args = parser.parse_args()
    trace = loader.Trace(args.trace[0])
    if not trace.streams:
        raise loader.BadTrace(f"{args.trace[0]}: holds no jobs in streams (npgpu streams)")
    if args.jobs is not None and not 0 <= args.jobs < len(trace.streams):
        raise loader.BadTrace(f"--jobs: {args.jobs} is not in the trace, which has {len(trace.streams)} cases")
    chosen = trace.streams if args.jobs is None else [trace.streams[args.jobs]]
    jobs = max(chosen, key=lambda j: sum(map(len, lines_over_streams(j)[1].values())))
    sizes, over_streams = lines_over_streams(jobs)
    total, over_division = lines_over_division(jobs)
    panels = [p for p in ("streams", "division") if (over_streams if p == "streams" else over_division)]
    if not panels:
        raise loader.BadTrace(f"{args.trace[0]}: has no job that was cut into {LEAST} numbers of streams or divisions")
    style = figure.styles(sorted({str(i) for i in over_streams} | {str(k[0]) for k in over_division}, key=int))
    picture, axes = figure.grid([(p, None) for p in panels])
    for ax, panel in zip(axes, panels):
        if panel == "streams":
            for iterations, rows in over_streams.items():
                color, dashes = style[str(iterations)]
                ax.plot(rows[:, 0], rows[:, 2], color=color, marker=".", markersize=4)
                ax.fill_between(rows[:, 0], rows[:, 1], rows[:, 3], color=color, alpha=0.25, linewidth=0)
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter(figure.FuncFormatter(lambda v, _: f"{v:g}"))
            ax.set_xlabel("streams (and chunks)")
            ax.set_title(f"{figure.size_text(sizes[0])} in, {figure.size_text(sizes[1])} out", loc="left", fontweight="bold")
        else:
            for (iterations, chunks), rows in over_division.items():
                color, _ = style[str(iterations)]
                ax.plot(100 * rows[:, 0], rows[:, 1], color=color, linestyle="-" if chunks > 1 else (0, (4, 1.5)), marker=".",
                        markersize=4)
            cut = sorted({c for _, c in over_division if c > 1})
            ax.set_xlabel("percent of the bytes that go to the device")
            ax.set_title(f"{figure.size_text(total)} in all, {', '.join(map(str, cut))} streams; dashed: one", loc="left",
                         fontweight="bold")
        figure.time_axis(ax, "time of a job" if ax is axes[0] else "")
        ax.yaxis.set_minor_formatter(figure.FuncFormatter(lambda us, _: figure.time_text(us) if f"{us:e}"[0] in "2346" else ""))
    figure.headline(picture, figure.title_of([jobs], "jobs in streams"),
                    f"{jobs.case['workload']} kernel, {jobs.case['order']}, {jobs.case['pool']} streams; colours: iterations of the kernel")
    handles = [figure.plt.Line2D([], [], color=style[s][0]) for s in style]
    picture.legend(handles, list(style), loc="upper left", bbox_to_anchor=(0.01, 0.0), ncols=8)
    figure.save(picture, args.output)


if __name__ == "__main__":
    figure.run(main)
