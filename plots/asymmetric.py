#!/usr/bin/env python3
"""Jobs whose bytes divide differently between both directions, a column for each length of kernel (paper 000, figures 6
and 7): which direction the kernel hides.

Dots: measured, with the interval of the median; thick: what copies and the kernel take; thin: what is predicted, all
copies hidden or those of one direction only."""
import numpy as np

import columns
import evaluations
import figure
import loader

LEAST = 5  # divisions that make a column


def columns_of(found, kernel=None, pool=None):
    """The total with most divisions in one number of streams: that total, that number, a column for each number of
    iterations."""
    families = {}
    for w in found.all:
        if kernel not in (None, w.kernel) or pool not in (None, w.pool):
            continue
        for i, n in enumerate(w.n):
            if n > 1:
                family = families.setdefault((sum(w.sizes()), int(n), w.kernel, w.order, w.pool, w.threads), {})
                family.setdefault(w.iterations, []).append((w, i))
    long = {key: {k: points for k, points in f.items() if len({w.bytes_in for w, _ in points}) >= LEAST}
            for key, f in families.items()}
    key = max(long, key=lambda k: sum(map(len, long[k].values())), default=None)
    if key is None or not long[key]:
        raise loader.BadTrace(f"{found.path}: has no such job whose bytes were divided in {LEAST} ways"
                              " (npgpu streams --experiment asymmetric)")
    made = []
    for iterations, points in sorted(long[key].items()):
        points.sort(key=lambda p: p[0].bytes_in)
        made.append(columns.Column(iterations, np.array([w.bytes_in / key[0] for w, _ in points]), points))
    return key[0], key[1], made


def main():
    args = evaluations.options_of_columns(__doc__.splitlines()[0], "asymmetric.png").parse_args()
    found = evaluations.load(args.evaluation)
    total, streams, made = columns_of(found, args.kernel, args.pool)
    job = made[0].points[0][0]
    subtitle = (f"{figure.size_text(total)} in both directions together, {streams} streams, {job.kernel} kernel, {job.order}, "
                f"{job.pool} streams")
    picture = columns.draw(found, made, "asymmetric jobs", subtitle, [(0.1, "10"), (0.5, "50"), (0.9, "90")],
                           "percent of the bytes that go to the device", [name for name, _, _ in columns.HYPOTHESES])
    figure.save(picture, args.output)


if __name__ == "__main__":
    figure.run(main)
