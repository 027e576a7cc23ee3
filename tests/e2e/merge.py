"""npgpu merge: the runs of several traces in one file, each as it was; and what readers make of such a file."""
import json
import os
import shutil

from npgpu_run import Checks, folder, needs, run

h5py, numpy = needs("h5py", "numpy")
check = Checks()


def same(a, b):
    """Two HDF5 groups hold the same: attributes, groups and tables. What a merge adds does not count."""
    attributes = [{k: v for k, v in one.attrs.items() if k != "merged_from"} for one in (a, b)]
    if attributes[0].keys() != attributes[1].keys() or set(a) != set(b):
        return False
    if not all(numpy.array_equal(attributes[0][k], attributes[1][k], equal_nan=isinstance(v, float))
               for k, v in attributes[1].items()):
        return False
    if not all(same(a[name], b[name]) if isinstance(b[name], h5py.Group) else
               a[name].dtype == b[name].dtype and a[name][:].tobytes() == b[name][:].tobytes() and
               dict(a[name].attrs) == dict(b[name].attrs) for name in b):
        return False
    return True


def refused(where, *words, command=("merge", "out.h5")):
    """Those files are refused, in one sentence each, and nothing is written."""
    before = sorted(os.listdir(where))
    got = run(*command, *words, cwd=where)
    check(got.code == 2, f"merge {words}: exit {got.code}")
    check(sorted(os.listdir(where)) == before, f"merge {words}: nothing is written: {os.listdir(where)}")
    return got.err.splitlines()


with folder() as where:
    def path(name):
        return os.path.join(where, name)

    # Two ranks of a job on a GPU each, the first GPU once more, and a run of the host.
    slurm = {"SLURM_JOB_ID": "12", "SLURM_ARRAY_JOB_ID": "11", "SLURM_ARRAY_TASK_ID": "3", "SLURM_NTASKS": "2"}
    for name, device, rank in (("a", "sim:h200", "0"), ("b", "sim:gtx280", "1"), ("again", "sim:h200", None)):
        made = run("check", "--level", "1", "--device", device, "--quiet", "--output", path(name + ".h5"),
                   env=dict(slurm, SLURM_PROCID=rank) if rank else {})
        check(os.path.exists(path(name + ".h5")), made.err)
    made = run("transfer", "--device", "host", "--sizes", "8,4KiB", "--schedule", "classic", "--target-time", "1ms",
               "--quiet", "--output", path("host.h5"))
    check(made.code == 0, made.err)

    made = run("merge", "job.h5", "a.h5", "b.h5", cwd=where)
    check(made.code == 0 and "2 runs of 1 host" in made.out, made.out + made.err)
    check(all(line in made.out for line in ("11_3", "SIMULATED H200", "SIMULATED GeForce GTX 280")), made.out)
    made = run("merge", "all.h5", "job.h5", "again.h5", "host.h5", "--quiet", cwd=where)
    check(made.code == 0 and made.out == "all.h5: 4 runs\n", made.out + made.err)
    parts = ["a.h5", "b.h5", "again.h5", "host.h5"]
    with h5py.File(path("all.h5")) as merged:
        check(merged.attrs["schema_name"] == "npgpu-runs", "the file says what it is")
        check(sorted(merged["runs"]) == ["0000", "0001", "0002", "0003"], f"four runs: {list(merged['runs'])}")
        for number, part in enumerate(parts):
            group = merged[f"runs/{number:04}"]
            check(group.attrs["merged_from"] == part, f"{part}: the name is kept")
            with h5py.File(path(part)) as alone:
                check(same(group, alone), f"{part}: every attribute and every row is kept")
        check(not same(merged["runs/0000"], merged["runs/0002"]), "one GPU measured twice is two runs")
    narrow = run("report", path("all.h5"), env={"COLUMNS": "80"}).out
    listed = json.loads(run("report", path("all.h5"), "--json").out)
    check(all(r["start_time_utc"] in narrow for r in listed["runs"]), f"80 columns keep when each run began: {narrow}")
    check([(r["hostname"] != "", r["slurm_job"], r["slurm_rank"], r["devices"][0]["name"]) for r in listed["runs"][:3]]
          == [(True, "11_3", "0", "H200"), (True, "11_3", "1", "GeForce GTX 280"), (True, None, None, "H200")], f"{listed}")

    # Readers: one run by its number, or all.
    for number, part in enumerate(parts):
        one = f"all.h5:{number}"
        for command in (("report", "--json"), ("report", "--overview", "--json"), ("export", "--format", "json"), ("derive", "--json")):
            alone, of_merged = (run(command[0], name, *command[1:], cwd=where) for name in (part, one))
            check(alone.code == of_merged.code and (alone.out or command[0] == "derive") and alone.out == of_merged.out,
                  f"{command} of {one}: {of_merged.err}")
    rows = [run("export", part, "--table", "transfers", "--summary", cwd=where).out.splitlines() for part in parts]
    together = run("export", "all.h5", "--table", "transfers", "--summary", cwd=where).out.splitlines()
    check(together == rows[0][:1] + [row for of_one in rows for row in of_one[1:]] and len(together) > 8,
          "export --summary has the points of all runs under one header")
    for command in (("derive",), ("export",), ("report", "--overview"), ("report", "--case", "probes"), ("predict",)):
        got = run(command[0], "all.h5", *command[1:], cwd=where)
        check(got.code == 2 and "holds 4 runs" in got.err and "all.h5:3" in got.err, f"{command}: {got.err}")
    check("no run 4" in run("derive", "all.h5:4", cwd=where).err, "a run that is not there")
    check(run("derive", "a.h5:0", cwd=where).out == run("derive", "a.h5", cwd=where).out, "a trace is its only run")
    shutil.copy(path("b.h5"), path("all.h5:0"))
    check("gtx280" in run("report", "all.h5:0", cwd=where).out, "a file of that very name comes first")
    os.remove(path("all.h5:0"))
    check(run("check", "--trace", "all.h5:1", cwd=where).out == run("check", "--trace", "b.h5", cwd=where).out, "check --trace")

    # compare takes a merged file for its runs.
    run("merge", "pair.h5", "a.h5", "again.h5", cwd=where)
    def compared(*words):
        got = json.loads(run("compare", *words, "--json", cwd=where).out)
        return [got["outcome"], got["figures"], got["cases"], [r["run"]["run_uuid"] for r in got["a"] + got["b"]]]
    check(compared("a.h5", "again.h5", "--", "again.h5") == compared("pair.h5", "--", "pair.h5:1"), "compare")

    # What is refused: a sentence each, and nothing is written.
    with h5py.File(path("foreign.h5"), "w") as f:
        f.attrs["schema_name"] = "weather"
    for name, source, attribute, value in (("newer.h5", "a.h5", "schema_version", "4.0"),
                                           ("newer_merged.h5", "job.h5", "schema_version", "2.0"),
                                           ("stopped.h5", "again.h5", "complete", numpy.uint8(0))):
        shutil.copy(path(source), path(name))
        with h5py.File(path(name), "r+") as f:
            f.attrs[attribute] = value
    with open(path("a.h5"), "rb") as f:
        whole = f.read()
    for name, content in (("text.h5", b"no trace\n"), ("cut.h5", whole[:len(whole) // 2]),
                          ("damaged.h5", whole[:2000] + bytes(3000) + whole[5000:])):
        with open(path(name), "wb") as f:
            f.write(content)
    expected = {"foreign.h5": "not an npgpu trace", "newer.h5": "newer npgpu", "newer_merged.h5": "newer npgpu",
                "stopped.h5": "not complete", "text.h5": "not an HDF5 file", "cut.h5": "truncated", "damaged.h5": "",
                "nosuch.h5": "no such file"}
    lines = refused(where, "host.h5", *expected)
    check(len(lines) == len(expected), f"a line for each of {len(expected)}: {lines}")
    for (name, why), line in zip(expected.items(), lines):
        check(f"{name}: " in line and why in line, f"{name}: {line}")
    again = refused(where, "b.h5", "job.h5")
    check(len(again) == 1 and "same run as b.h5" in again[0], f"a run twice: {again}")
    check("exists" in refused(where, "b.h5", command=("merge", "job.h5"))[0], "a file that exists")
    check("OUT" in refused(where, command=("merge",))[0] and "TRACE" in refused(where)[0], "no files")
    with open(path("a.h5"), "rb") as file:
        before = file.read()
    said = refused(where, "b.h5", command=("merge", "--force", "a.h5"))[0]
    with open(path("a.h5"), "rb") as file:
        check("a trace of one run" in said and file.read() == before, f"a trace in the place of OUT: {said}")
    os.mkdir(path("empty"))
    check("without traces" in refused(where, "empty")[0], "an empty folder")

    stopped = run("merge", "--incomplete", "both.h5", "stopped.h5", "host.h5", cwd=where)
    check(stopped.code == 0 and "not complete" in stopped.out, f"--incomplete: {stopped.out}{stopped.err}")
    check(run("merge", "--force", "both.h5", "both.h5", "b.h5", "--incomplete", "--quiet", cwd=where).out == "both.h5: 3 runs\n",
          "a merged file grows by itself")
    os.mkdir(path("empty/of"))
    for name in ("b.h5", "a.h5"):
        shutil.copy(path(name), path("empty"))
    check([r["argv"].split()[-1][-4:] for r in json.loads(run("merge", "f.h5", "empty", "--json", cwd=where).out)["runs"]]
          == ["a.h5", "b.h5"], "a folder stands for its traces, by name")

    # No run goes on in a merged file.
    run("merge", "one.h5", "host.h5", cwd=where)
    for name in ("one.h5", "all.h5"):
        with open(path(name), "rb") as f:
            before = f.read()
        for way in ("--resume", "--append"):
            got = run("transfer", "--device", "host", "--sizes", "8", way, "--output", name, cwd=where)
            with open(path(name), "rb") as f:
                check(got.code == 2 and f.read() == before, f"{way} {name}: exit {got.code} {got.err}")
check.finish()
