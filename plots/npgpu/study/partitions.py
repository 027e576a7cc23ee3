"""Holds the choices of streams for the partition method against its measured runs: of each size what the program says of
each choice (`npgpu report TRACE --json`, partition_studies), over all sizes the scores."""
import json
import math

from npgpu import program
from npgpu.program import BadTrace
from npgpu.study.jobs import Estimate, number
from npgpu.study.scores import errors_of, without_nan
from npgpu.study.statistics import cross_validated, spread

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


def of_trace(trace):
    studies = json.loads(program.run("report", trace, "--json"))["partition_studies"]
    if not studies:
        raise BadTrace(f"{trace}: holds no partitions in one stream and in more; npgpu partition measures some")
    return evaluate(studies)
