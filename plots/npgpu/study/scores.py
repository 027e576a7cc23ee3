"""Holds models against measured jobs: errors of their times, regrets of their choices.

Regret: the measured time with the number of streams that a model chooses, among those measured, over the least measured,
less 1. Cross-validated: each round of the run is left out in turn; the others say which number is best, and the round left
out times that one and the choice, so that luck favours none."""
import bisect
import math

from npgpu.study import jobs, models
from npgpu.study.statistics import cross_validated, fewest_within, place_of_least, spread, within_noise

DOCUMENT, VERSION = "npgpu-evaluation", 1
LENGTHS = (0.0, 300.0, 1000.0, 5000.0, math.inf)  # us of the unsplit job: short ones are predicted worst


def choice_of(model, job, times):
    """Of the measured numbers: that of the least time; or the neighbour of a wanted one that the model likes better."""
    counts = job.streams
    if not model.streams:
        return place_of_least(times)
    wanted = model.streams(job)
    high = min(bisect.bisect_left(counts, wanted), len(counts) - 1)
    low = high - 1 if high > 0 and counts[high] > wanted else high
    if low == high or not times:
        return low if wanted - counts[low] < counts[high] - wanted else high
    return low if times[low] <= times[high] else high


def prediction(model, job):
    """What one model says of one job. It starts from the unsplit time, as all do."""
    times = [job.unsplit_us if n == 1 else model.time(job, at) for at, n in enumerate(job.streams)] if model.time else []
    best, chosen = place_of_least(job.times), choice_of(model, job, times)
    advised = fewest_within(job.streams, times) if times else chosen
    over_best = lambda at: job.times[at] / job.times[best] - 1
    validated = job.regrets[chosen]
    return {"model": model.name, "predicted_best": job.streams[chosen], "regret": over_best(chosen),
            "cross_validated": validated.value, "cross_validated_low": validated.low, "cross_validated_high": validated.high,
            "hit": within_noise(job.measured[chosen], job.measured[best]), "advised": job.streams[advised],
            "advised_regret": over_best(advised), "advised_cross_validated": job.regrets[advised].value,
            "predicted_us": times or [math.nan] * len(job.streams)}


def predictions(model, scored, others):
    """Of each job, the model fitted to the scored ones but that one."""
    for key, job in enumerate(scored) if model.learn else ():
        model.learn(key, job)
    found = []
    for key, job in enumerate(scored + others):
        known = key < len(scored)
        if model.fit_without:
            model.fit_without(key if known else None)
        one = prediction(model, job)
        if model.fit_without and len(scored) - known == 0:  # there was nothing to fit it to
            one["predicted_us"] = [math.nan] * len(job.streams)
        found.append(one)
    return found


def pairs_of(job, predicted_us):
    """(measured, predicted) of two and more streams, where both are known."""
    return [(us, p) for n, us, p in zip(job.streams, job.times, predicted_us) if n != 1 and math.isfinite(p)]


def errors_of(pairs):
    return [abs(p / us - 1) for us, p in pairs]


def fit_quality(pairs):
    """R2 and the root of the mean square of the residuals, in us."""
    mean = 0.0
    for us, _ in pairs:
        mean += us / len(pairs)
    total, left = sum((us - mean) ** 2 for us, _ in pairs), sum((p - us) ** 2 for us, p in pairs)
    return 1 - left / total if total > 0 else math.nan, math.sqrt(left / len(pairs)) if pairs else math.nan


def score(model, scored, told):
    pairs = [pair for job, one in zip(scored, told) for pair in pairs_of(job, one["predicted_us"])]
    r2, rmse = fit_quality(pairs)
    places = [(job, job.streams.index(one["predicted_best"]), job.streams.index(one["advised"])) for job, one in zip(scored, told)]
    return {"model": model.name, "source": model.source, "fitted": model.fitted, "workloads": len(scored),
            "error": spread(errors_of(pairs)), "regret": spread(one["regret"] for one in told),
            "advised_regret": spread(one["advised_regret"] for one in told),
            "cross_validated": cross_validated([job.regrets[chosen] for job, chosen, _ in places]),
            "advised_cross_validated": cross_validated([job.regrets[advised] for job, _, advised in places]),
            "hits": sum(one["hit"] for one in told) / len(told) if told else math.nan, "r2": r2, "rmse_us": rmse}


def by_length(scored):
    """The simulator's errors, by how long the unsplit job takes."""
    found = []
    for low, high in zip(LENGTHS, LENGTHS[1:]):
        these = [job for job in scored if low <= job.unsplit_us < high]
        errors = [e for job in these for e in errors_of(pairs_of(job, job.simulator_us))]
        found.append({"from_us": low, "to_us": high, "workloads": len(these), "error": spread(errors)})
    return found


def workload(job, told):
    simulator = told[0]
    points = [{"streams": n, "measured_us": t.value, "low_us": t.low, "high_us": t.high, "predicted_us": p}
              for n, t, p in zip(job.streams, job.measured, simulator["predicted_us"])]
    supposed = [{"hypothesis": name, "predicted_us": [form(job.whole, n) for n in job.streams]} for name, form in models.HYPOTHESES.items()]
    return {**job.fields, "kernel_us": job.kernel_us, "h2d_us": job.whole.h2d, "d2h_us": job.whole.d2h,
            "best": job.streams[place_of_least(job.times)], "predicted_best": simulator["predicted_best"], "regret": simulator["regret"],
            "points": points, "models": told, "hypotheses": supposed}


def without_nan(value):
    """What is not finite is null, as in all JSON of npgpu."""
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def evaluate(document):
    """The scores of all models over the jobs of the program's document, as JSON: npgpu-evaluation."""
    scored, others = ([jobs.Job(one) for one in document[key]] for key in ("jobs", "others"))
    found = models.all_models(jobs.Costs(document["costs_us"])) if scored or others else []
    told = [predictions(model, scored, others) for model in found]
    of_job = [list(one) for one in zip(*told)]
    turned = [abs(s["predicted_us"] / s["measured_us"] - 1) for s in document["in_turn"]]
    workloads = [workload(job, one) for job, one in zip(scored + others, of_job)]
    return without_nan({
        "document": DOCUMENT, "version": VERSION, "device_name": document["device_name"], "simulated": document["simulated"],
        "models": [score(model, scored, one[:len(scored)]) for model, one in zip(found, told)],
        "others_models": [score(model, others, one[len(scored):]) for model, one in zip(found, told)] if others else [],
        "calls_over_costs": document["calls_over_costs"], "measuring": spread(r for job in scored for r in job.measuring),
        "left_out": document["left_out"], "by_length": by_length(scored), "workloads": workloads[:len(scored)],
        "others": workloads[len(scored):], "graphs": document["graphs"], "in_turn": {"splits": len(turned), "error": spread(turned)}})


def of_trace(trace, measured=None, device=None):
    """The scores of all models: costs from a trace, measured jobs from that, or from another one."""
    return evaluate(jobs.predicted(trace, measured, device))
