"""Jobs whose bytes divide differently between both directions, a column for each length of kernel (Gomez-Luna et
al. 2012, figures 6 and 7): which direction the kernel hides.

Dots: measured, with the interval of the median; thick: what copies and the kernel take; thin: what is predicted, all
copies hidden or those of one direction only."""
import numpy as np

from npgpu.plots import evaluations, figure, job_columns, loader

LEAST = 5  # divisions that make a column


def columns_of(found, wanted=lambda w: True):
    """The total with most divisions in one number of streams: that total, that number, a column for each number of
    iterations."""
    families = {}
    for w in found.all:
        if not wanted(w):
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
        made.append(job_columns.Column(iterations, np.array([w.bytes_in / key[0] for w, _ in points]), points))
    return key[0], key[1], made


def options():
    return evaluations.options_of_columns(__doc__, "asymmetric.png")


@figure.drawn
def draw(trace, kernel=None, pool=None, sizes=None):
    """Jobs whose bytes divide differently between both directions: those with most divisions, or as chosen."""
    found = evaluations.load(trace)
    total, streams, made = columns_of(found, lambda w: evaluations.wanted(w, kernel, pool, sizes))
    job = made[0].points[0][0]
    subtitle = (f"{figure.size_text(total)} in both directions together, {streams} streams, {job.kernel} kernel, {job.order}, "
                f"{job.pool} streams{evaluations.shown(found, made)}")
    return job_columns.draw(found, made, "asymmetric jobs", subtitle, [(0.1, "10"), (0.5, "50"), (0.9, "90")],
                            "percent of the bytes that go to the device", [name for name, _, _ in job_columns.HYPOTHESES])
