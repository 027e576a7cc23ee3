"""Jobs of one size over the number of streams, a column for each length of kernel (Gomez-Luna et
al. 2012, figures 3 to 5 and 8 to 13).

Dots: measured, with the interval of the median; thick: what copies and the kernel take; thin: what is predicted."""
import numpy as np

from npgpu.plots import evaluations, figure, job_columns, loader

LEAST = 5  # numbers of streams that make a column


def columns_of(found, wanted=lambda w: True):
    """The job with most points: its first workload, and a column for each number of iterations. The unsplit job is in none."""
    families = {}
    for w in found.all:
        split = [(w, i) for i, n in enumerate(w.n) if n > 1]
        if len(split) >= LEAST and wanted(w):
            families.setdefault((w.kernel, w.order, w.pool, w.threads, *w.sizes()), []).append((w.iterations, split))
    if not families:
        raise loader.BadTrace(f"{found.path}: has no such job that was split into {LEAST} numbers of streams"
                              " (npgpu streams --experiment fixed)")
    best = max(families.values(), key=lambda family: sum(len(split) for _, split in family))
    most = max(w.n[-1] for _, split in best for w, _ in split[:1])
    least = min(w.n[i] for _, split in best for w, i in split[:1])
    place = lambda n: np.log(n / least) / np.log(most / least)
    made = [job_columns.Column(iterations, np.array([place(w.n[i]) for w, i in split]), split)
            for iterations, split in sorted(best, key=lambda c: c[0])]
    ticks = [(place(n), f"{n:g}") for n in (2, 8, 32, 128) if least <= n <= most]
    return made, ticks


def options():
    return evaluations.options_of_columns(__doc__, "fixed.png")


@figure.drawn
def draw(trace, kernel=None, pool=None, sizes=None):
    """Jobs of one size over the number of streams: those with most times, or as `kernel`, `pool` and `sizes` choose."""
    found = evaluations.load(trace)
    made, ticks = columns_of(found, lambda w: evaluations.wanted(w, kernel, pool, sizes))
    job = made[0].points[0][0]
    least, most = (f(w.n[i] for c in made for w, i in c.points) for f in (min, max))
    subtitle = (f"{figure.size_text(job.bytes_in)} in, {figure.size_text(job.bytes_out)} out, {job.kernel} kernel, {job.order}, "
                f"{job.pool} streams{evaluations.shown(found, made)}")
    return job_columns.draw(found, made, "jobs in streams", subtitle, ticks, f"{least:g} to {most:g} streams",
                            ["dominant kernel", "dominant transfers", "dominant kernel, h2d hidden"])
