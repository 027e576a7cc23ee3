"""Medians, percentiles and choices, as the program has them; NaN where there is nothing."""
import math

NONE = math.nan


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else values[half - 1] + (values[half] - values[half - 1]) / 2


def spread(values):
    """Median; the least value that 95 of 100 are not greater than; the greatest."""
    values = sorted(values)
    if not values:
        return {"median": NONE, "p95": NONE, "most": NONE}
    return {"median": median(values), "p95": values[max(math.ceil(0.95 * len(values)), 1) - 1], "most": values[-1]}


def cross_validated(regrets):
    """Of many choices: the mean, which has none of the noise that widens both tails alike, and percentiles that have;
    `worse`: choices whose interval is above 0."""
    known = [r for r in regrets if not math.isnan(r.value)]
    values = sorted(r.value for r in known)
    if not values:
        return {"choices": 0, "mean": NONE, "median": NONE, "p5": NONE, "p95": NONE, "worse": 0}
    rank = (95 * len(values) + 99) // 100
    return {"choices": len(values), "mean": sum(values) / len(values), "median": median(values), "p5": values[len(values) - rank],
            "p95": values[rank - 1], "worse": sum(r.low > 0 for r in known)}


def place_of_least(values):
    return min(range(len(values)), key=values.__getitem__)


def fewest_within(counts, times, slower_by=0.01):
    """Of the counts whose times are within so much of the least, the place of the fewest streams."""
    fewest = place_of_least(times)
    most = (1 + slower_by) * times[fewest]
    for at, n in enumerate(counts):
        if times[at] <= most and n < counts[fewest]:
            fewest = at
    return fewest


def within_noise(chosen, best):
    """Whether two measured times may be the same; where no interval is known, only where they are equal."""
    return (chosen.low if math.isfinite(chosen.low) else chosen.value) <= (best.high if math.isfinite(best.high) else best.value)
