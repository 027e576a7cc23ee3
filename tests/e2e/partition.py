"""The partition method as a user runs it: on this host, where systems are really solved, and on a simulated H200, where
the truth is known."""
import csv
import io
import json
import os

from npgpu_run import SOURCE, Checks, below, folder, python, run, written

check = Checks()


def study_of(trace, *arguments):
    return python("-m", "npgpu.study", trace, "--partitions", *arguments)


with folder() as where:
    at = below(where)

    def rows(text):
        return list(csv.DictReader(io.StringIO(text)))

    # This host: every solution is right, whole and by stages, in both types.
    ran = run("partition", "--device", "host", "--size", "1000,2.5e4", "--streams", "1..3", "--rounds", "2", "--trials", "1",
              "--budget", "1ms", "--output", at("host.h5"), "--progress", "none")
    check(ran.code == 0, ran.err)
    for words in ("tridiagonal partition method, fp64, sub-systems of 10, on host", "25000", "T2 host", "missing: the simulator predicts devices with copy engines"):
        check(words in ran.out, f"'{words}' is said: {ran.out}")
    samples = rows(run("export", at("host.h5"), "--table", "partitions").out)
    check({r["type"] for r in samples} == {"fp64", "fp32"} and {r["timed"] for r in samples} == {"whole", "stages"}, "types and timings")
    compared = [r for r in samples if r["intact"] == "1"]
    check(len(compared) >= 2 * 2 * (3 + 2) * 2, f"{len(compared)} visits were compared: 2 types, 2 sizes, 3 + 2 shapes, 2 rounds")
    check(all(0 < float(r["residual"]) < (1e-14 if r["type"] == "fp64" else 1e-5) for r in compared), "residuals of rounding")
    check(all(float(r["stage2_us"]) < float(r["host_us"]) for r in samples), "stage 2 is a part of the run")
    points = rows(run("export", at("host.h5"), "--table", "partitions", "--summary").out)
    check(len(points) == 2 * 2 * (3 + 2) and {p["counts"] for p in points} == {"time of a solution"}, f"{len(points)} points")
    report = run("report", at("host.h5"))
    check(report.code == 0 and "partitions host fp64 whole" in report.out and "gtsv" in report.out + "LAPACK", report.err)
    check("sub-systems of 10, on host" in report.out and "Each model's number of streams" in report.out, report.out[-2000:])
    document = json.loads(run("report", at("host.h5"), "--json").out)
    check(len(document["partition_studies"]) == 2, f"{list(document)}")
    for study in document["partition_studies"]:
        for row in study["sizes"]:
            times = {p["streams"]: p["time_us"] for p in row["points"]}
            check(row["best"] == min(times, key=times.get), "the best is the least time")
            check(row["choices"][0]["streams"] is None, "no costs, no choice of the simulator")
    again = run("partition", "--device", "host", "--size", "1000,2.5e4", "--streams", "1..3", "--rounds", "2", "--trials", "1",
                "--budget", "1ms", "--output", at("host.h5"), "--progress", "none", "--resume")
    check(again.code == 0, again.err)

    # A simulated H200: costs, runs, and both models' choices.
    small = ("--device", "sim:h200", "--schedule", "classic", "--trials", "3", "--output", at("sim.h5"), "--quiet")
    check(run("streams", "--experiment", "overheads", *small).code == 0, "what streams cost")
    ran = run("partition", *small, "--append", "--type", "fp64", "--size", "1e4,1e5,4e5,1e6,4e6,1e7,1e8")
    check(ran.code == 0, ran.err)
    text = run("report", at("sim.h5"), "--case", "partitions", "jobs")
    check(text.code == 0 and "SIMULATED" in text.out and "missing" not in text.out, text.out + text.err)
    study = json.loads(run("report", at("sim.h5"), "--json").out)["partition_studies"][0]
    told = study_of(at("sim.h5"), "--json")
    check(told.returncode == 0, told.stderr)
    scores = {m["model"]: m for m in json.loads(told.stdout)["studies"][0]["models"]}
    check(scores["simulator"]["sizes"] == 7 and scores["simulator"]["regret"]["median"] <= 0.01, f"{scores['simulator']}")
    check(scores["Veneva & Imamura 2025"]["sizes"] > 0, f"{scores['Veneva & Imamura 2025']}")
    # Regrets are 0 and more, one stream is chosen for all sizes, and its times are no prediction.
    worst = max(row["choices"][3]["regret"] for row in study["sizes"])
    check(scores["n = 1"]["regret"]["most"] == worst > 0 and scores["n = 1"]["error"]["median"] is None, f"{scores['n = 1']}")
    said = study_of(at("sim.h5")).stdout
    for words in ("SIMULATED choices of streams for the tridiagonal partition method, fp64", "T2 even %", "sizes that were measured in two rounds"):
        check(words in said, f"'{words}' is said: {said}")
    refused = study_of(at("nosuch.h5"))
    check(refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr)
    check(study["fitted"]["sum_slope"] > 0, f"{study['fitted']}")

    # The figure, if there is a matplotlib.
    drawn = python("-m", "npgpu.plots", "partition", at("sim.h5"), "-o", at("partition.svg"),
                            "--table", os.path.join(SOURCE, "data/papers/003_table4_optimum.csv"))
    if "need numpy" not in drawn.stderr:
        check(drawn.returncode == 0, drawn.stderr)
        words = open(at("partition.svg"), encoding="utf-8").read()
        for word in ("SIMULATED", "fp64: number of streams", "refitted", "RTX 2080 Ti"):
            check(word in words, f"the figure says {word}")
        for name, word in (("partition_sums", "ns each"), ("partition_overhead", "Overhead (ms)")):
            drawn = python("-m", "npgpu.plots", name, at("sim.h5"), "-o", at(name + ".svg"))
            check(drawn.returncode == 0, drawn.stderr)
            words = open(at(name + ".svg"), encoding="utf-8").read()
            check("SIMULATED" in words and word in words, f"{name} says {word}")
        tables = python("-m", "npgpu.plots", "partition_tables", at("sim.h5"), "--papers",
                                 os.path.join(SOURCE, "data/papers"))
        check(tables.returncode == 0, tables.stderr)
        # The paper's Table II has 8 streams at 1e6 unknowns with a gain of 1.415968 ms, its Table IV 8 as the best.
        lines = tables.stdout.splitlines()
        check(any(line.startswith("| 8 |") and line.endswith("| 7.401472 | 0.713404 | 1.415968 |") for line in lines), tables.stdout)
        check(any(line.startswith("| 1e+06 |") and line.endswith("| 8 | 8 |") for line in lines), tables.stdout)
        check("## SIMULATED H200, fp64" in tables.stdout and "Table III" in tables.stdout, tables.stdout)
        # A real H200: fp32 and fp64 both have 4 there, its Table V 4 and 8. A form that fits the rows it was fitted to no better
        # than their mean fits others worse.
        real = python("-m", "npgpu.plots", "partition_tables", os.path.join(SOURCE, "data/traces/h200_partition.h5"), "--papers",
                      os.path.join(SOURCE, "data/papers"))
        check(real.returncode == 0 and "| 1e+06 | 4 | 4 | same | 4 | 8 | half |" in real.stdout, real.stdout + real.stderr)
        r2 = [line.split(" | ")[2:] for line in real.stdout.splitlines() if line.endswith("0.9896761975222511 |")]
        check(len(r2) == 1 and 0.8 < float(r2[0][0]) < 0.9 and float(r2[0][1]) < 0.05, f"{r2}")
        other = python("-m", "npgpu.plots", "partition", "-", "-o", at("bad.svg"), input='{"document": "npgpu-prediction", "version": 1}')
        check(other.returncode == 2 and "not what 'npgpu report" in other.stderr, other.stderr)

    # A wrong result is a failure of the run.
    spec = json.load(open(os.path.join(SOURCE, "data/devices/h200.json")))
    spec["faults"] = [{"call": 12, "every": 3, "kind": "corrupt"}]
    written(at("sick.json"), spec)
    sick = run("partition", "--device", "sim:" + at("sick.json"), "--size", "1e5", "--type", "fp64", "--streams", "1,2", "--output", at("sick.h5"), "--quiet")
    check(sick.code == 1 and "wrong at" in sick.err, f"{sick.code}: {sick.err}")

    # What is asked wrongly.
    for arguments, words in [(("--size", "1.5"), "no whole number"), (("--size", "5"), "too small"), (("--streams", "8..1"), "no range"),
                             (("--type", "int32"), "none of fp32, fp64"), (("--sub-system", "1"), "too small")]:
        bad = run("partition", "--device", "host", *arguments, "--output", at("bad.h5"))
        check(bad.code == 2 and words in bad.err and bad.err.count("\n") == 1, f"{arguments}: {bad.code} {bad.err}")
    large = run("partition", "--device", "host", "--size", "4e9", "--type", "fp64", "--streams", "1", "--dry-run")
    check(large.code != 0 and "4000000000 unknowns need" in large.err and "lower --size" in large.err, f"memory first: {large.out}{large.err}")
    some = run("partition", "--device", "host", "--size", "1e3,4e9", "--type", "fp64", "--streams", "1", "--dry-run")
    check(some.code == 0 and "left out" in some.out and "2 points" in some.out, f"what fits is measured: {some.out}{some.err}")
    none = run("predict", at("sick.h5"))
    check(none.code == 2 and none.err.count("\n") == 1, none.err)
check.finish()
