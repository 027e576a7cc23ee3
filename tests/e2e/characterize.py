"""npgpu characterize on a simulated H200: transfers, probes and what streams cost in one trace, in six rounds, stopped
once in each of the three kinds and once in a later round, and resumed; and the question that it says can be asked
then."""
import itertools
import json
import os
import re
import shutil

from npgpu_run import SOURCE, Checks, folder, needs, run, stopped_at, written

h5py = needs("h5py")
check = Checks()
AXES = {"transfers": ("bytes",), "probes": ("blocks", "threads", "ilp", "access_bytes", "bytes", "one_block_per_sm", "stride", "offset_bytes", "ways", "rung", "m", "n", "k", "panels"),
        "jobs": ("bytes_in", "bytes_out", "kernel_bytes", "iterations", "chunks", "streams", "threads"),
        "calls": ("bytes", "blocks", "nodes")}


def small_h200(where):
    """With pinned memory alone, and too small for two buffers: seven sweeps instead of fourteen."""
    spec = json.load(open(os.path.join(SOURCE, "data/devices/h200.json")))
    spec["memory_bytes"] = 300 * 2**20
    for way in ("h2d", "d2h"):
        spec["links"][way] = {"pinned": spec["links"][way]["pinned"]}
    return "sim:" + written(os.path.join(where, "small.json"), spec)


ROUNDS, LEAST = 6, 3


def visits(path):
    """By kind and series: every visit's point and round, in order of time."""
    with h5py.File(path) as f:
        return {kind: {number: [(*(int(row[axis]) for axis in axes), int(row["round"])) for row in case["visits"][:]]
                       for number, case in f.get(kind, {}).items()}
                for kind, axes in AXES.items()}, int(f.attrs["complete"])


def points_of(of_kind):
    return {(number, *visit[:-1]) for number, rows in of_kind.items() for visit in rows}


with folder() as where:
    device, trace = small_h200(where), os.path.join(where, "node.h5")
    plan = json.loads(run("characterize", "--device", device, "--dry-run", "--json").out)
    planned = {kind: sum(len(batch["points"]) for batch in plan[kind]) for kind in AXES}
    check(min(planned.values()) > 50 and len(plan["jobs"]) == 1, f"every kind is planned: {planned}")

    command = ["characterize", "--device", device, "--resume", "--output", trace, "--progress", "points"]
    before = {kind: {} for kind in AXES}

    def saves_a(kind):
        return lambda line: line.startswith(f"saved /{kind}/")

    def ends_round(number):
        """A round has a visit to every planned point; and a few of the next one."""
        left = number * sum(planned.values()) + 5 - sum(len(rows) for series in before.values() for rows in series.values())
        saved = itertools.count(1)
        return lambda line: line.startswith("saved /") and next(saved) >= left

    stops = [(kind, lambda kind=kind: saves_a(kind)) for kind in ("transfers", "probes", "jobs")]  # calls are over too soon
    for name, when in stops + [("round 3", lambda: ends_round(3))]:
        for attempt in range(40):  # each is so short that it may be over before the signal comes
            if before["transfers"]:
                shutil.copy(trace, trace + ".before")
            code, err = stopped_at(when(), command)
            if code != 0:
                break
            shutil.copy(trace + ".before", trace)
        check(code == 75 and "--resume" in err, f"stopped among {name}: exit {code}: {err[-200:]}")
        some, complete = visits(trace)
        check(complete == 0, f"stopped among {name}: an unfinished trace says so")
        for kind in AXES:
            for number, rows in before[kind].items():
                check(some[kind][number][:len(rows)] == rows, f"stopped among {name}: what was measured of {kind} {number} is still there")
            for number, rows in some[kind].items():
                check(len(set(rows)) == len(rows), f"stopped among {name}: no visit of {kind} {number} twice")
        before = some
    reached = max(visit[-1] for series in before.values() for rows in series.values() for visit in rows)
    check(reached >= 3, f"the last stop was in round {reached}")

    done = run(*command)
    check(done.code == 0, f"resumed to the end: {done.code} {done.err[-300:]}")
    all_visits, complete = visits(trace)
    for kind in AXES:
        for number, rows in before[kind].items():
            check(all_visits[kind][number][:len(rows)] == rows, f"resumed: what was measured of {kind} {number} is still there")
        found = {(number, *visit) for number, rows in all_visits[kind].items() for visit in rows}
        check(len(found) == sum(map(len, all_visits[kind].values())), f"no visit of {kind} twice")
        points = points_of(all_visits[kind])
        check(len(points) == planned[kind], f"every planned point of {kind} is there: {len(points)} of {planned[kind]}")
        check(found >= {(*point, number) for point in points for number in range(LEAST)}, f"each of {kind} in the first rounds")
        # Points whose buffers take long to fill get no more than these.
        if kind == "transfers":
            check(sum((*point, ROUNDS - 1) in found for point in points) > len(points) / 2, "most of them in every round")
    check(complete == 1, "complete at last")
    once_more = run(*command)
    check(f"{sum(planned.values())} kept from before" in once_more.out and " 0 points measured" in once_more.out,
          f"a complete run is not measured again: {once_more.out[-300:]}")
    orders = [[visit[:-1] for visit in all_visits["transfers"]["0000"] if visit[-1] == number] for number in range(ROUNDS)]
    check(len(set(map(tuple, orders))) > 1, "rounds have orders of their own")
    for words in ("SIMULATED ", "HEALTH ", "\nof sim:", "  host to GPU, pinned ", "± 95 %", "of peak", " launch ", "predicted of ", "QUALITY ", "NEXT "):
        check(words in done.out, f"the summary has {words}")
    asked = re.search(r"^ {9}npgpu (predict .*)$", done.out, re.M)
    check(asked, "the summary says what can be asked next")
    short, longer, whole = (run("report", trace, *how).out for how in ([], ["--overview"], ["--all"]))
    check(short.splitlines() == [line for line in done.out.splitlines() if not line.startswith("done: ")],
          "report shows what characterize ended with")
    for kept in ("h200_run_a", "h200_rounds", "h100_quick_b"):
        for columns in (80, 100, 120):
            screen = run("report", kept + ".h5", cwd=os.path.join(SOURCE, "data/traces"), env={"COLUMNS": str(columns)}).out.splitlines()
            wide = [line for line in screen if len(line) > columns and "npgpu " not in line]
            check(len(screen) <= 30 and not wide, f"{kept} at {columns} columns: {len(screen)} lines, {wide}")
    check(short.count("\n") <= 30, f"which has {short.count(chr(10))} lines")
    for words in ("COPIES ", "STREAMS ", "new stream", "copy engines", "example "):
        check(words in longer, f"the overview has {words}")
    for words in (" multiprocessors of ", "t_sc", "N_PPipe", asked.group(0)):
        check(words in whole, f"the full report has {words}")

    # The device's own simulator is the truth that the prediction is compared with.
    question = asked.group(1).split()
    predicted = json.loads(run(*question, "--json").out)
    truth = json.loads(run("simulate", "--device", device, *question[2:], "--json").out)
    ratio = predicted["best"]["time_us"] / truth["best"]["time_us"]
    # Within 0.4 % for 20 seeds of the noise.
    check(abs(ratio - 1) < 0.015, f"predicted over simulated: {ratio}")

    # A busy host leaves some points with their least rounds: too few values to tell, which the comparison says.
    same = json.loads(run("compare", trace, trace, "--json").out)
    counts, every = same["counts"], [point for case in same["cases"] for point in case["points"]]
    wide = [point for point in every if point["verdict"] == "cannot-tell"]
    check(same["outcome"] in ("not-slower", "cannot-tell") and counts["same"] + counts["cannot-tell"] == sum(counts.values()), f"all of it compares: {counts}")
    check(counts["same"] > 0.5 * sum(counts.values()), f"most of it is the same: {counts}")
    check(all(point["change"] == 0 for point in every), "nothing differs from itself")
    check(all(point["shown"] is None or point["shown"] > point["tolerance"] for point in wide), f"what cannot be told has wide intervals: {wide}")
    # A lane is a case of its own there.
    counts = {kind: sum(len(c["points"]) for c in same["cases"] if c["kind"] == kind and c["lane"] == 0) for kind in AXES}
    check(counts == planned, f"of every kind: {counts}")
    for kind in AXES:
        one = json.loads(run("export", trace, "--format", "json", "--case", kind + ":1").out)
        check([len(one[each]) for each in AXES] == [int(each == kind) for each in AXES], f"--case chooses one of {kind}")
    some = json.loads(run("export", trace, "--format", "json", "--case", "transfers:0,2", "probes").out)
    check([len(some[each]) > 0 for each in AXES] == [True, True, False, False] and len(some["transfers"]) == 2, "--case takes several")
    wrong = run("report", trace, "--case", "jobs:99")
    check(wrong.code == 2 and "jobs:99" in wrong.err and "jobs:0" in wrong.err, f"a case that is not there: {wrong.err}")
check.finish()
