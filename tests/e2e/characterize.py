"""npgpu characterize on a simulated H200: transfers, probes and what streams cost in one trace, stopped once in each of
the three and resumed; and the question that it says can be asked then."""
import json
import os
import re
import shutil
import signal
import subprocess

import h5py

from npgpu_run import PROGRAM, SOURCE, Checks, folder, run

check = Checks()
AXES = {"transfers": ("bytes",), "probes": ("blocks", "threads", "ilp", "access_bytes", "bytes", "one_block_per_sm"),
        "jobs": ("bytes_in", "bytes_out", "kernel_bytes", "iterations", "chunks", "streams", "threads"),
        "calls": ("bytes", "blocks", "nodes")}


def small_h200(where):
    """With pinned memory alone, and too small for two buffers: seven sweeps instead of fourteen."""
    spec = json.load(open(os.path.join(SOURCE, "data/devices/h200.json")))
    spec["memory_bytes"] = 300 * 2**20
    for way in ("h2d", "d2h"):
        spec["links"][way] = {"pinned": spec["links"][way]["pinned"]}
    path = os.path.join(where, "small.json")
    json.dump(spec, open(path, "w"))
    return "sim:" + path


def points(path):
    """By kind: every point with its case."""
    with h5py.File(path) as f:
        return {kind: [(number, *(int(row[axis]) for axis in axes if axis in row.dtype.names))
                       for number, case in f.get(kind, {}).items() for row in case["points"][:]]
                for kind, axes in AXES.items()}, int(f.attrs["complete"])


def stopped_at(marker, command):
    """Exit code and standard error of a run that got SIGTERM once it had written a line like this."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    told = ""
    for line in process.stderr:
        told += line
        if re.search(marker, line):
            process.send_signal(signal.SIGTERM)
            break
    told += process.stderr.read()
    return process.wait(timeout=60), told


with folder() as where:
    device, trace = small_h200(where), os.path.join(where, "node.h5")
    plan = json.loads(run("characterize", "--device", device, "--dry-run", "--json").out)
    planned = {kind: sum(len(batch["points"]) for batch in plan[kind]) for kind in AXES}
    check(min(planned.values()) > 50 and len(plan["jobs"]) == 1, f"every kind is planned: {planned}")

    command = [PROGRAM, "characterize", "--device", device, "--resume", "--output", trace, "--progress", "points"]
    before = {kind: [] for kind in AXES}
    for kind, marker in ((kind, rf"^saved /{kind}/") for kind in ("transfers", "probes", "jobs")):  # calls are over too soon
        for attempt in range(40):  # each is so short that it may be over before the signal comes
            if before["transfers"]:
                shutil.copy(trace, trace + ".before")
            code, err = stopped_at(marker, command)
            if code != 0:
                break
            shutil.copy(trace + ".before", trace)
        check(code == 75 and "--resume" in err, f"stopped among {kind}: exit {code}: {err[-200:]}")
        some, complete = points(trace)
        check(complete == 0, f"stopped among {kind}: an unfinished trace says so")
        for each in AXES:
            check(some[each][:len(before[each])] == before[each], f"stopped among {kind}: {each} measured before are still there")
            check(len(set(some[each])) == len(some[each]), f"stopped among {kind}: none of {each} twice")
        check(len(some[kind]) < planned[kind], f"stopped among {kind}: {len(some[kind])} of {planned[kind]}")
        before = some

    done = run(*command[1:])
    check(done.code == 0, f"resumed to the end: {done.code} {done.err[-300:]}")
    check(f"{sum(map(len, before.values()))} kept from before" in done.out, f"nothing was measured again: {done.out[-300:]}")
    all_points, complete = points(trace)
    check(complete == 1 and {kind: len(all_points[kind]) for kind in AXES} == planned, "every planned point is there, once")
    for words in ("SIMULATED derived parameters of sim:", "t_sc", "copy engines", "N_PPipe"):
        check(words in done.out, f"the summary has {words}")
    asked = re.search(r"^into how many streams to cut a job: npgpu (predict .*)$", done.out, re.M)
    check(asked, "the summary says what can be asked next")
    for arguments in (["report", trace], ["report", trace, "--overview"]):
        told = run(*arguments).out
        check("t_sc" in told and asked.group(0) in told, f"{arguments[0]} says what streams cost and how to go on")

    # The device's own simulator is the truth that the prediction is held against.
    question = asked.group(1).split()
    predicted = json.loads(run(*question, "--json").out)
    truth = json.loads(run("simulate", "--device", device, *question[2:], "--json").out)
    ratio = predicted["best"]["time_us"] / truth["best"]["time_us"]
    # 1.014 where no run was stopped; a stop draws other noise.
    check(abs(ratio - 1) < 0.03, f"predicted over simulated: {ratio}")

    same = json.loads(run("compare", trace, trace, "--json").out)
    check(same["counts"]["same"] == len(same["points"]) == sum(planned.values()), f"all of it compares: {same['counts']}")
    counts = {kind: sum(p["kind"] == kind for p in same["points"]) for kind in AXES}
    check(counts == planned, f"of every kind: {counts}")
    for kind in AXES:
        one = json.loads(run("export", trace, "--format", "json", "--case", kind + ":1").out)
        check([len(one[each]) for each in AXES] == [int(each == kind) for each in AXES], f"--case chooses one of {kind}")
    some = json.loads(run("export", trace, "--format", "json", "--case", "transfers:0,2", "probes").out)
    check([len(some[each]) > 0 for each in AXES] == [True, True, False, False] and len(some["transfers"]) == 2, "--case takes several")
    wrong = run("report", trace, "--case", "jobs:99")
    check(wrong.code == 2 and "jobs:99" in wrong.err and "jobs:0" in wrong.err, f"a case that is not there: {wrong.err}")
check.finish()
