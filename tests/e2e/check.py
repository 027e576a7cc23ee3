"""npgpu check as a user runs it on healthy and sick simulated devices and on kept traces: exit codes, text, files, options.

--times N: how often each sickness is looked for, each time with other noise; the healthy device twice as often."""
import argparse
import json
import os
import re
import shutil
import xml.etree.ElementTree

from npgpu_run import SOURCE, Checks, folder, library, run, written

h5py, numpy = library("h5py"), library("numpy")
arguments = argparse.ArgumentParser()
arguments.add_argument("program")
arguments.add_argument("--times", type=int, default=1)
TIMES = arguments.parse_args().times
check = Checks()
DEVICES = os.path.join(SOURCE, "data/devices")
HEALTHY = os.path.join(DEVICES, "h200-node.json")

# tests/sick_test.cpp has all sick devices, with what fails and why.
SICK = {"slow-memory": ("slow", 3, {"slow_memory"}), "corrupt-bytes": ("broken", 6, {"corrupt"}),
        "busy-neighbour": ("not judged", 4, {"neighbour"})}
# What level 1 does not look at, as it says itself.
OF_LEVEL_2 = {"slow-fp64": "fp64", "slow-l2": "L2", "slow-latency": "latency of memory", "slow-pageable": "pageable copies",
              "slow-tensor": "tensor cores"}


def bad(found):
    return [f for f in found["findings"] if f["health"] not in ("pass", "skip")]


def causes(found):
    return {f["explanations"][0]["cause"] if f["explanations"] else f"none for {f['metric']}" for f in bad(found)}


def seeded(at, like, seed, **more):
    return "sim:" + written(os.path.join(at, f"{os.path.basename(like)[:-5]}-{seed}.json"), {"like": like, "noise": {"seed": seed}, **more})


def judged(*options):
    done = run("check", "--json", *options, timeout=600)
    try:
        return done, json.loads(done.out)
    except ValueError:
        check(False, f"{options}: no JSON: {done.out[:200]} {done.err[:300]}")
        return done, {"verdict": "", "exit_code": -1, "findings": [], "gpus": []}


def healthy(at):
    for i in range(2 * TIMES):
        done, found = judged("--device", seeded(at, HEALTHY, 1000 + i))
        check(found["verdict"] == "ok" and done.code == 0 and not bad(found), f"healthy {i}: {found['verdict']} {done.code} {bad(found)}")


def cards_of_the_papers(at):
    """Judged by what their specs say that healthy ones reach: as they are they are ok, and a slower one is not."""
    for card in ("8800gts512", "9800gx2", "gts250", "gtx260", "gtx280", "gtx470", "gtx480", "gtx580", "tesla-s870", "tesla-s1070", "rtx2080ti", "a5000"):
        done, found = judged("--device", f"sim:{os.path.join(DEVICES, card + '.json')}", "--level", "2")
        check(found["verdict"] == "ok" and done.code == 0 and not bad(found), f"{card}: {found['verdict']} {done.code} {bad(found)}")
    shown = run("check", "--device", f"sim:{os.path.join(DEVICES, 'gtx470.json')}")
    check("judged by what its spec says of a healthy one; " in shown.out, shown.out)
    slower = {"links": {"h2d": {"pinned": {"rate_gb_s": 2.6}}, "d2d": {"rate_gb_s": 33}}}
    done, found = judged("--device", seeded(at, os.path.join(DEVICES, "tesla-s1070.json"), 1, **slower), "--level", "2")
    slow = {f["metric"]: f["basis"] for f in bad(found)}
    check(done.code == 3 and {"h2d_rate", "h2d_rate_1mib", "d2d_rate", "memory_rmw_rate"} <= set(slow) and "d2h_rate" not in slow and
          all(basis.startswith("a healthy one by its spec: ") for basis in slow.values()), f"a slow S1070: {done.code} {slow}")


def sick(at):
    for name, wanted in SICK.items():
        for i in range(TIMES):
            done, found = judged("--device", seeded(at, os.path.join(DEVICES, "sick", name + ".json"), 2000 + i))
            check((found["verdict"], done.code, causes(found)) == wanted, f"{name} {i}: {found['verdict']} {done.code} {bad(found)}")


def levels(at):
    device = seeded(at, HEALTHY, 1)
    done, found = judged("--level", 1, "--device", device)
    check(done.code == 0 and found["verdict"] == "ok", f"level 1: {found['verdict']} {bad(found)}")
    metrics = {f["metric"] for f in found["findings"] if f["health"] == "pass"}
    for metric in ("h2d_rate", "d2h_rate", "memory_read_rate", "compute_fp32_rate", "launch_time", "results"):
        check(metric in metrics, f"level 1 judges {metric}")
    check("d2d_rate" not in metrics, "level 1 leaves out copies within the device")
    dry = [json.loads(run("check", "--level", n, "--device", device, "--dry-run", "--json").out) for n in (1, 2, 3)]
    points = [sum(len(batch["points"]) for kind in plan.values() if isinstance(kind, list)
                  for batch in kind if isinstance(batch, dict)) for plan in dry]
    check(points[0] < 12 < points[1] < 60 < points[2], f"points of the levels: {points}")
    check(not [f for f in os.listdir(at) if f.endswith(".h5")], "no trace is left where none was asked for")
    run("check", "--level", 1, "--device", device, cwd=at)
    check(not os.path.exists(os.path.join(at, "npgpu-traces")), "nor a folder for it")
    kept = os.path.join(at, "kept.h5")
    run("check", "--level", 1, "--device", device, "-o", kept)
    again = run("check", "--trace", kept, "--all")
    check(again.code == 0 and "PASS" in again.out and "SIMULATED" in again.out, f"a kept trace is judged: {again.out}")


def whole_node(at):
    """Of a simulated node whose GPUs have all figures a check says the same as of eight good GPUs."""
    done, found = judged("--level", 1, "--device", "sim:h200x8")
    check(len(found["gpus"]) == 8 and found["verdict"] in ("ok", "undecided"), f"eight GPUs: {done.code} {found['verdict']} {bad(found)}")


def of_a_trace(at):
    """Of a trace, the GPUs that are named; what says how to measure is refused, and what a site sets for all runs is not."""
    node = os.path.join(at, "node.h5")
    run("check", "--level", 1, "--device", "sim:h200x8", "-o", node)
    done, found = judged("--trace", node, "--device", "sim:h200x8:3")
    check([gpu["id"] for gpu in found["gpus"]] == ["sim:h200x8:3"] and {f["device"] for f in found["findings"]} <= {"sim:h200x8:3", "host", None, ""},
          f"one GPU of a trace: {found['gpus']} {({f['device'] for f in found['findings']})}")
    other = run("check", "--trace", node, "--device", "cuda:7")
    check(other.code == 2 and "'cuda:7' is no GPU of" in other.err and "sim:h200x8:7" in other.err, f"no such GPU: {other.code} {other.err}")
    for option in (("--again", "1s"), ("--rounds", 3), ("--one-by-one",), ("-o", os.path.join(at, "x.h5")), ("--require-quiet",)):
        refused = run("check", "--trace", node, *option)
        check(refused.code == 2 and "measures nothing" in refused.err, f"{option}: {refused.code} {refused.err}")
    for_all_runs = {"NPGPU_DEVICE": "sim:plain", "NPGPU_AGAIN": "1s", "NPGPU_LEVEL": "1"}
    set_by_site = run("check", "--trace", node, "--quiet", env=for_all_runs)
    check("8 GPUs" in set_by_site.out, f"a site's settings: {set_by_site.code} {set_by_site.out} {set_by_site.err}")
    soak = run("check", "--soak", "5s", "--quiet", "-o", os.path.join(at, "soak.h5"), env={**for_all_runs, "NPGPU_DEVICE": f"sim:{HEALTHY}"})
    check(soak.code == 0, f"a soak at a site that sets levels: {soak.code} {soak.out} {soak.err}")
    if not h5py:
        return
    with h5py.File(node, "r+") as trace:
        for series in trace["transfers"].values():
            if "sim:h200x8:3" in (series.attrs["source"], series.attrs["target"]):
                samples = series["samples"][:]
                samples["device_us"] *= 2
                series["samples"][...] = samples
    codes = [run("check", "--trace", node, "--device", f"sim:h200x8:{gpu}").code for gpu in ("3", "2")]
    check(codes == [3, 0], f"the slow GPU, and another one: {codes}")


def second_look(at):
    """What is doubtful is measured again, and the visits go where the first ones are."""
    kept = os.path.join(at, "again.h5")
    for seed in range(3000, 3020):
        device = seeded(at, HEALTHY, seed, **{"noise": {"seed": seed, "cost_drift": 0.5}})
        run("check", "--level", 1, "--device", device, "-o", kept, "--force")
        with h5py.File(kept) as file:
            if "resume_1" not in file["provenance"]:
                continue
            most = 0
            for kind in ("transfers", "probes", "calls"):
                cases = {}
                for name, series in file[kind].items():
                    what = tuple(str(series.attrs[key]) for key in sorted(series.attrs)
                                 if key in ("direction", "pattern", "memory", "async", "timing", "call", "manner", "probe",
                                            "operation", "element", "access", "level", "corner"))
                    cases.setdefault(what, []).append(name)
                    visits = series["visits"][:]
                    most = max(most, max(numpy.unique(visits["bytes" if "bytes" in visits.dtype.names else "round"],
                                                      return_counts=True)[1]))
                check(all(len(names) == 1 for names in cases.values()) and cases, f"{kind}: a series a case: {cases}")
        if most > 6:  # six settle most of what is undecided
            return
    check(False, "nothing was measured again in twenty runs")


def one_of_two(at):
    """Two GPUs are measured at once, and what is slow of one of them is measured again while the other one rests: it is
    slow however many visits came before."""
    spec = {"name": "two", "source": "made here", "gpu": HEALTHY, "gpus": 2, "memory": [{"at": "socket0"}],
            "links": [{"between": "gpu0", "and": "gpu1", "gb_s": 450, "latency_us": 0.5, "nvlinks": 18, "nvlink_version": "4.0"},
                      {"between": "gpu*", "and": "socket0", "gb_s": 55.4, "latency_us": 1}],
            "caps": {"write_gb_s": 396.4, "read_gb_s": 394, "kernel_gb_s": 376}}
    path = os.path.join(at, "two.json")
    slow = {"h2d_rate": {"gb_s": 55.4, "back_gb_s": 27.5}, "d2h_rate": {"gb_s": 27.5, "back_gb_s": 55.4}}
    for metric, rates in slow.items():
        spec["instead"] = [{"between": "gpu1", "and": "socket0", "latency_us": 0.5, **rates}]
        written(path, spec)
        for how in (["--level", 1], ["--level", 2], ["--level", 2, "--rounds", 13], ["--level", 1, "--rounds", 18])[:4 if metric == "h2d_rate" else 2]:
            done = run("check", *how, "--device", "sim:" + path, "--json")
            wrong = {(f["device"], f["metric"]) for f in json.loads(done.out)["findings"] if f["health"] == "fail"}
            check(done.code == 3 and (f"sim:{path}:1", metric) in wrong and not any(gpu == f"sim:{path}:0" for gpu, _ in wrong),
                  f"one slow GPU of two, {metric}, {how}: code {done.code}, {wrong}")


def as_plugin(out):
    """What a plugin's first line says, and its figures: {label: (value, critical limit)}."""
    said, _, figures = out.split("\n")[0].partition("|")
    found = {}
    for one in re.findall(r"'[^'=]+'=\S+", figures):
        parts = re.fullmatch(r"'([^'=]+)'=([-+.\de]+)(?:us)?;;([-+.\de]+):?", one)
        check(parts, f"no figure of a plugin: {one}")
        found[parts[1]] = float(parts[2]), float(parts[3])
    check(" ".join(re.findall(r"'[^'=]+'=\S+", figures)) == figures, f"all of it is figures: {figures}")
    return said, found


def outputs(at):
    device = seeded(at, os.path.join(DEVICES, "sick/half-the-lanes.json"), 5)
    junit, metrics = os.path.join(at, "check.xml"), os.path.join(at, "check.prom")
    open(junit, "w").write("old")
    done = run("check", "--level", 1, "--device", device, "--junit", junit, "--openmetrics", metrics)
    check(done.code == 3, f"a slow GPU: code {done.code}")
    text = " ".join(done.out.split())
    for wanted in ("SLOW", "SIMULATED", "Gen5 x8", "the PCIe link is trained with fewer lanes", "do: reseat the GPU",
                   "read: PCIe Gen5 x8 while copying; GPU and slot support PCIe Gen5 x16", "and 6 figures beyond their limits (--all)"):
        check(wanted in text, f"the text says '{wanted}': {done.out}")
    check(done.out.count("\n") <= 12, f"a fault in twelve lines: {done.out}")
    whole = " ".join(run("check", "--level", 1, "--device", device, "--all").out.split())
    for wanted in ("FAIL PCIe Gen5 x8 while copying", "why: the PCIe link is trained with fewer lanes", "limit: 7 healthy H200s: 55.22 GB/s - 4.5 %"):
        check(wanted in whole, f"--all says '{wanted}': {whole}")
    line = run("check", "--level", 1, "--device", device, "--quiet").out
    check(line.count("\n") == 1 and "slow" in line and "PCIe x8/x16" in line and len(line) < 161 + len(device),
          f"--quiet says the worst in one line: {line}")
    # Where twenty characters are shown, they say which GPU and what.
    for name, begin in (("half-the-lanes", "{gpu} PCIe x8/x16, H2D 27"), ("three-sms-missing", "{gpu} SMs 129/132"),
                        ("ecc-errors", "{gpu} 2 ECC errors; "), ("corrupt-bytes", "{gpu} wrong results"),
                        ("thermal-throttle", "{gpu} too hot, ")):
        device = seeded(at, os.path.join(DEVICES, "sick", name + ".json"), 5)
        line = run("check", "--level", 2 if name == "corrupt-bytes" else 1, "--device", device, "--quiet").out
        check(line.startswith(begin.format(gpu=device)), f"{name}: the line begins with what is wrong: {line}")
    suites = xml.etree.ElementTree.parse(junit).getroot()
    cases = {case.get("name"): case for case in suites.iter("testcase")}
    check(cases["pcie_link"].find("failure") is not None and cases["results"].find("failure") is None,
          "JUnit has the failure and only that")
    suite = suites.find("testsuite")
    check(int(suite.get("tests")) == len(cases) and int(suite.get("failures")) == len(list(suites.iter("failure"))),
          "JUnit's counts are those of its cases")
    lines = open(metrics).read().splitlines()
    check(lines[-1] == "# EOF", "OpenMetrics ends as it must")
    check(any(line.startswith("npgpu_check_verdict{") and 'verdict="slow"' in line and line.endswith(" 1")
              for line in lines), "the verdict is a metric")
    check(any('metric="h2d_rate"' in line and 'cause="link_lanes"' in line for line in lines), "the cause is a label")
    well_formed = re.compile(r'^(#.*|[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)*\})? [-+0-9.e]+)$')
    check(all(well_formed.match(line) for line in lines), [line for line in lines if not well_formed.match(line)])
    check(not [f for f in os.listdir(at) if f.endswith(".tmp")], "no temporary file is left")
    for name, nagios in (("half-the-lanes", 2), ("ecc-errors", 2), ("busy-neighbour", 3)):
        device = seeded(at, os.path.join(DEVICES, "sick", name + ".json"), 6)
        done = run("check", "--level", 1, "--device", device, "--exit-codes", "nagios")
        check(done.code == nagios, f"{name}: nagios code {done.code}")
        said, figures = as_plugin(done.out)
        check(said.startswith("NPGPU " + ("CRITICAL - " + device if nagios == 2 else "UNKNOWN - ")), said)
        if name == "half-the-lanes":
            value, critical = figures[device + " h2d_rate_gb_s"]
            check(value < critical and 25 < value < 30, f"H2D for Nagios: {value} {critical}")
    done = run("check", "--level", 1, "--device", seeded(at, HEALTHY, 7), "--exit-codes", "nagios", "--quiet")
    said, figures = as_plugin(done.out)
    check(done.code == 0 and said.startswith("NPGPU OK - ") and len(figures) > 6 and done.out.count("\n") == 1, done.out)
    done = run("check", "--trace", os.path.join(at, "none.h5"), "--exit-codes", "nagios")
    check(done.code == 3 and done.out.startswith("NPGPU UNKNOWN - "), f"nagios, no file: {done.code} {done.out}")


def nodes(at):
    """The page says what check does of each kind of measurement, also where it is the only one."""
    path, page, metrics = (os.path.join(at, name) for name in ("node.h5", "node.html", "node.prom"))

    def said(name, change=None):
        shutil.copy(os.path.join(SOURCE, "data/traces", name + ".h5"), path)
        os.chmod(path, 0o644)
        if change:
            with h5py.File(path, "r+") as file:
                change(file)
        run("report", path, "--html", page, "--force")
        return run("check", "--trace", path).code, open(page).read()

    def xid(file):
        file["provenance/gpu1_after"].attrs["xids"] = numpy.int64(1)

    for name in ("h100x2_collectives", "h200x2_graphs", "h100x2_energy", "h200x2_matrix", "h100x2_soak"):
        for change, code, words in ((None, 0, "OK: "), (xid, 6, "BROKEN: 1 failed")):
            its_code, text = said(name, change)
            check(its_code == code and words in text, f"{name}: {its_code}, and the page does not say {words}")
    for name in ("h200x2_matrix", "h200x2_graphs"):
        run("check", "--trace", os.path.join(SOURCE, "data/traces", name + ".h5"), "--quiet", "--openmetrics", metrics)
        samples = [line.rpartition(" ")[0] for line in open(metrics) if not line.startswith("#")]
        twice = {one for one in samples if samples.count(one) > 1}
        check(samples and not twice, f"{name}: samples that OpenMetrics would have twice: {sorted(twice)[:2]}")


def simulated_nodes(at):
    """Of a node each GPU is judged, and only what is sick is blamed; --demo shows each sickness under its name."""
    done, found = judged("--device", "sim:node8-sick")
    slow = {f["device"] for f in found["findings"] if f["health"] == "fail"}
    judged_gpus = {f["device"] for f in found["findings"] if f["metric"] == "memory_read_rate" and f["health"] == "pass"}
    check(done.code == 3 and slow == {"", "sim:node8-sick:5"} and len(judged_gpus) == 8, f"node8-sick: {done.code} {slow} {judged_gpus}")
    shown = run("check", "--demo", "--level", 1)
    names = [os.path.splitext(name)[0] for name in sorted(os.listdir(os.path.join(DEVICES, "sick")))]
    check(shown.code == 0 and [line.split("sick/")[1] for line in shown.out.splitlines() if line.startswith("npgpu check --device")] == names, shown.out[:500])
    for part, said in zip(shown.out.split("\nnpgpu check --device ")[1:], names):
        check("with one sickness" in part and "SIMULATED" in part and part.count("\n") < 20, f"{said}: {part}")
        check((": ok, 1 GPU" in part) == (said in OF_LEVEL_2), f"{said}: {part}")
        unseen = " ".join(part.split("not looked at:")[-1].split())
        check(OF_LEVEL_2.get(said, "") in unseen, f"{said}: what level 1 does not look at is said: {part}")
    check(run("check", "--demo", "--device", "sim:h200").code == 2, "--demo has its own devices")


def failures(at):
    """What was to be measured and has no figure, and what cannot be judged."""
    # A device that stops answering is broken, whenever that happens, and this cause stands first everywhere.
    lost = os.path.join(at, "lost.json")
    for call in (1, 2, 40, 200, 900):
        written(lost, {"like": HEALTHY, "faults": [{"call": call, "kind": "lost"}]})
        done, found = judged("--level", 1, "--device", f"sim:{lost}")
        check((done.code, found["verdict"]) == (6, "broken") and causes(found) == {"lost"},
              f"lost at call {call}: {done.code} {found['verdict']} {causes(found)}")
        first = bad(found)[0]
        happened = "was lost before" if call < 3 else "the device is lost, seen at call"
        check(first["metric"] == "device_lost" and happened in first["text"],
              f"lost at call {call}: {first['metric']} {first['text']}")
        done, found = judged("--level", 1, "--device", f"sim:{lost}", "--expect", "gpus=1")
        check(done.code == 6 and any("0 GPUs, expected 1; 1 more lost" in f["text"] for f in bad(found)),
              f"--expect gpus=1, lost at call {call}: {done.code} {[f['text'] for f in bad(found)]}")
    line = run("check", "--level", 1, "--quiet", "--device", f"sim:{lost}").out
    check("device lost, no results" in line and "wrong" not in line, f"a lost GPU: {line}")
    # Others are measured to their end.
    fine, kept = seeded(at, HEALTHY, 8), os.path.join(at, "two.h5")
    done, found = judged("--level", 1, "--device", f"sim:{lost},{fine}", "-o", kept)
    passed = {f["metric"] for f in found["findings"] if f["device"] == fine and f["health"] == "pass"}
    check(done.code == 6 and {f["device"] for f in bad(found)} == {f"sim:{lost}"} and {"h2d_rate", "launch_time"} <= passed,
          f"a healthy device beside a lost one: {done.code} {passed} {[(f['device'], f['metric']) for f in bad(found)]}")
    check(run("check", "--trace", kept).code == 6, "the trace says that it was lost")
    bare = written(os.path.join(at, "bare.json"), {"like": HEALTHY, "hardware": {"lanes": None, "call_launch_us": None}})
    done, found = judged("--level", 1, "--device", f"sim:{bare}")
    missing = {f["metric"] for f in bad(found)}
    check((done.code, found["verdict"]) == (1, "failed to run") and {"compute_rate", "launch_time"} <= missing,
          f"a device without kernels: {done.code} {found['verdict']} {missing}")
    done, found = judged("--trace", os.path.join(SOURCE, "data/traces/host.h5"))
    check((done.code, found["verdict"]) == (77, "not judged"), f"a trace of a host: {done.code} {found['verdict']}")
    busy = seeded(at, os.path.join(DEVICES, "sick/busy-neighbour.json"), 9)
    done = run("check", "--level", 1, "--device", busy, "--require-quiet")
    check(done.code == 4 and "NOT JUDGED" in done.out and "python3 (4711)" in done.out,
          f"--require-quiet beside another: {done.code} {done.out}")
    done = run("check", "--level", 1, "--device", busy, "--require-quiet", "--expect", "gpus=1,link=gen5x16")
    check(done.code == 4, f"GPUs that others use are not missing: {done.code} {done.out}")
    check(run("check", "--level", 4).code == 2 and run("check", "--level", "x").code == 2, "levels are 1 to 3")
    check(run("check", "--exit-codes", "other").code == 2, "--exit-codes has two words")
    check(run("check", "--device", "host").code == 2, "the host is no GPU")
    check(run("check", "--trace", os.path.join(at, "no.h5")).code == 2, "a trace that is not there")
    check(run("check", "--trace", os.path.join(at, "no.h5"), "--exit-codes", "nagios").code == 3, "nagios: unknown")


def expectations(at):
    device = seeded(at, HEALTHY, 11)
    kept = os.path.join(at, "expected.h5")
    run("check", "--level", 1, "--device", device, "-o", kept)
    good = "gpus=1,name=H200,memory=139,sms=132,link=gen5x16,driver=580"
    done = run("check", "--trace", kept, "--expect", good)
    check(done.code == 0, f"all as expected: {done.out}")
    for wrong in ("gpus=8", "name=A100", "memory=200", "memory=80", "sms=131", "link=gen4x16", "driver=570", "driver=58"):
        done, found = judged("--trace", kept, "--expect", wrong)
        names = [f["metric"] for f in bad(found)]
        check(done.code == 6 and names == ["expected_" + wrong.split("=")[0]], f"{wrong}: {done.code} {names}")
    for nonsense in ("gpus", "gpus=x", "color=red", "link=5x16", ""):
        check(run("check", "--trace", kept, "--expect", nonsense).code == 2, f"--expect '{nonsense}' is refused")
    done = run("check")
    check(done.code in (0, 77) or "cuda" in done.out, f"without a GPU: {done.code} {done.out}")
    if done.code == 77:
        check("NOT JUDGED" in done.out and "no GPU" in done.out, f"it says why: {done.out}")
        # A program that can ask a driver knows that they are missing; one without CUDA, or without a driver, cannot judge.
        is_blind = any(word in done.out for word in ("built without CUDA", "no NVIDIA driver", "too old"))
        done = run("check", "--expect", "gpus=8")
        check(done.code == (77 if is_blind else 6), f"GPUs that were expected and are not there: {done.code} {done.out}")
        check(run("check", "--expect", "gpus=x").code == 2, "nonsense is refused without a GPU, too")
        check(run("check", "--exit-codes", "nagios").code == 3, "nagios: unknown")


def references(at):
    good, text = os.path.join(at, "good.h5"), os.path.join(at, "good.json")

    def link(rate, seed):
        return seeded(at, HEALTHY, seed, links={"h2d": {"pinned": {"rate_gb_s": rate}}})

    done = run("check", "--device", link(58.5, 21), "-o", good, "--json")
    open(text, "w").write(done.out)
    # 9 % slower than the good node: within the limits of what healthy ones reached, and not of the reference.
    slower = link(53.4, 22)
    check(run("check", "--device", slower).code == 0, "53.4 GB/s are enough for an H200")
    for reference in (good, text):
        done, found = judged("--device", slower, "--reference", reference)
        limits = [f["basis"] for f in bad(found) if f["metric"] == "h2d_rate"]
        check(done.code == 3 and limits and limits[0].startswith("reference " + os.path.basename(reference)),
              f"against {os.path.basename(reference)}: {done.code} {[f['text'] for f in bad(found)]} {done.err}")
        done, found = judged("--device", link(58.5, 23), "--reference", reference)
        check(done.code == 0, f"a good node against a good one: {[f['text'] for f in bad(found)]}")
    # What is itself slow, or did not come to its end, is a doubtful measure, and that is said.
    for verdict, words in (("ok", None), ("slow", "npgpu check calls it slow"), ("broken", "npgpu check calls it broken")):
        doubtful = written(os.path.join(at, f"{verdict}.json"), {**json.load(open(text)), "verdict": verdict})
        done, found = judged("--trace", good, "--reference", doubtful)
        said = [f["text"] for f in found["findings"] if f["metric"] == "reference"]
        check(done.code == 0 and said == ([f"the reference {verdict}.json may be no good node: {words}"] if words else []), f"{verdict}: {done.code} {said}")
    if h5py:
        cut = os.path.join(at, "cut.h5")
        shutil.copy(good, cut)
        with h5py.File(cut, "r+") as trace:
            trace.attrs["complete"] = numpy.int8(0)
        said = run("check", "--trace", good, "--reference", cut).out
        check("cut.h5 may be no good node: its run did not reach its end" in said, f"a reference that was cut short: {said}")
    # The last line names what gave a limit: a figure that the reference has not is judged by healthy GPUs.
    written(text, {**json.load(open(text)), "findings": [{"device": "sim:0", "metric": "h2d_rate", "value": 58e9, "unit": "B/s"}]})
    done = run("check", "--trace", good, "--reference", text)
    check("; judged by reference good.json (host to GPU, pinned); 27 runs of 7 healthy H200s" in " ".join(done.out.split()), f"judged by: {done.out.splitlines()[-1]}")
    done = run("check", "--trace", os.path.join(SOURCE, "data/traces/h200_energy.h5"))
    check("; judged by 27 runs of 7 healthy H200s (clocks only)" in done.out, f"judged by: {done.out.splitlines()[-1]}")
    # nvbandwidth's JSON: cells are texts, and what failed or is no number does not count.
    kept = os.path.join(SOURCE, "data/traces/h200_run_c.h5")
    for rate, code in ((55.5, 0), (65.0, 3)):
        json.dump({"nvbandwidth": {"testcases": [
            {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["N/A", str(rate), "1", "99"]]},
            {"name": "device_to_host_memcpy_ce", "status": "Error", "bandwidth_matrix": [["99"]]}]}}, open(text, "w"))
        done, found = judged("--trace", kept, "--reference", text)
        limits = [f["basis"] for f in found["findings"] if f["metric"] in ("h2d_rate", "d2h_rate")]
        check(done.code == code and limits[0].startswith("reference good.json") and "reference" not in limits[1],
              f"nvbandwidth had {rate} GB/s: {done.code} {limits} {done.err}")
    # Both ways at once, too; what no check measures is said; its text is refused with a hint.
    written(text, {"nvbandwidth": {"testcases": [
        {"name": name, "status": status, "bandwidth_matrix": [[rate]]} for name, status, rate in (
            ("host_to_device_memcpy_ce", "Passed", "55.5"), ("host_to_device_bidirectional_memcpy_ce", "Passed", "51.5"),
            ("device_to_host_bidirectional_memcpy_ce", "Passed", "90"), ("host_device_latency_sm", "Passed", "700"),
            ("device_to_device_memcpy_read_ce", "Waived", "1"))]}})
    done = run("check", "--trace", kept, "--reference", text)
    said = " ".join(done.out.split())
    check(done.code == 3 and "both ways at once, 50.22 GB/s" in said and
          "reference good.json (host to GPU, pinned; host to GPU, both ways at once; GPU to host, both ways at once; but not host_device_latency_sm)" in said,
          f"nvbandwidth's both ways: {done.code} {said}")
    open(text, "w").write("nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n")
    done = run("check", "--trace", kept, "--reference", text)
    check(done.code == 2 and "use nvbandwidth --json" in done.err, f"nvbandwidth's text: {done.code} {done.err}")
    # The -J file of nccl-tests: out of place, one GPU copies within itself; of several GPUs nothing is taken.
    def nccl(gpus, rate, name="NVIDIA H200"):
        rows = [{"size": size, "out_of_place": {"time": 1.0, "alg_bw": bw, "bus_bw": 0.0}, "in_place": {"alg_bw": 9e5}}
                for size, bw in ((8, 5000.0), (1 << 30, rate))] + [{"size": 1 << 40, "out_of_place": None}, 3]
        return {"version": 2, "nccl_version": 22707, "results": rows,
                "config": {"nthreads": 1, "ngpus": gpus, "devices": [{"rank": 0, "device_info": name}]}}
    for rate, code in ((1900.0, 0), (2200.0, 3)):
        written(text, nccl(1, rate))
        done, found = judged("--trace", kept, "--reference", text)
        limits = [f["basis"] for f in found["findings"] if f["metric"] in ("d2d_rate", "h2d_rate")]
        check(done.code == code and sum(limit.startswith("reference good.json") for limit in limits) == 1,
              f"one GPU of nccl-tests copied {rate} GB/s: {done.code} {limits} {done.err}")
    for other, why in ((nccl(8, 1900.0), "several GPUs"), (nccl(1, 1900.0, "NVIDIA B200"), "B200")):
        written(text, other)
        done = run("check", "--trace", kept, "--reference", text)
        check(done.code == 2 and why in done.err, f"nccl-tests of {why}: {done.code} {done.err}")
    for nonsense in ('{"nccl_version": 1, "config": 2, "results": 3}', "{", "{}", '{"nvbandwidth": {"testcases": [3, {"name": 4}]}}', '{"findings": 3, "gpus": 4}', '{"findings": [{"metric": 3, "value": 4}], "gpus": [5]}'):
        open(text, "w").write(nonsense)
        done = run("check", "--trace", good, "--reference", text)
        check(done.code == 2 and "--reference" in done.err, f"the reference {nonsense}: {done.code} {done.err}")
    other = run("check", "--device", f"sim:{os.path.join(DEVICES, 'gtx470.json')}", "--reference", good)
    check(other.code == 2 and "H200" in other.err, f"another model is refused: {other.code} {other.err}")


def unfinished(at):
    """What a run that was killed did not come to may be slow."""
    killed = os.path.join(at, "killed.h5")
    shutil.copy(os.path.join(SOURCE, "data/traces/h200_rounds.h5"), killed)
    with h5py.File(killed, "r+") as trace:
        trace.attrs["complete"] = numpy.uint8(0)
    done, found = judged("--trace", killed)
    check(done.code == 4 and found["verdict"] == "not judged" and "--resume" in found["not_judged_because"], f"killed: {done.code} {found}")
    for form in ("--overview", "--markdown"):
        shown = run("report", killed, form)
        check("NOT JUDGED: " in shown.out and "OK: " not in shown.out, f"killed, {form}: {shown.out[:600]}")


with folder() as scratch:
    for part in (healthy, cards_of_the_papers, sick, levels, whole_node, of_a_trace, second_look, one_of_two, outputs, nodes, simulated_nodes, failures, expectations,
                 references, unfinished):
        if part in (second_look, nodes, unfinished) and not h5py:
            print(f"not tried: {part.__name__}, as Python has no h5py")
            continue
        at = os.path.join(scratch, part.__name__)
        os.mkdir(at)
        part(at)
check.finish()
