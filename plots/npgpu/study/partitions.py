"""Holds the choices of streams for the partition method against its measured runs: of each size what the program says of
each choice (`npgpu report TRACE --json`, partition_studies), over all sizes the scores."""
import decimal
import json
import math
import random

from npgpu import program
from npgpu.program import BadTrace
from npgpu.study.fits import DIGITS, shortest_solution
from npgpu.study.jobs import Estimate, number
from npgpu.study.scores import errors_of, without_nan
from npgpu.study.statistics import cross_validated, median, spread

DOCUMENT, VERSION = "npgpu-partition-evaluation", 1
STUDY = ("device", "device_name", "simulated", "type", "sub_system")


def score(model, at, sizes):
    answers = [(row, row["choices"][at]) for row in sizes if row["choices"][at]["streams"] is not None]
    pairs = [(point["time_us"], number(us)) for row, choice in answers for point, us in list(zip(row["points"], choice["predicted_us"]))[1:]]
    even = [number(choice["even_regret"]) for _, choice in answers]
    validated = [Estimate(*(number(choice["cross_validated" + end]) for end in ("", "_low", "_high"))) for _, choice in answers]
    return {**model, "sizes": len(answers), "regret": spread(choice["regret"] for _, choice in answers),
            "even_regret": spread(regret for regret in even if math.isfinite(regret)), "cross_validated": cross_validated(validated),
            "error": spread(errors_of(pairs)), "hits": sum(choice["hit"] for _, choice in answers) / len(answers) if answers else math.nan}


def evaluate(studies):
    """The scores of all models over the sizes of each study, as JSON: npgpu-partition-evaluation."""
    return without_nan({
        "document": DOCUMENT, "version": VERSION,
        "studies": [{**{key: study[key] for key in STUDY},
                     "models": [score(model, at, study["sizes"]) for at, model in enumerate(study["models"])],
                     "measuring": spread(regret for row in study["sizes"] for regret in row["measuring"])} for study in studies]})


def quality(rows, parameters):
    """R2, MSE and RMSE of (features, wanted)."""
    off = [float(sum(f * p for f, p in zip(features, parameters)) - wanted) for features, wanted in rows]
    mean = sum(float(wanted) for _, wanted in rows) / len(rows)
    total = sum((float(wanted) - mean) ** 2 for _, wanted in rows)
    left = sum(one * one for one in off)
    return {"R2": 1 - left / total if total else math.nan, "MSE": left / len(rows), "RMSE": math.sqrt(left / len(rows))}


def least_squares(rows):
    with decimal.localcontext(DIGITS):
        columns = range(len(rows[0][0]))
        return shortest_solution([[sum(f[i] * f[j] for f, _ in rows) for j in columns] for i in columns],
                                 [sum(f[i] * wanted for f, wanted in rows) for i in columns])


SHUFFLES = 101


def held_out(study):
    """Table III of Veneva & Imamura 2025: forms (7) fitted to three quarters of the rows, shuffled, and their quality there and
    on the fourth: {"small": {"training": {"R2", "MSE", "RMSE"}, "test": ...}, "big": ...}, in ms, the median of 101 shuffles.
    Rows of one size are in both parts, as in the paper."""
    rows = {"small": [], "big": []}
    for row in study["sizes"]:
        size = decimal.Decimal(row["size"]) / 10 ** 6
        for p in row["points"][1:]:
            if p["overhead_us"] is None:
                continue
            log = decimal.Decimal(p["streams"]).log10()
            doubled = log / decimal.Decimal(2).log10() * 4 / 3
            features = [size, log, decimal.Decimal(1)] if size <= 1 else [size * doubled, doubled, decimal.Decimal(1)]
            rows["small" if size <= 1 else "big"].append((features, decimal.Decimal(p["overhead_us"]) / 1000))
    found = {}
    order = random.Random(1)
    for form, all_rows in rows.items():
        if len(all_rows) < 8:
            continue
        parts = {"training": [], "test": []}
        for _ in range(SHUFFLES):
            order.shuffle(all_rows)
            test = -(-len(all_rows) // 4)
            parameters = least_squares(all_rows[test:])
            parts["training"].append(quality(all_rows[test:], parameters))
            parts["test"].append(quality(all_rows[:test], parameters))
        found[form] = {part: {metric: median([one[metric] for one in them]) for metric in them[0]} for part, them in parts.items()}
    return found


def of_trace(trace):
    studies = json.loads(program.run("report", trace, "--json"))["partition_studies"]
    if not studies:
        raise BadTrace(f"{trace}: holds no partitions in one stream and in more; npgpu partition measures some")
    return evaluate(studies)
