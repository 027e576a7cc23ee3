"""Values that cannot be (Trace::doubts): every command that reads such a trace says so, and none calls it well."""
import json
import os
import shutil

from npgpu_run import Checks, folder, needs, run

h5py = needs("h5py")
check = Checks()
HEAD = "values that cannot be are not used: "


def spoiled(trace, name, change):
    path = os.path.join(os.path.dirname(trace), name)
    shutil.copy(trace, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def without_work(file):
    for series in file["probes"].values():
        if series.attrs["probe"] == "bandwidth":
            visits = series["visits"][:]
            visits["work"] = 0
            series["visits"][...] = visits


def with_fact(file):
    gpu = file["provenance/gpu0"].attrs
    gpu["power_limit_w"] = -gpu["power_limit_w"]


with folder() as where:
    sound = os.path.join(where, "sound.h5")
    made = run("characterize", "--device", "sim:h200-node", "--quick", "--quiet", "--output", sound)
    check(made.code == 0, made.err)
    job = ("--bytes-in", "64MiB", "--kernel-ms", "1", "--bytes-out", "64MiB")
    for name, change in (("work.h5", without_work), ("fact.h5", with_fact)):
        path = spoiled(sound, name, change)
        # By itself and among others, and whatever form of it is read.
        others = []
        for number in range(6):
            others.append(spoiled(sound, f"{name}-{number}.h5", lambda file: file.attrs.__setitem__("run_uuid", f"{number}")))
        for command, codes in ((("check", "--trace", path), {1, 4}), (("fleet", path), {4, 3}), (("fleet", path, *others), {4, 3}),
                               (("report", path), {0}), (("report", path, "--overview"), {0}), (("report", path, "--all"), {0}),
                               (("report", path, "--markdown"), {0}), (("compare", sound, path), {0, 6}),
                               (("predict", path, *job), {0}), (("simulate", "--trace", path, *job, "--streams", "4"), {0}),
                               (("derive", path), {0}), (("roofline", path), {0}), (("export", path), {0}),
                               (("export", path, "--summary"), {0})):
            well, done = run(*(sound if word == path else word for word in command)), run(*command)
            said = " ".join((done.out + done.err).split())
            check(done.code in codes, f"{name}: {command[:2]}: exit code {done.code}: {done.err[-300:]}")
            check(HEAD in said or "not used " in said and "cannot be" in said, f"{name}: {command[:2]} says nothing of it: {said[:600]}")
            check(HEAD not in well.out + well.err, f"{command[:2]}: a sound trace raises no doubt: {well.out[-300:]} {well.err}")
        found = json.loads(run("fleet", path, *others, "--json").out)
        check([one["metric"] for one in found["unjudged_hosts"]] == ["values"] and not found["exclude"], found["unjudged_hosts"])
        metrics = os.path.join(where, "metrics.prom")
        run("fleet", path, "--openmetrics", metrics)
        check('npgpu_fleet_unjudged_host{host="' in open(metrics).read(), "as metrics")
        page = os.path.join(where, "page.html")
        for command in (("report", path, "--html", page), ("fleet", path, "--html", page), ("compare", sound, path, "--markdown")):
            done = run(*command, "--force") if "--html" in command else run(*command)
            text = done.out if "--markdown" in command else open(page).read()
            check("cannot be" in text, f"{command[:2]}: its page says so")
        plugin = run("check", "--trace", path, "--quiet")
        check("NOT JUDGED" in plugin.out.upper() or plugin.code == 1, f"one line: {plugin.out}")
check.finish()
