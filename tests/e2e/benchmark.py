"""The benchmark of stream models: its files are those of the kept traces, and its scorer has the figures of
`python -m npgpu.study` for every model that it knows, to the last digit."""
import csv
import json
import math
import os
import subprocess
import sys

from npgpu_run import PROGRAM, SOURCE, Checks, folder

from npgpu.study import scores  # noqa: E402

check = Checks()
HOME = os.path.join(SOURCE, "data", "benchmark")
SETS = {"h200": ("h200_streams.h5", "h200_design.h5"), "h200-small": ("h200_small_streams.h5", "h200_small_design.h5")}


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def same(a, b):
    """Numbers to 12 digits: another compiler may round a prediction's last one otherwise."""
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-12)
    except ValueError:
        return a == b


def score(*arguments):
    return subprocess.run([sys.executable, os.path.join(HOME, "score.py"), *arguments], capture_output=True, text=True)


def is_made_from_the_kept_traces(where):
    made = subprocess.run([sys.executable, os.path.join(HOME, "make.py"), PROGRAM, "-o", where], capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    for name in SETS:
        kept = sorted(os.listdir(os.path.join(HOME, name)))
        check(kept == ["jobs.csv", "measured.csv", "models.csv", "simulator.csv", "training.csv"], f"{name}: {kept}")
        for file in kept:
            ours, theirs = rows(os.path.join(where, name, file)), rows(os.path.join(HOME, name, file))
            check(len(ours) == len(theirs) > 10, f"{name}/{file}: {len(theirs)} rows, {len(ours)} of the traces")
            wrong = [(a, b) for a, b in zip(ours, theirs) if len(a) != len(b) or not all(map(same, a, b))]
            check(not wrong, f"{name}/{file}: make.py makes it anew: {wrong[:1]}")


def scores_as_the_study_does(where, name):
    training, held_out = (os.path.join(SOURCE, "data", "traces", t) for t in SETS[name])
    told = scores.of_trace(training, held_out)
    check(len(told["models"]) > 10, "a dozen models")
    for at, model in enumerate(told["models"]):
        entry = os.path.join(where, "entry.csv")
        with open(entry, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["job", "streams", "predicted_us", "chosen"])
            for number, job in enumerate(told["workloads"], 1):
                own = job["models"][at]
                for point, us in zip(job["points"], own["predicted_us"]):
                    out.writerow([number, point["streams"], "" if us is None else us, int(point["streams"] == own["predicted_best"])])
        done = score(name, entry, "--json")
        check(done.returncode == 0, f"{model['model']}: {done.stderr}")
        got = json.loads(done.stdout)
        for what in ("error", "regret", "hits"):
            check(got[what] == model[what], f"{name}, {model['model']}: {what} {got[what]}, by the study {model[what]}")
        check(got["jobs"] == model["workloads"], f"{model['model']}: jobs")
    # Without a column of choices the least predicted time is the choice, as the simulator's is.
    plain = json.loads(score(name, os.path.join(HOME, name, "simulator.csv"), "--json").stdout)
    check(all(abs(plain[w][k] - told["models"][0][w][k]) < 1e-9 for w in ("error", "regret") for k in plain[w]), f"{plain}")


def refusals(where):
    good = rows(os.path.join(HOME, "h200", "simulator.csv"))

    def refused(change, word):
        changed = [list(row) for row in good]
        change(changed)
        path = os.path.join(where, "bad.csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(changed)
        done = score("h200", path)
        check(done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1, f"{word}: {done.stdout}{done.stderr}")

    refused(lambda all_rows: all_rows.pop(), "lacks job 205 in 64 streams")
    refused(lambda all_rows: all_rows.append(all_rows[1]), "a second row of job 1 in 1 streams")
    refused(lambda all_rows: all_rows.append(["1", "5000", "3"]), "not measured in 5000 streams")
    refused(lambda all_rows: all_rows[1].__setitem__(2, "nan"), "predicted_us are numbers")
    refused(lambda all_rows: all_rows[1].__setitem__(2, ""), "neither a choice nor a time")
    refused(lambda all_rows: all_rows[0].__setitem__(1, "n"), "no column streams")
    check(score("h200", "/no/such.csv").returncode == 2, "no such entry")
    told = score("h200", os.path.join(HOME, "h200", "simulator.csv")).stdout
    with open(os.path.join(HOME, "README.md"), encoding="utf-8") as file:
        page = [line.strip() for line in file]
    with open(os.path.join(HOME, "h200", "models.csv"), newline="", encoding="utf-8") as file:
        models = {row["model"]: row for row in csv.DictReader(file)}
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page if line.startswith("| ")]
    shown = [row for row in table if row[0] in models]
    for name, *cells in shown:
        wanted = [f"{100 * float(v):.3g} %" if v else "" for v in (models[name][k] for k in ("error_median", "error_p95", "regret_median", "regret_p95", "hits"))]
        check(cells == [models[name]["fitted"], *wanted], f"the page's row of {name}: {cells}, models.csv {wanted}")
    check(len(shown) > 8, "the page has the models")
    check(told.splitlines() and all(line.strip() in page for line in told.splitlines()), f"the page shows what the scorer prints: {told}")


with folder() as scratch:
    is_made_from_the_kept_traces(scratch)
    for one in SETS:
        scores_as_the_study_does(scratch, one)
    refusals(scratch)
check.finish()
