"""npgpu record of an application without a GPU, whose CUPTI is a stand-in: what is in the trace, the application's exit
code, one that is killed, one that forks, limits, what is said where nothing was recorded; and what predict says of it."""
import json
import os
import re
import signal
import subprocess
import sys
import time

from npgpu_run import PROGRAM, SOURCE, Checks, below, folder, run

check = Checks()
APP = sys.argv[2]
TWIN = "twins/h200"


def record(path, *words, options=(), env=None):
    return run("record", "-o", path, *options, "--", APP, *words, env=env)


with folder() as where:
    at = below(where)
    done = record(at("app.h5"), "exit", 3)
    check(done.code == 3 and done.out == "", f"the exit code is the application's: {done.code} {done.out}")
    check("20 copies, 40 kernels, 0 dropped, 1 without a time" in done.err, done.err)
    document = json.loads(run("report", at("app.h5"), "--json").out)
    found = {(s["case"]["activity"], s["case"]["name"]): s for s in document["records"]}
    check(set(found) == {("copy", ""), ("kernel", "axpy(float*, float*, float)"), ("kernel", 'a "name", with?escapes ?'),
                         ("wait", "stream"), ("call", "cudaMemcpyAsync"), ("call", "cudaLaunchKernel"),
                         ("call", "cudaStreamSynchronize")}, f"what is in it: {sorted(found)}")
    copy = found["copy", ""]["points"][0]
    check(copy["bytes"] == 64 << 20 and copy["trials"] == 20 and abs(copy["time_us"]["value"] - 10090) < 1e-3, copy)
    check(found["copy", ""]["case"]["source"] == "pageable", "memory")
    text = run("report", at("app.h5"), "--all").out
    check("pageable to device" in text and "axpy(float*, float*, float)" in text, text)
    table = run("export", at("app.h5"), "--table", "records").out.splitlines()
    check(len(table) == 1 + 20 + 40 + 20 + 20 + 40 + 20, f"{len(table)} rows")

    # it is a trace like others
    check(record(at("app.h5")).code == 2, "an existing trace stays")
    check(record(at("app.h5"), options=["--force"]).code == 0, "but for --force")
    record(at("other.h5"))
    check(run("merge", at("both.h5"), at("app.h5"), at("other.h5")).code == 0, "merged")
    shared = run("report", at("app.h5"), "--share", at("shared.json"))
    check(shared.code == 2 and "no figure of a GPU" in shared.err, "a recording has no figures to share")

    # applications that end badly
    killed = record(at("killed.h5"), "kill")
    check(killed.code == 128 + signal.SIGKILL and "20 copies, 40 kernels" in killed.err and "did not end by itself" in killed.err,
          f"{killed.code} {killed.err}")
    crashed = record(at("crashed.h5"), "crash")
    check(crashed.code == 128 + signal.SIGABRT and "20 copies" in crashed.err, f"{crashed.code} {crashed.err}")
    process = subprocess.Popen([PROGRAM, "record", "-o", at("stopped.h5"), "--", APP, "slow"], stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    check(process.returncode == 128 + signal.SIGTERM and "20 copies" in said, f"SIGTERM is passed on: {process.returncode} {said}")

    # several processes, many events, limits
    check("40 copies, 80 kernels" in (err := record(at("two.h5"), "fork").err) and "of 2 processes" in err, err)
    many = record(at("many.h5"), "million", options=["--most", "10MiB"])
    check(many.code == 0 and "beyond --most" in many.err, many.err)
    check("nothing was recorded" in (later := record(at("later.h5"), options=["--after", "1h"])).err and later.code == 77, later.err)

    # why nothing is recorded
    none = record(at("none.h5"), "none")
    check(none.code == 77 and "did not use CUDA" in none.err and not os.path.exists(at("none.h5")), none.err)
    refused = record(at("none.h5"), env={"FAKE_CUPTI_ERROR": "39"})
    check("another profiler" in refused.err, refused.err)
    check("confidential" in (err := record(at("none.h5"), env={"FAKE_CUPTI_ERROR": "41"}).err), err)
    missing = run("record", "-o", at("none.h5"), "--", APP, env={"NPGPU_RECORD_LIBRARY": "/nowhere.so"})
    check(missing.code == 1 and "there is no /nowhere.so" in missing.err, missing.err)
    check(run("record", "-o", at("none.h5")).code == 2, "no application")

    # what would make it faster
    said = run("predict", at("app.h5"), "--on", TWIN)
    check(said.code == 0 and said.out.startswith("17.2 ms a step; 10.1 ms of them are pageable copies."), said.out + said.err)
    of = json.loads(run("predict", at("app.h5"), "--on", TWIN, "--json").out)
    check(abs(of["played_us"] / of["step_us"]["value"] - 1) < 0.02, of["played_us"])
    pin = [one for one in of["advice"] if one["change"] == "pinned"]
    check(len(pin) == 1 and 8000 < pin[0]["step_us"] < 8700, pin)
    check(all(one["times"]["low"] > 1 for one in of["advice"]), of["advice"])
    check(run("predict", at("app.h5")).code == 2, "a device that nobody knows needs --on")
    check((err := run("predict", at("app.h5"), "--on", "nothing").err).startswith("npgpu: --on: there is no simulated device 'sim:nothing'"), err)
    check("leave --device out" in (err := run("predict", at("app.h5"), "--on", TWIN, "--device", "cuda:0").err), err)
    twin = os.path.join(SOURCE, "data", "devices", "twins", "h200.json")
    check([json.loads(run("predict", at("app.h5"), "--on", on, "--json").out)["advice"] for on in (TWIN, twin)] == [of["advice"]] * 2, "a twin's file")
    check(run("predict", at("many.h5"), "--on", TWIN).code == 0, "a hundred thousand kernels")
    check("no simulated device 'sim:nothing'" in (err := run("predict", at("killed.h5"), "--on", "nothing").err), err)
# A recording of an H200; the same program in its other forms took 2.947 and 1.726 ms a step there.
kept = os.path.join(SOURCE, "data", "traces")
of = json.loads(run("predict", os.path.join(kept, "h200_record.h5"), "--on", os.path.join(kept, "h200_node.h5"), "--json").out)
check(abs(of["played_us"] / of["step_us"]["value"] - 1) < 0.05, f"the step as it is: {of['played_us']}")
steps = {one["change"]: one["step_us"] for one in of["advice"]}
check(abs(steps["pinned"] / 2947 - 1) < 0.03 and abs(steps["behind"] / 1726 - 1) < 0.03, f"{steps}")
# Steps from pageable memory took 10.5 to 12.2 ms in four runs there: all gains are in the interval.
times = {one["change"]: one["times"] for one in of["advice"]}
for change, us in (("pinned", 2947), ("behind", 1726)):
    for step in (10500, 11600, 11800, 12200):
        check(times[change]["low"] < step / us < times[change]["high"], f"{change}: {step / us:.2f} {times[change]}")
check([p["what"] for p in of["played"]] == ["as it is", of["advice"][0]["what"]] and len(of["kernels"]) == 1, f"{of['kernels']}")
# Recordings of other programs on an H200, and what these took without the recorder, as they were and as advised (us): a
# PyTorch loop (pageable; pinned; with copies ahead; all and a graph), a CuPy program that launches 64 short kernels a step,
# examples/overlap.cu. Costs are those of another H200.
for name, change, us, off in (("torch", "pinned", 6420, 0.02), ("torch", "behind", 5540, 0.05), ("torch", "all", 5236, 0.05),
                              ("launches", "graph", 721, 0.03), ("overlap", "chunks", 1596, 0.02)):
    of = json.loads(run("predict", os.path.join(kept, f"h200_{name}.h5"), "--on", os.path.join(kept, "h200_node.h5"), "--json").out)
    check(abs(of["played_us"] / of["step_us"]["value"] - 1) < 0.02, f"{name} as it is: {of['played_us']}")
    one = next((a for a in of["advice"] if a["change"] == change), {"step_us": 0})
    check(abs(one["step_us"] / us - 1) < off, f"{name} {change}: {one}")
# Launches took 5.2 us while recorded, and 3.7 on that node without: 1.24 ms a step.
launches = run("predict", os.path.join(kept, "h200_launches.h5"), "--on", os.path.join(kept, "h200_node.h5"))
check(launches.out.startswith("1.34 ms a step while recorded, about 1.2"), launches.out[:200])
# What torch.profiler wrote of the pinned loop; npgpu record of another run had 6.46 ms a step.
with folder() as where:
    imported = below(where)("profiled.h5")
    err = run("record", "--import", os.path.join(kept, "h200_torch_pinned.json.gz"), "-o", imported).err
    check("40 copies, 1360 kernels, of torch.profiler" in err, err)
    of = json.loads(run("predict", imported, "--on", "h200", "--json").out)
    check(abs(of["step_us"]["value"] / 6460 - 1) < 0.01 and abs(of["played_us"] / of["step_us"]["value"] - 1) < 0.01, f"{of['step_us']}")
with folder() as where:
    page = below(where)("app.html")
    check(run("report", os.path.join(kept, "h200_record.h5"), "--html", page).code == 0, "a page")
    text = open(page, encoding="utf-8").read()
    check("A step, as it is and as it could be" in text and text.count('<rect class="span"') > 12 and "as it is: 10.5 ms a step" in text, "its step")
by_name = json.loads(run("predict", os.path.join(kept, "h200_record.h5"), "--on", "h200", "--json").out)
check(by_name["elsewhere"] is None and by_name["advice"], "H200 is NVIDIA H200")
other = json.loads(run("predict", os.path.join(kept, "h200_record.h5"), "--on", "models/h100-pcie", "--json").out)
check(other["elsewhere"]["times"]["low"] < other["elsewhere"]["times"]["value"] < 1 and other["advice"], f"{other['elsewhere']}")
out = run("predict", os.path.join(kept, "h200_record.h5"), "--on", "models/h100-pcie").out
check(re.match(r"11\.\d ms a step on NVIDIA H100 PCIe \((9\.97|10\.\d) ms \.\. 1[23]\.\d ms\), 0\.9\d+ times as fast as on NVIDIA H200; 8\.5\d\n", out), out[:200])
check.finish()
