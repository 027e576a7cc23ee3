"""How good predictions are, by `python -m npgpu.study`: of jobs that real H200s ran, from costs of other traces, used to fit
nothing; of simulated ones; and what the study refuses."""
import json
import os

from npgpu_run import SOURCE, Checks, below, folder, python, run

from npgpu.study import scores  # noqa: E402
from npgpu.study.statistics import spread  # noqa: E402

check = Checks()


def kept(name):
    return os.path.join(SOURCE, "data", "traces", f"h200_{name}.h5")


def study(costs, jobs):
    return scores.of_trace(kept(costs), kept(jobs))


def study_prints(*arguments):
    return python("-m", "npgpu.study", *map(str, arguments))


def at_most(found, name, model=0, **limits):
    """Medians and percentiles of a model are at most these."""
    for limit, most in limits.items():
        what, key = limit.rsplit("_", 1)
        value = found["models"][model][what][key]
        check(value is not None and value <= most, f"{name}: {found['models'][model]['model']}, {limit} is {value}, not at most {most}")


def of_205_workloads():
    found = study("streams", "design")
    ours = found["models"][0]
    check(len(found["workloads"]) == 205 and ours["model"] == "simulator" and ours["fitted"] == 0, "205 workloads, and nothing fitted")
    # What is advised, the fewest streams within 1 % of the best predicted, costs little more than the best.
    at_most(found, "205 workloads", error_median=0.03, error_p95=0.10, regret_median=0.01, regret_p95=0.03, advised_regret_median=0.015,
            advised_regret_p95=0.04)
    # No model of the literature is nearer to the times, the fitted ones included.
    for model in found["models"][2:]:
        for key in ("median", "p95"):
            value = model["error"][key]
            check(value is None or value >= ours["error"][key], f"{model['model']} is nearer: {model['error']}")
    unsplit = next(m for m in found["models"] if m["model"] == "n = 1")
    check(unsplit["regret"]["median"] > 0.1, f"one stream: {unsplit['regret']}")


def of_other_gpus():
    """Costs with the gap ahead of kernels and with longer kernels of few warps, and jobs that other H200s ran on other days."""
    for design in ("blind_design", "placed_design", "blind_design_2", "blind_design_3", "blind_design_4"):
        at_most(study("blind_costs_5", design), design, error_median=0.02, error_p95=0.08, regret_median=0.003, cross_validated_mean=0.01)


def of_a_quiet_host():
    """Measured in turn on one H200 whose host was quiet, with a seed that the model had not seen; and its costs with the jobs
    of another one."""
    own = study("blind_costs_6", "blind_design_6")
    check(len(own["workloads"]) == 100 and abs(own["calls_over_costs"]["value"] - 1) < 0.01, f"calls: {own['calls_over_costs']}")
    at_most(own, "blind_design_6", error_median=0.013, error_p95=0.06, regret_median=0.003)
    at_most(study("blind_costs_6", "blind_design_7"), "blind_design_7", error_median=0.015, error_p95=0.08)


def of_small_jobs_measured_twice():
    """The same jobs in two runs on one H200. Costs of another one choose for small jobs as well as the other run's times do."""
    first, second = study("blind_costs_6", "again_a"), study("blind_costs_6", "again_b")
    key = lambda w: tuple(w[k] for k in ("workload", "order", "pool", "bytes_in", "bytes_out"))
    best = {}
    for w in first["workloads"]:
        best.setdefault(key(w), w["best"])
    measured, predicted = [], []
    for w in second["workloads"]:
        if w["bytes_in"] + w["bytes_out"] >= 1 << 20:
            continue
        times = {p["streams"]: p["measured_us"] for p in w["points"]}
        measured.append(times[best[key(w)]] / min(times.values()) - 1)
        predicted.append(w["regret"])
    check(len(measured) == 32 and abs(spread(measured)["p95"] / 0.057 - 1) < 0.02, f"{len(measured)} jobs, {spread(measured)}")
    check(spread(predicted)["p95"] <= spread(measured)["p95"] + 1e-3 and spread(predicted)["median"] <= 0.001, f"{spread(predicted)}")


def of_a_slower_host():
    """The costs are from another machine's host, whose calls took longer."""
    found = study("blind_costs_2", "placed_design")
    check(len(found["workloads"]) == 100 and abs(found["calls_over_costs"]["value"] / 0.95 - 1) < 0.01, f"calls: {found['calls_over_costs']}")
    check(found["models"][1]["model"] == "simulator, host as it was", found["models"][1]["model"])
    at_most(found, "placed_design", error_median=0.02)
    at_most(found, "placed_design", model=1, error_p95=0.08)
    at_most(study("run_b", "placed_design"), "a host with calls as fast as these jobs'", error_p95=0.07)


def of_simulated_jobs(where):
    at = below(where)
    for made in (run("streams", "--device", "sim:h200", "--experiment", "overheads", "--output", at("node.h5"), "--quiet"),
                 run("calls", "--device", "sim:h200", "--append", "--output", at("node.h5"), "--quiet"),
                 run("streams", "--device", "sim:h200", "--experiment", "design", "--workloads", "6", "--seed", "11",
                     "--issue", "streams,graph", "--output", at("design.h5"), "--quiet"),
                 run("streams", "--device", "sim:h200", "--bytes-in", "16MiB", "--bytes-out", "16MiB", "--iterations", "64", "--order",
                     "depth-first", "--chunks", "1,12,24,48", "--streams", "3,6", "--append", "--output", at("design.h5"), "--quiet"),
                 run("streams", "--device", "sim:h200", "--bytes-in", "16MiB", "--bytes-out", "16MiB", "--order", "depth-first",
                     "--chunks", "1,12", "--streams", "3", "--output", at("turns.h5"), "--quiet")):
        check(made.code == 0, made.err)
    alone = study_prints(at("node.h5"), "--measured", at("turns.h5"))
    check(alone.returncode == 0 and "1 split measured" in alone.stdout and "regret" not in alone.stdout, alone.stdout + alone.stderr)
    both = study_prints(at("node.h5"), "--measured", at("design.h5"), "--every-job")
    check("SIMULATED predictions compared with 6 measured workloads on H200" in both.stdout, both.stdout[:200])
    for said in ("6 jobs as CUDA graphs and in streams", "6 splits measured", "of memory kernel"):
        check(said in both.stdout, f"'{said}' is said: {both.stdout[-1500:]}")
    found = json.loads(study_prints(at("node.h5"), "--measured", at("design.h5"), "--device", "sim:h200", "--json").stdout)
    check(found["document"] == "npgpu-evaluation" and len(found["models"]) == 14, f"{list(found)}")
    graphs = found["graphs"]
    errors = sorted(abs(p["predicted_us"] / p["measured_us"] - 1) for g in graphs for p in g["graph"] if p["streams"] > 1)
    check(len(graphs) == 6 and errors[len(errors) // 2] < 0.02, f"{len(graphs)} graphs, {errors[len(errors) // 2:]}")
    gains = [min(p["measured_us"] for p in g["streams"]) / min(p["measured_us"] for p in g["graph"]) - 1 for g in graphs]
    check(max(gains) > 0.004, f"where calls count, a graph gains: {gains}")
    # What it refuses, in one sentence.
    for arguments, words in (([at("node.h5")], "no job, unsplit and split"), ([at("design.h5")], "what streams cost"),
                             ([at("node.h5"), "--measured", at("nosuch.h5")], "nosuch.h5"), ([at("node.h5"), "--device", "cuda:7"], "cuda:7")):
        refused = study_prints(*arguments)
        check(refused.returncode == 2 and words in refused.stderr and refused.stderr.count("\n") == 1 and not refused.stdout, f"{arguments}: {refused.stderr}")


of_205_workloads()
of_other_gpus()
of_a_quiet_host()
of_small_jobs_measured_twice()
of_a_slower_host()
with folder() as scratch:
    of_simulated_jobs(scratch)
check.finish()
