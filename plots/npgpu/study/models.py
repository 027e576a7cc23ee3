"""Models of jobs in n streams, each with its source: how long a job takes, or only which n to take. `whole` are the times
of the unsplit job's stages, H, E and D; times are us."""
import math
from dataclasses import dataclass
from typing import Callable, Optional

from npgpu.study import fits
from npgpu.study.jobs import Stages


def ratio(a, b):
    """As IEEE 754 divides: streams may cost nothing."""
    return a / b if b else math.copysign(math.inf, a) if a else math.nan


# ---- closed forms -----------------------------------------------------------------------------------------------------
# Gomez-Luna et al. 2012 quote the CUDA C Best Practices Guide 3.2: t_E + t_T/n, and t_T + t_E/n, with t_T = H + D.
def best_practices_kernel(whole, n):
    return whole.kernel + (whole.h2d + whole.d2h) / n


def best_practices_transfers(whole, n):
    return whole.h2d + whole.d2h + whole.kernel / n


def cc1(whole, t_sc, n):
    """Compute capability 1.x, (1) and (3): t_T + n t_sc while t_T >= t_E + t_T/n, else t_E + t_T/n + n t_sc."""
    transfers = whole.h2d + whole.d2h
    return max(transfers, whole.kernel + transfers / n) + n * t_sc


def cc1_optimum_as_printed(whole, t_sc):
    """(2) t_T/(t_T - t_E) where transfers dominate, (4) sqrt(t_T/t_sc) where the kernel does. (2) grows without limit as t_E
    nears t_T, because it asks only for where (1) begins to hold, whatever the streams cost."""
    transfers = whole.h2d + whole.d2h
    return transfers / (transfers - whole.kernel) if transfers > whole.kernel else math.sqrt(ratio(transfers, t_sc))


def cc1_optimum(whole, t_sc):
    """What minimizes max(t_T, t_E + t_T/n) + n t_sc: the lesser of (2) and (4)."""
    transfers = whole.h2d + whole.d2h
    cheapest = math.sqrt(ratio(transfers, t_sc))
    return max(1.0, min(transfers / (transfers - whole.kernel), cheapest) if transfers > whole.kernel else cheapest)


def cc2(whole, t_sc, n):
    """Compute capability 2.x, (5) and (7): H + t_E/n + D + n t_sc while H >= t_E, else H/n + t_E + D + n t_sc."""
    return max(whole.h2d, whole.kernel) + min(whole.h2d, whole.kernel) / n + whole.d2h + n * t_sc


def cc2_optimum(whole, t_sc):
    """(6) sqrt(t_E/t_sc) and (8) sqrt(H/t_sc)."""
    return math.sqrt(ratio(min(whole.h2d, whole.kernel), t_sc))


def van_werkhoven(whole, n):
    """van Werkhoven, Maassen, Seinstra & Bal 2014, two copy engines."""
    h, e, d = whole
    return max(h + e / n + d / n, h / n + e + d / n, h / n + e / n + d)


def dominant_stage(whole, gap, n):
    """M + S/n + (n - 1) g: the longest stage, the others, and what one more chunk adds to the longest one's engine."""
    longest = max(whole)
    return longest + (sum(whole) - longest) / n + (n - 1) * gap


def two_engines_breadth_first(chunk, latency, issue, n):
    """Two copy engines, exact without slow-downs, tails and queues: the longest of the chains of operations that could hold
    the end up. A first chunk fills the pipe, then come n - 1 more at the pace of the slowest that is left."""
    a, k, d = chunk
    lh, lk, ld = latency
    oh, ok, od = issue
    more = n - 1
    return max(oh + a + lh + k + lk + d + ld + more * max(a, k, d, oh), n * oh + ok + k + lk + d + ld + more * max(k, d, ok),
               n * (oh + ok) + od + d + ld + more * max(d, od))


# What is merely supposed of a job, figures 4 to 7 of Gomez-Luna et al. 2012: the Guide's two estimates, whichever stage is
# the longest, and the first where the kernel hides the copies of one direction only (sections 3.1.1 and 3.1.2). A copy that
# is not hidden adds to the kernel's time.
HYPOTHESES = {
    "dominant kernel": best_practices_kernel,
    "dominant transfers": best_practices_transfers,
    "dominant kernel, h2d hidden": lambda w, n: best_practices_kernel(Stages(w.h2d, w.kernel + w.d2h, 0.0), n),
    "dominant kernel, d2h hidden": lambda w, n: best_practices_kernel(Stages(0.0, w.kernel + w.h2d, w.d2h), n),
}


# ---- models -----------------------------------------------------------------------------------------------------------
@dataclass
class Model:
    name: str
    source: str
    time: Optional[Callable] = None     # (job, place of n in its streams) -> us; None: it only chooses
    streams: Optional[Callable] = None  # job -> how many; None: the number with the least time
    fitted: int = 0                     # parameters
    learn: Optional[Callable] = None    # (key, job): sees every scored job once
    fit_without: Optional[Callable] = None  # key: fits to all that were learnt but this one; None: to all


def overhead_form(name, source, parameters, features):
    """What is left of a split job's time when the part of the others that could be hidden is taken off: T_ov of Veneva &
    Imamura 2025, by (5), with the stages that are not the longest for their `sum`. Features of it are fitted."""
    fit, fitted = fits.RelativeFit(), []

    def hidden_left(job, n):
        return job.unsplit_us - (n - 1) / n * (sum(job.whole) - max(job.whole))

    def learn(key, job):
        for n, us in zip(job.streams, job.times):
            if n != 1:
                fit.add(key, features(float(job.bytes), n), hidden_left(job, n), us)

    def time(job, at):
        n = job.streams[at]
        us = hidden_left(job, n)
        for feature, parameter in zip(features(float(job.bytes), n), fitted):
            us += feature * parameter
        return us

    def fit_without(key):
        fitted[:] = fit.solve(key)

    return Model(name, source, time, fitted=parameters, learn=learn, fit_without=fit_without)


def best_constant():
    known, chosen = fits.BestConstant(), [1]

    def fit_without(key):
        chosen[0] = known.without(key)

    return Model("best constant n", "one count for every workload, chosen on the others", streams=lambda job: chosen[0], fitted=1,
                 learn=known.learn, fit_without=fit_without)


def log2_form(size, n):
    big = 4 / 3 * math.log2(n)
    return size * big, big, 1.0


def all_models(costs):
    """npgpu's own simulator first, then the models of the literature."""
    t_sc = costs.create

    def of_whole(form):
        return lambda job, at: form(job.whole, job.streams[at])

    def guide(whole, n):
        by_kernel = whole.kernel >= whole.h2d + whole.d2h
        return best_practices_kernel(whole, n) if by_kernel else best_practices_transfers(whole, n)

    cc1_time = of_whole(lambda whole, n: cc1(whole, t_sc, n))
    return [
        Model("simulator", "discrete events with measured costs, nothing fitted to jobs", lambda job, at: job.simulator_us[at]),
        # The program fits that one: it asks how long calls of the other jobs took.
        Model("simulator, host as it was", "the same, with each call taking as many times what the costs say as calls of other jobs did",
              lambda job, at: job.as_host_was_us[at], fitted=1, fit_without=lambda key: None),
        Model("n = 1", "no streams", lambda job, at: job.unsplit_us, lambda job: 1),
        best_constant(),
        Model("Best Practices Guide", "CUDA C Best Practices Guide, as Gomez-Luna et al. 2012 quote it", of_whole(guide)),
        Model("c.c. 1.x as printed", "Gomez-Luna et al. 2012, (1) to (4), t_sc as measured", cc1_time,
              lambda job: cc1_optimum_as_printed(job.whole, t_sc)),
        Model("c.c. 1.x corrected", "Gomez-Luna et al. 2012, (1) and (3), their own minimum", cc1_time,
              lambda job: cc1_optimum(job.whole, t_sc)),
        Model("c.c. 2.x", "Gomez-Luna et al. 2012, (5) to (8), t_sc as measured", of_whole(lambda whole, n: cc2(whole, t_sc, n)),
              lambda job: cc2_optimum(job.whole, t_sc)),
        Model("van Werkhoven 2014", "two engines, with a gap for each chunk of the longest stage",
              of_whole(lambda whole, n: van_werkhoven(whole, n) + costs.gap_of_longest(whole) * (n - 1))),
        Model("two engines, closed form", "exact without slow-downs, tails and queues; breadth-first",
              lambda job, at: two_engines_breadth_first(job.chunks[at], costs.latency, costs.issue, job.streams[at]) + costs.submit),
        Model("M + S/n + (n-1) g", "the longest stage, the others, and the gap of the longest",
              of_whole(lambda whole, n: dominant_stage(whole, costs.gap_of_longest(whole), n))),
        overhead_form("Veneva & Imamura 2025, small form", "(7) for small sizes, fitted to the other workloads", 3,
                      lambda size, n: (size, math.log10(n), 1.0)),
        overhead_form("Veneva & Imamura 2025, big form", "(7) for big sizes, fitted to the other workloads", 3, log2_form),
        overhead_form("u (1-1/n) + t n", "fitted to the other workloads", 2, lambda size, n: (1 - 1 / n, n)),
    ]
