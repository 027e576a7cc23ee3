"""npgpu check --soak and --memory-test on simulated devices, whose specs are the truth: what is wrong is found and named;
a run that was killed or met a full disk goes on."""
import json
import os
import re
import resource
import signal
import subprocess
import time

from npgpu_run import PROGRAM, SOURCE, Checks, below, folder, library, needs, python, run

h5py = needs("h5py")
check = Checks()
SICK = "sim:" + os.path.join(SOURCE, "data", "devices", "soak", "")


def soak(device, path, *more, time="10min"):
    done = run("check", "--soak", time, "--device", device, "--output", path, "--json", *more)
    return done, json.loads(done.out) if done.out.startswith("{") else {}


def bad(result, level="fail"):
    return [f for f in result.get("findings", []) if f["health"] == level]


with folder() as where:
    at = below(where)
    # A healthy device: ok, every load at work, nothing falls.
    began = time.time()
    done, found = soak("sim:h200-node", at("well.h5"))
    check(done.code == 0 and found["verdict"] == "ok", f"well: {done.code} {bad(found)} {done.err}")
    check(time.time() - began < 120, f"ten minutes of simulated time took {time.time() - began:.0f} s")
    loads = {f["name"]: f for f in found["soak"][0]["loads"]}
    check({"tensor", "memory", "fp32", "h2d", "d2h", "tensor, together", "h2d, together"} <= set(loads), f"loads: {set(loads)}")
    check(all(f["mismatches"] == 0 and abs(f["change"]["value"]) < 0.02 for f in loads.values()), f"courses: {loads}")
    check(590 < found["soak"][0]["elapsed_s"] < 650, f"elapsed: {found['soak'][0]['elapsed_s']}")
    with h5py.File(at("well.h5")) as f:
        check(f.attrs["schema_version"] == "3.5" and len(f["soaks"]) >= 6, "the trace has soaks")
    screen = run("report", at("well.h5"), "--all").out
    check("check --trace" in screen.split("NEXT")[-1], f"a report of a soak has figures and says who judges them: {screen[-400:]}")
    check("SIMULATED soak sim:h200-node" in screen and "tensor, together" in screen, screen)
    said = run("check", "--trace", at("well.h5"))
    check(said.code == 0 and "tensor, together" in said.out, f"judged again: {said.code} {said.out}")
    check(run("report", at("well.h5"), "--html", at("well.html")).code in (0, 2), "a page")

    # Slices have their time on every GPU, though one visit waits for all that work at once.
    ended = run("check", "--soak", "20s", "--device", "sim:node8", "--progress", "cases", "--output", at("lines.h5")).err
    lines = re.findall(r"soak (\S+) .*: ([0-9]+) points? in 0:([0-9]+)", ended)
    check(len({device for device, *_ in lines}) == 8 and all(int(s) > 0 for _, _, s in lines), f"lines: {ended}")

    # A bit that flips once in 10^12 bytes.
    done, found = soak(SICK + "flips.json", at("flips.h5"))
    check(done.code == 6 and found["verdict"] == "broken", f"flips: {done.code} {done.err}")
    check(any(f["metric"] == "results" and "wrong" in f["text"] for f in bad(found)), f"flips: {bad(found)}")
    wrong = {f["name"]: f["mismatches"] for f in found["soak"][0]["loads"]}
    check(wrong["memory"] > 0 and wrong["fp32"] == 0, f"by load: {wrong}")
    done, found = soak(SICK + "flips.json", at("words.h5"), "--memory-test", time="2min")
    words = found["soak"][0]["wrong_words"]
    check(done.code == 6 and words and all(bin(w["bits"]).count("1") == 1 for w in words), f"words: {words[:2]}")
    check(any(f["metric"] == "memory_test" and hex(words[0]["address"]) in f["text"] for f in bad(found)), f"{bad(found)}")
    alone = run("check", "--memory-test", "--device", SICK + "flips.json", "--output", at("memory.h5"), "--json")
    tested = json.loads(alone.out)
    check(alone.code == 6 and 0 < len(tested["soak"][0]["wrong_words"]) <= 100, f"memory test: {alone.code} {alone.err}")
    alone = run("check", "--memory-test", "--device", "sim:h200-node", "--output", at("memory2.h5"), "--quiet")
    check(alone.code == 0, f"memory test of a healthy one: {alone.code} {alone.out} {alone.err}")

    # A card that throttles after 4 minutes.
    done, found = soak(SICK + "throttles.json", at("throttles.h5"))
    check(done.code == 3 and found["verdict"] == "slow", f"throttles: {done.code} {bad(found)} {done.err}")
    throttle = [f for f in bad(found) if f["metric"] == "throttle"]
    check(throttle and "too hot after 4 min" in throttle[0]["text"], f"throttle: {throttle}")
    fell = {f["metric"] for f in bad(found)}
    check("soak_fp32_course" in fell and "soak_h2d_course" not in fell, f"what fell: {fell}")
    at_s = found["soak"][0]["throttles"][0]["at_s"]
    check(240 <= at_s < 250, f"throttled at {at_s} s")

    # One that falls off the bus: it is named, and the others go on to the end.
    done, found = soak(SICK + "falls-off-the-bus.json", at("lost.h5"))
    check(done.code == 6 and found["verdict"] == "broken", f"lost: {done.code} {done.err}")
    lost = {f["device"] for f in bad(found) if f["metric"] == "device_lost"}
    check(lost == {SICK + "falls-off-the-bus.json:2"}, f"lost: {lost}")
    times = {one["device"][-1]: one["elapsed_s"] for one in found["soak"]}
    check(280 < times["2"] < 320 and all(times[gpu] > 590 for gpu in "013"), f"they worked until {times}")

    # One hot neighbour: named, and no verdict by itself; slow where it lowers its clock for it.
    done, found = soak(SICK + "hot-neighbour.json", at("hot.h5"), time="5min")
    hot = {f["device"][-1] for f in bad(found, "warn") if f["metric"] == "soak_temperature"}
    check(done.code == 0 and hot == {"3"}, f"hot neighbour: {done.code} {hot} {bad(found)} {done.err}")
    done, found = soak(SICK + "hot-neighbour-throttles.json", at("hotter.h5"), time="5min")
    slow = {f["device"][-1] for f in bad(found)}
    check(done.code == 3 and slow == {"1"}, f"hot and slow: {done.code} {slow}")
    check(any(f["metric"] == "soak_fp32_rate" and "slower than its neighbours" in f["text"] for f in bad(found)), f"{bad(found)}")

    # Killed at any moment, and continued: no slice twice, none missing.
    arguments = ["check", "--soak", "10min", "--device", SICK + "node4.json", "--output", at("killed.h5")]
    process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(at("killed.h5")) and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()

    def numbers():
        all_numbers = []
        with h5py.File(at("killed.h5")) as f:
            for series in f["soaks"].values():
                all_numbers += [(series.attrs["device"], int(n)) for n in series["visits"]["number"]]
        return all_numbers

    before = numbers()
    again = run(*arguments, "--resume")
    after = numbers()
    check(0 < len(before) < 1200, f"it was killed in between: {len(before)} slices")
    check(again.code == 0, f"resumed: {again.code} {again.err[-300:]} {again.out[-300:]}")
    check(len(after) == len(set(after)) == 4 * 300 and set(before) <= set(after), f"{len(before)} and {len(after)} slices")

    # A full disk: one sentence, and what was saved stays.
    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))

    full = subprocess.run([PROGRAM, "check", "--soak", "10min", "--device", SICK + "node4.json", "--output", at("full.h5")],
                          capture_output=True, text=True, preexec_fn=limit_file_size)
    check(full.returncode == 1 and "full.h5" in full.stderr, f"full disk: {full.returncode} {full.stderr[-300:]}")

    # What it does not go with, in a sentence.
    for words, text in ((("--level", "1"), "--level"), (("--reference", at("well.h5")), "--reference"), (("--one-by-one",), "all GPUs at once")):
        refused = run("check", "--soak", "10s", "--device", "sim:h200-node", *words)
        check(refused.code == 2 and text in refused.err and len(refused.err.strip().splitlines()) == 1, f"{words}: {refused.code} {refused.err}")
    plan = run("check", "--soak", "10min", "--device", "sim:h200-node", "--dry-run")
    check(plan.code == 0 and "soak" in plan.out, f"dry run: {plan.out}")

    # Tables and the picture.
    if not (library("pandas") and library("matplotlib")):
        print("not tried: tables and pictures, as Python has no pandas or no matplotlib")
        check.finish()
    import npgpu
    table, rows = npgpu.load(at("throttles.h5")).soaks, npgpu.load(at("words.h5")).samples("soaks")
    check(len(table) == 300 and set(table["unit"]) == {"B/s", "FLOP/s"}, f"table: {len(table)}, {set(table['unit'])}")
    check({"tensor", "test-read"} <= set(rows["part"]) and (rows["pattern"] != "none").any(), f"samples: {set(rows['part'])}")
    drawn = python("-m", "npgpu.plots", "soak", at("hotter.h5"), "-o", at("soak.png"))
    check(drawn.returncode == 0 and os.path.getsize(at("soak.png")) > 5000, drawn.stderr)

check.finish()
