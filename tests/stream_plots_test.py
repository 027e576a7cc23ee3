"""The figures of jobs in streams: numbers by hand, the same times as the trace's, pictures that say what they show, and
what Gomez-Luna et al. 2012 saw on simulated GPUs of its kinds.

    stream_plots_test.py NPGPU
"""
import json
import os
import tempfile

from figures import check, refused, traced, words  # first: it finds what follows
import in_child  # noqa: E402
import numpy as np  # noqa: E402
from npgpu.plots import asymmetric, evaluations, fixed, job_columns, predicted, regret  # noqa: E402


def workload(kernel, iterations, measured, models):
    """`models`: {name: (predicted us, regret, hit)}."""
    return {"workload": kernel, "order": "breadth-first", "pool": "pooled", "bytes_in": 4096, "bytes_out": 8192,
            "kernel_bytes": 8192, "iterations": iterations, "threads": 512, "kernel_us": 50, "h2d_us": 20, "d2h_us": 30,
            "points": [{"streams": n, "measured_us": us, "low_us": us - 1, "high_us": None} for n, us in measured.items()],
            "models": [{"model": m, "predicted_us": us, "regret": r, "hit": hit} for m, (us, r, hit) in models.items()],
            "hypotheses": [{"hypothesis": "dominant kernel", "predicted_us": [75] * len(measured)}]}


def document(workloads, others=()):
    models = [{"model": m["model"]} for m in (workloads + list(others))[0]["models"]]
    return {"document": "npgpu-evaluation", "version": 1, "device_name": "Test GPU", "simulated": False, "models": models,
            "workloads": workloads, "others": list(others)}


def by_hand():
    """Two workloads in 1, 2, 4 streams: the simulator 0 and 10 % off at 2, 20 and 50 % at 4; another model only chooses."""
    none = [None, None, None]
    found = evaluations.from_document("made.json", document(
        [workload("compute", 7, {4: 80, 1: 100, 2: 90}, {"simulator": ([96, 100, 90], 0.0, True), "constant": (none, 0.25, False)}),
         workload("memory", 7, {1: 100, 2: 60, 4: 40}, {"simulator": ([100, 66, 60], 0.5, False), "constant": (none, 0.0, True)})],
        [workload("memory", 8, {1: 100, 2: 60}, {"simulator": ([100, 999], 9.0, False), "constant": ([None] * 2, 9.0, False)})]))
    # The points come in their own order, the predictions in that of the points.
    first = found.all[0]
    check(first.n.tolist() == [1, 2, 4] and first.us.tolist() == [100, 90, 80], "points by their number of streams")
    check(first.predicted_us["simulator"].tolist() == [100, 90, 96], f"predictions as the points: {first.predicted_us}")
    check(first.unsplit_us == 100 and first.low_us[0] == 99 and np.isnan(first.high_us[0]), "unsplit, with its interval")
    check([w.scored for w in found.all] == [True, True, False], "others are in no score")
    pairs = predicted.pairs_of(found.scored(), "simulator")
    check(pairs["compute"].tolist() == [[2, 90, 90], [4, 80, 96]] and list(pairs) == ["compute", "memory"], f"pairs: {pairs}")
    errors = predicted.errors_over_streams(pairs)
    check(np.allclose(errors, [[2, 5, 10], [4, 35, 50]]), f"median and 95th percentile of |error| by streams: {errors}")
    check([names for names, _ in predicted.with_times(found.models, found.scored())] == [["simulator"]], "a model without times is not drawn")
    check(predicted.percentile_95(np.arange(1, 21)) == 19 and predicted.percentile_95(np.array([3])) == 3, "95th percentile")
    shares = regret.regrets_of(found.models, found.scored())
    check({k: (v[0].tolist(), v[1]) for k, v in shares.items()} == {"simulator": ([0, 50], 50), "constant": ([0, 25], 50)},
          f"regrets and hits: {shares}")
    alike = evaluations.from_document("made.json", document(
        [workload("memory", 1, {1: 9, 2: 8}, {"a": ([9, 8], 0.0, True), "b": ([9, 7], 0.0, True)})]))
    alike = regret.regrets_of(alike.models, alike.scored())
    check(list(alike) == ["a\nb"], "models that choose alike are one line")
    many = regret.styles_of(["simulator", *(f"rule {i}" for i in range(20))])
    check(len({style[:2] for style in many.values()}) == 21 and many["simulator"][0] == evaluations.MODEL_COLORS["simulator"],
          f"no two groups of models look the same: {many}")
    column = job_columns.Column(7, np.array([0.0, 1.0]), [(first, 1), (first, 2)])
    x, y = job_columns.along([column, column], job_columns.error_of("simulator"))
    check(np.allclose(x[[0, 1, 3, 4]], [0.08, 0.92, 1.08, 1.92]) and np.isnan(y[[2, 5]]).all(), f"a line breaks between columns: {x}")
    check(np.allclose(y[[0, 1]], [0, 20]), f"errors in percent: {y}")


def evaluate(folder, device, fixed_iterations, asymmetric_iterations, pool="pooled"):
    trace = os.path.join(folder, device + ".h5")
    for step in (["--experiment", "overheads"],
                 ["--experiment", "fixed", "--pool", pool, "--iterations", fixed_iterations, "--append"],
                 ["--experiment", "asymmetric", "--pool", "pooled", "--iterations", asymmetric_iterations, "--append"]):
        traced(trace, "streams", "--device", "sim:" + device, *step)
    told = in_child.python("-m", "npgpu.study", trace, "--json")
    check(told.returncode == 0, f"npgpu.study: {told.stderr}")
    path = os.path.join(folder, device + ".json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(told.stdout)
    return trace, path


def worst(column, name):
    return max(abs(job_columns.error_of(name)(w, i)) for w, i in column.points)


def of_the_program(folder):
    trace, path = evaluate(folder, "gtx280", "8,27", "1,16")
    told, measured = evaluations.load(path), evaluations.load(trace)
    made, ticks = fixed.columns_of(told)
    check([c.iterations for c in made] == [8, 27] and len(made[0].points) == 18, f"the fixed experiment: {len(made[0].points)}")
    check([word for _, word in ticks] == ["2", "8", "32"] and ticks[0][0] == 0, f"ticks: {ticks}")
    ours, _ = fixed.columns_of(measured)
    check(all(np.allclose(a.of(lambda w, i: w.us[i]), b.of(lambda w, i: w.us[i]), rtol=1e-12) for a, b in zip(ours, made)),
          "the trace's medians are the program's")
    # Copies are the longest with 8 iterations, the kernel with 27; the other estimate is far off.
    last = lambda c, name: job_columns.error_of(name)(*c.points[-1])
    check(abs(last(made[0], "dominant transfers")) < 2 and last(made[0], "dominant kernel") < -50, "transfers dominate")
    check(abs(last(made[1], "dominant kernel")) < 2 and last(made[1], "dominant transfers") < -15, "the kernel dominates")
    total, streams, made = asymmetric.columns_of(told)
    check((total, streams, [c.iterations for c in made]) == (24 << 20, 16, [1, 16]), f"the asymmetric one: {total}, {streams}")
    check(np.allclose(made[0].x[[0, 6, 12]], [1 / 24, 0.5, 23 / 24]) and len(made[0].x) == 13, "its divisions")
    check(worst(made[0], "dominant transfers") < 2, "copies hide all else")

    text = words(folder, "fixed", path)
    check(all(w in text for w in ("SIMULATED GeForce GTX 280", "60 MiB in, 60 MiB out", "t_E", "dominant transfers",
                                  "simulator", "van Werkhoven 2014", "2 to 64 streams", "Time of a job (ms)")), "fixed's words")
    text = words(folder, "asymmetric", path)
    check(all(w in text for w in ("SIMULATED", "24 MiB in both directions together", "16 streams", "only d2h hidden", "percent")),
          "asymmetric's words")
    for name in ("fixed", "asymmetric"):
        text = words(folder, name, trace)
        check("SIMULATED" in text and "measured" in text and "simulator" not in text, f"{name} of a trace")
    with open(path, encoding="utf-8") as file:
        text = words(folder, "predicted", "-", stdin=file)
    check(all(w in text for w in ("SIMULATED", "2 workloads, 36 times", "increment kernel", "95th percentile", "n = 1",
                                  "10 % off", "Measured time of a job")), "predicted's words")
    text = words(folder, "predicted", path, "--model", "c.c. 2.x")
    check("c.c. 2.x" in text, "predicted --model")
    text = words(folder, "regret", path)
    check(words(folder, "regret", trace, "--measured", trace) == text, "regret asks for the study itself")
    check(all(w in text for w in ("SIMULATED", "best constant n", "median", "p95", "workloads with at most that regret")),
          "regret's words")
    return trace, path


def as_gomez_luna_et_al_saw(folder):
    """On c.c. 2.x a long kernel hides copies to the device, not those from it, and c.c. 2.x is the model that says so."""
    _, path = evaluate(folder, "gtx480", "20,115", "40", pool="fresh")
    found = evaluations.load(path)
    _, _, (column,) = asymmetric.columns_of(found)
    check(worst(column, "dominant kernel, h2d hidden") < 1 < 10 < worst(column, "dominant kernel, d2h hidden"), "h2d is hidden")
    made, _ = fixed.columns_of(found, lambda w: w.pool == "fresh")
    check(len(made) == 2 and all(worst(c, "c.c. 2.x") < 1 for c in made), "the model with what streams cost to make")
    check("fresh streams" in words(folder, "fixed", path, "--pool", "fresh"), "fixed --pool")


def says_how_many_workloads_it_shows(folder):
    """A design holds many jobs of different sizes: a figure shows one of them, says so, and another can be chosen."""
    times = {n: 100 - n for n in (1, 2, 3, 4, 5, 6)}
    jobs = [workload("compute", 7, times, {"simulator": ([90] * 6, 0.0, True), "c.c. 2.x": ([90] * 6, 0.0, True),
                                           "c.c. 1.x corrected": ([90] * 6, 0.0, True), "van Werkhoven 2014": ([90] * 6, 0.0, True)})
            for _ in range(3)]
    for job in jobs:
        job["hypotheses"] = [{"hypothesis": h, "predicted_us": [75] * 6} for h, _, _ in job_columns.HYPOTHESES]
    for size, job in zip((4096, 8192, 12288), jobs):
        job["bytes_in"] = size
    path = os.path.join(folder, "design.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document(jobs), file)
    text = words(folder, "fixed", path)
    check("4 KiB in" in text and "1 of 3 workloads" in text, "fixed says that it shows one of three workloads")
    text = words(folder, "fixed", path, "--sizes", "12KiB,8KiB")
    check("12 KiB in, 8 KiB out" in text and "1 of 3 workloads" in text, "fixed --sizes")


def bad_input(folder, trace, path):
    def put(name, content):
        where = os.path.join(folder, name)
        with open(where, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return where

    text = put("text.json", "no JSON")
    other = put("other.json", {"document": "npgpu-prediction", "version": 1})
    newer = put("newer.json", {"document": "npgpu-evaluation", "version": 99})
    old = put("old.json", {"document": "npgpu-evaluation", "version": 1, "device_name": "", "models": [], "workloads": [{}]})
    few = put("few.json", document([], [workload("memory", 1, {1: 9, 2: 8}, {"a": ([9, 8], 0.0, True)})]))
    for name, arguments, word in [("fixed", [few], "split into 5 numbers of streams"),
                                  ("asymmetric", [few], "divided in 5 ways"),
                                  ("fixed", [path, "--kernel", "memory"], "no such job"),
                                  ("regret", [few], "holds no workload"),
                                  ("predicted", [path, "--model", "mine"], "is none of simulator"),
                                  ("predicted", [text], "neither a trace nor JSON"), ("regret", [other], "is JSON, but not"),
                                  ("fixed", [newer], "version 99"), ("regret", [old], "lacks what"),
                                  ("fixed", [os.path.join(folder, "nosuch")], "no such file"),
                                  ("asymmetric", [folder], "is a folder"), ("regret", [path, "-o", "a.txt"], "ends in none")]:
        bad = [] if "-o" in arguments else ["-o", os.path.join(folder, "bad.png")]
        ended = refused(word, name, *arguments, *bad)
        check(ended.stderr.count("\n") == 1, f"{name}: more than a sentence: {ended.stderr}")
        check(not os.path.exists(os.path.join(folder, "bad.png")), f"{name} left a picture")


with tempfile.TemporaryDirectory(prefix="npgpu-plots-") as scratch:
    by_hand()
    bad_input(scratch, *of_the_program(scratch))
    as_gomez_luna_et_al_saw(scratch)
    says_how_many_workloads_it_shows(scratch)
check.finish()
