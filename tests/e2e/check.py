"""npgpu check names what is wrong with a node: on simulated devices with one sickness each, and in traces that were edited
into each sickness. A healthy device, whose times scatter from visit to visit as those of an H200 did, passes.

--times N: how often each sickness is looked for, each time with other noise; the healthy device twice as often."""
import argparse
import json
import os
import re
import shutil
import xml.etree.ElementTree

from npgpu_run import SOURCE, Checks, folder, run

try:
    import h5py
    import numpy
except ImportError:
    h5py = None

arguments = argparse.ArgumentParser()
arguments.add_argument("program")
arguments.add_argument("--times", type=int, default=1)
TIMES = arguments.parse_args().times
check = Checks()
DEVICES = os.path.join(SOURCE, "data/devices")
HEALTHY = os.path.join(DEVICES, "h200-node.json")

# Of each sick device: the verdict, its exit code, the first cause of all that is not as it should be, and a metric that
# must fail (or warn).
SICK = {
    "half-the-lanes": ("slow", 3, {"link_lanes"}, {"pcie_link", "h2d_rate", "d2h_rate"}),
    "one-generation-less": ("slow", 3, {"link_generation"}, {"pcie_link", "h2d_rate", "d2h_rate"}),
    "clock-cap": ("slow", 3, {"clock_cap"}, {"sm_clock"}),
    "thermal-throttle": ("slow", 3, {"throttle_thermal"}, {"throttle", "sm_clock", "temperature"}),
    "three-sms-missing": ("broken", 6, {"sms_missing"}, {"sms"}),
    "slow-memory": ("slow", 3, {"slow_memory"}, {"memory_rmw_rate", "d2d_rate"}),
    "corrupt-bytes": ("broken", 6, {"corrupt"}, {"results"}),
    "busy-neighbour": ("not judged", 4, {"neighbour"}, {"neighbours", "h2d_rate", "d2h_rate"}),
    "ecc-errors": ("broken", 6, {"ecc"}, {"ecc_uncorrected", "ecc_corrected"}),
    "slow-call": ("slow", 3, {"slow_call"}, {"launch_time"}),
    "remapped-rows": ("broken", 6, {"remapped_rows"}, {"remapped_rows"}),
}


def bad(found):
    return [f for f in found["findings"] if f["health"] not in ("pass", "skip")]


def causes(found):
    return {f["explanations"][0]["cause"] if f["explanations"] else f"none for {f['metric']}" for f in bad(found)}


def seeded(at, like, seed, **more):
    path = os.path.join(at, f"{os.path.basename(like)[:-5]}-{seed}.json")
    json.dump({"like": like, "noise": {"seed": seed}, **more}, open(path, "w"))
    return f"sim:{path}"


def judged(*options):
    done = run("check", "--json", *options, timeout=600)
    try:
        return done, json.loads(done.out)
    except ValueError:
        check(False, f"{options}: no JSON: {done.out[:200]} {done.err[:300]}")
        return done, {"verdict": "", "exit_code": -1, "findings": [], "gpus": []}


def healthy(at):
    passed = 0
    for i in range(2 * TIMES):
        done, found = judged("--device", seeded(at, HEALTHY, 1000 + i))
        is_well = found["verdict"] == "ok" and done.code == 0 and not bad(found)
        passed += is_well
        check(is_well, f"healthy {i}: {found['verdict']} {done.code} {[f['text'] for f in bad(found)]}")
    print(f"healthy: passed {passed} of {2 * TIMES}")


def sick(at):
    for name, (verdict, code, wanted, metrics) in SICK.items():
        named = 0
        for i in range(TIMES):
            done, found = judged("--device", seeded(at, os.path.join(DEVICES, "sick", name + ".json"), 2000 + i))
            is_named = (found["verdict"], done.code) == (verdict, code) and causes(found) == wanted
            is_named = is_named and metrics <= {f["metric"] for f in bad(found)}
            named += is_named
            check(is_named, f"{name} {i}: {found['verdict']} {done.code} {causes(found)} "
                            f"{[f['metric'] for f in bad(found)]}")
        print(f"{name}: named {named} of {TIMES}")
    names = {os.path.splitext(file)[0] for file in os.listdir(os.path.join(DEVICES, "sick"))}
    check(names == set(SICK), f"every sick device is tried: {names ^ set(SICK)}")


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
    kept = os.path.join(at, "kept.h5")
    run("check", "--level", 1, "--device", device, "-o", kept)
    again = run("check", "--trace", kept, "--all")
    check(again.code == 0 and "PASS" in again.out and "SIMULATED" in again.out, f"a kept trace is judged: {again.out}")


def whole_node(at):
    """Of a simulated node whose GPUs have all figures a check says the same as of eight good GPUs."""
    done, found = judged("--level", 1, "--device", "sim:h200x8")
    check(len(found["gpus"]) == 8 and found["verdict"] in ("ok", "undecided"), f"eight GPUs: {done.code} {found['verdict']} {bad(found)}")


def counted_before(at):
    """Errors that were counted before a second look are not forgotten after it."""
    done, found = judged("--level", 1, "--device", seeded(at, HEALTHY, 1, counters_rise={"xids": 2}, hardware={"shader_clock_mhz": 990}))
    texts = [f["text"] for f in found["findings"] if f["metric"] == "xid"]
    check(done.code == 6 and found["measured_again"] and texts and texts[0].startswith("2 Xid errors during this run"),
          f"{done.code} {texts} {found['measured_again']}")


def blind_pairs(at):
    """A pair of GPUs that do not see each other's memory, no neighbours, is slow where others see it, and no fault where none does."""
    for what, pairs, code in (("one", [(0, 2)], 3), ("all", [(i, j) for i in range(4) for j in range(i)], 0)):
        spec = os.path.join(at, f"blind-{what}.json")
        with open(spec, "w") as out:
            json.dump({"like": os.path.join(DEVICES, "soak/node4.json"), "source": "a test", "gpu": HEALTHY,
                       "blind": [{"between": f"gpu{i}", "and": f"gpu{j}"} for i, j in pairs]}, out)
        for level in (2, 3):
            done, found = judged("--level", level, "--device", f"sim:{spec}")
            fails = [f["metric"] for f in found["findings"] if f["health"] == "fail"]
            check(done.code in (code, 8) and fails == ["peer_access"] * (code == 3), f"{what} blind at level {level}: {done.code} {fails}")


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
    if not h5py:
        return
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
            check(most > 10, f"a point was visited {most} times")
        return
    check(False, "nothing was measured again in twenty runs")


def what_it_says(at):
    """What a GPU itself says of its clock or its slot is the cause that is named."""
    def found_of(name, changes, *how, base=HEALTHY):
        done = run("check", "--level", 1, "--device", seeded(at, base, 7, **changes), "--json", *how)
        found = json.loads(done.out)
        return done.code, {f["metric"]: f for f in found["findings"] if f["health"] in ("fail", "warn")}

    def why(finding):
        return [one["cause"] for one in finding["explanations"]]

    slow_clock = {"hardware": {"shader_clock_mhz": 1700}}
    code, found = found_of("held", slow_clock | {"telemetry": {"throttle_reasons": 4, "power_w": 698}})
    check(code == 3 and why(found["compute_fp32_rate"]) == ["throttle_power"] and "sm_clock" not in found,
          f"held at the usual power limit: {code} {found}")
    code, found = found_of("boost", slow_clock | {"telemetry": {"throttle_reasons": 16}})
    check(code == 3 and why(found["compute_fp32_rate"]) == why(found["sm_clock"]) == ["sync_boost"], f"sync boost: {code} {found}")
    # In a slot with fewer lanes or of an older generation a GPU is judged by what the slot can carry.
    def links(gb_s):
        return {way: {"pinned": {"rate_gb_s": gb_s}} for way in ("h2d", "d2h")}

    lanes = {"facts": {"max_pcie_lanes": 8}, "link": {"generation": 5, "lanes": 8}}
    older = {"facts": {"max_pcie_generation": 4, "gpu_max_pcie_generation": 5}, "link": {"generation": 4, "lanes": 16}}
    for name, changes in (("lanes", lanes), ("older", older)):
        code, found = found_of(name, changes | {"links": links(26.5)})
        check(code == 0 and set(found) == {"pcie_link"} and why(found["pcie_link"]) == ["link_slot"], f"a lesser slot, {name}: {code} {found}")
        code, found = found_of(name, changes | {"links": links(20)})
        check(code == 3 and why(found["h2d_rate"]) == why(found["h2d_rate_1mib"]) == ["link"], f"and a slow link in it, {name}: {code} {found}")
    line = run("check", "--level", 1, "--quiet", "--device", seeded(at, HEALTHY, 7, faults=[{"call": 500, "kind": "lost"}])).out
    check("device lost, no results" in line and "wrong" not in line, f"a lost GPU: {line}")
    # A clock that passes and one that fails have the same limit.
    limits = []
    for mhz in (1980, 1900):
        out = run("check", "--level", 1, "--json", "--device", seeded(at, HEALTHY, 7, hardware={"shader_clock_mhz": mhz})).out
        limits.append([f["limit"] for f in json.loads(out)["findings"] if f["metric"] == "sm_clock"])
    check(limits[0] == limits[1] != [], f"the limit of a clock: {limits}")


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
        json.dump(spec, open(path, "w"))
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
    for wanted in ("SLOW", "SIMULATED", "FAIL PCIe Gen5 x8 while copying; GPU and slot support PCIe Gen5 x16",
                   "why: the PCIe link is trained with fewer lanes", "do: reseat the GPU", "limit: 7 healthy H200s: 55.22 GB/s - 4.5 %"):
        check(wanted in text, f"the text says '{wanted}': {done.out}")
    line = run("check", "--level", 1, "--device", device, "--quiet").out
    check(line.count("\n") == 1 and "slow" in line and "PCIe Gen5 x8 while copying" in line and "(and 4 more)" in line,
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


def kept_node(at, name, change):
    """Of a kept trace of several GPUs a copy that is changed: the verdict, the code, and what is wrong."""
    path = os.path.join(at, "node.h5")
    shutil.copy(os.path.join(SOURCE, "data/traces", name + ".h5"), path)
    os.chmod(path, 0o644)
    with h5py.File(path, "r+") as file:
        change(file)
    done, found = judged("--trace", path)
    page = os.path.join(at, "node.html")
    run("report", path, "--html", page, "--force")
    return found["verdict"], done.code, {(f["device"], f["metric"]) for f in bad(found)}, open(page).read()


def nodes(at):
    """Each GPU of a node is judged, and each kind of measurement, also where it is the only one."""
    if not h5py:
        return

    def xid(file):
        file["provenance/gpu1_after"].attrs["xids"] = numpy.int64(1)

    def wrong(file):
        samples = file["energies/0001/samples"][:]
        samples["intact"][0] = 0
        file["energies/0001/samples"][...] = samples

    def timeless(file):
        for series in file["collectives"].values():
            samples = series["samples"][:]
            samples["host_us"] = numpy.nan
            series["samples"][...] = samples

    def nothing(file):
        pass

    for name in ("h100x2_collectives", "h200x2_graphs", "h100x2_energy", "h200x2_matrix", "h100x2_soak"):
        verdict, code, _, said = kept_node(at, name, nothing)
        check((verdict, code) == ("ok", 0) and "OK: " in said, f"{name}: {verdict} {code}")
        verdict, code, wrongs, said = kept_node(at, name, xid)
        check((verdict, code, wrongs) == ("broken", 6, {("cuda:1", "xid")}), f"{name}, an Xid of cuda:1: {verdict} {wrongs}")
        check("BROKEN: 1 failed" in said, f"{name}, an Xid of cuda:1: the page does not say so")
    verdict, code, wrongs, _ = kept_node(at, "h100x2_energy", wrong)
    check(code == 6 and {metric for _, metric in wrongs} == {"results"}, f"wrong results of a load: {verdict} {wrongs}")
    verdict, code, wrongs, _ = kept_node(at, "h100x2_collectives", timeless)
    check((verdict, code) == ("failed to run", 1), f"operations without a time: {verdict} {code} {wrongs}")
    # With a second process the times say nothing of a GPU's health, and the results all the same.
    for kind, series in (("transfers", "0013"), ("calls", "0001")):
        def wrong_beside(file):
            assert file[f"{kind}/{series}"].attrs["beside"] not in ("nobody", b"nobody")
            samples = file[f"{kind}/{series}/samples"][:]
            samples["intact"][samples["intact"] == 1] = 0
            samples["intact"][0] = 0
            file[f"{kind}/{series}/samples"][...] = samples

        verdict, code, wrongs, _ = kept_node(at, "h200_processes", wrong_beside)
        check((verdict, code) == ("broken", 6) and "results" in {metric for _, metric in wrongs},
              f"wrong results of {kind} with a second process: {verdict} {code} {wrongs}")
    # Tensor cores at half of their rate, by the instruction that can reach it.
    def slow_tensor(file):
        for series in file["probes"].values():
            if (series.attrs["probe"], series.attrs["operation"], series.attrs["type"]) == ("tensor", "wgmma", "fp16"):
                samples = series["samples"][:]
                samples["device_us"] *= 2
                series["samples"][...] = samples

    verdict, code, wrongs, _ = kept_node(at, "h100_quick_a", slow_tensor)
    check((verdict, code, wrongs) == ("slow", 3, {("cuda:0", "tensor_wgmma_fp16_rate")}), f"slow tensor cores: {verdict} {code} {wrongs}")
    metrics = os.path.join(at, "node.prom")
    for name in ("h200x2_matrix", "h200x2_graphs"):
        run("check", "--trace", os.path.join(SOURCE, "data/traces", name + ".h5"), "--quiet", "--openmetrics", metrics)
        samples = [line.rpartition(" ")[0] for line in open(metrics) if not line.startswith("#")]
        twice = {one for one in samples if samples.count(one) > 1}
        check(samples and not twice, f"{name}: samples that OpenMetrics would have twice: {sorted(twice)[:2]}")


def failures(at):
    """What was to be measured and has no figure, and what cannot be judged."""
    # A device that stops answering is broken, whenever that happens, and this cause stands first everywhere.
    lost = os.path.join(at, "lost.json")
    for call in (1, 2, 40, 200, 900):
        json.dump({"like": HEALTHY, "faults": [{"call": call, "kind": "lost"}]}, open(lost, "w"))
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
    # Others are measured to their end.
    fine, kept = seeded(at, HEALTHY, 8), os.path.join(at, "two.h5")
    done, found = judged("--level", 1, "--device", f"sim:{lost},{fine}", "-o", kept)
    passed = {f["metric"] for f in found["findings"] if f["device"] == fine and f["health"] == "pass"}
    check(done.code == 6 and {f["device"] for f in bad(found)} == {f"sim:{lost}"} and {"h2d_rate", "launch_time"} <= passed,
          f"a healthy device beside a lost one: {done.code} {passed} {[(f['device'], f['metric']) for f in bad(found)]}")
    check(run("check", "--trace", kept).code == 6, "the trace says that it was lost")
    bare = os.path.join(at, "bare.json")
    json.dump({"like": HEALTHY, "hardware": {"lanes": None, "call_launch_us": None}}, open(bare, "w"))
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


def late_kernels(at):
    """Launches in a row are fast, and each kernel is done late: the host's calls are not the cause."""
    late = seeded(at, HEALTHY, 31, hardware={"empty_kernel_us": 20})
    done, found = judged("--device", late)
    check(done.code == 3 and [f["metric"] for f in bad(found)] == ["launch_done_time"] and causes(found) == {"slow_start"},
          f"kernels that are done late: {done.code} {[f['metric'] for f in bad(found)]} {causes(found)}")


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
        doubtful = os.path.join(at, f"{verdict}.json")
        json.dump({**json.load(open(text)), "verdict": verdict}, open(doubtful, "w"))
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
    json.dump({**json.load(open(text)), "findings": [{"device": "sim:0", "metric": "h2d_rate", "value": 58e9, "unit": "B/s"}]}, open(text, "w"))
    done = run("check", "--trace", good, "--reference", text)
    check("; judged by reference good.json; 27 runs of 7 healthy H200s" in done.out, f"judged by: {done.out.splitlines()[-1]}")
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
    # The -J file of nccl-tests: out of place, one GPU copies within itself; of several GPUs nothing is taken.
    def nccl(gpus, rate, name="NVIDIA H200"):
        rows = [{"size": size, "out_of_place": {"time": 1.0, "alg_bw": bw, "bus_bw": 0.0}, "in_place": {"alg_bw": 9e5}}
                for size, bw in ((8, 5000.0), (1 << 30, rate))] + [{"size": 1 << 40, "out_of_place": None}, 3]
        return {"version": 2, "nccl_version": 22707, "results": rows,
                "config": {"nthreads": 1, "ngpus": gpus, "devices": [{"rank": 0, "device_info": name}]}}
    for rate, code in ((1900.0, 0), (2200.0, 3)):
        json.dump(nccl(1, rate), open(text, "w"))
        done, found = judged("--trace", kept, "--reference", text)
        limits = [f["basis"] for f in found["findings"] if f["metric"] in ("d2d_rate", "h2d_rate")]
        check(done.code == code and sum(limit.startswith("reference good.json") for limit in limits) == 1,
              f"one GPU of nccl-tests copied {rate} GB/s: {done.code} {limits} {done.err}")
    for other, why in ((nccl(8, 1900.0), "several GPUs"), (nccl(1, 1900.0, "NVIDIA B200"), "B200")):
        json.dump(other, open(text, "w"))
        done = run("check", "--trace", kept, "--reference", text)
        check(done.code == 2 and why in done.err, f"nccl-tests of {why}: {done.code} {done.err}")
    for nonsense in ('{"nccl_version": 1, "config": 2, "results": 3}', "{", "{}", '{"nvbandwidth": {"testcases": [3, {"name": 4}]}}', '{"findings": 3, "gpus": 4}', '{"findings": [{"metric": 3, "value": 4}], "gpus": [5]}'):
        open(text, "w").write(nonsense)
        done = run("check", "--trace", good, "--reference", text)
        check(done.code == 2 and "--reference" in done.err, f"the reference {nonsense}: {done.code} {done.err}")
    other = run("check", "--device", f"sim:{os.path.join(DEVICES, 'gtx470.json')}", "--reference", good)
    check(other.code == 2 and "H200" in other.err, f"another model is refused: {other.code} {other.err}")


# ---- edited traces -------------------------------------------------------------------------------------------------


def device_series(trace, kind):
    return [s for s in trace[kind].values() if s.attrs.get("device", s.attrs.get("source", "")) != "host"
            or s.attrs.get("direction", "") in ("h2d", "d2h")]


def scale_times(series, factor, columns=("host_us", "device_us", "done_us", "cycles")):
    rows = series["samples"][:]
    for column in columns:
        if column in rows.dtype.names:
            rows[column] *= factor
    series["samples"][...] = rows


def set_visits(series, **values):
    rows = series["visits"][:]
    for column, value in values.items():
        rows[column] = value
    series["visits"][...] = rows


def slow_link(trace, factor=2):
    for series in trace["transfers"].values():
        if series.attrs["memory"] == "pinned" and series.attrs["direction"] in ("h2d", "d2h"):
            rows, visits = series["samples"][:], series["visits"][:]
            large = numpy.isin(rows["visit"], numpy.flatnonzero(visits["bytes"] >= 1 << 20))
            for column in ("host_us", "device_us"):
                rows[column][large] *= factor
            series["samples"][...] = rows


def facts(trace, **values):
    group = trace["provenance/gpu0"]
    for name, value in values.items():
        group.attrs[name] = value


def after(trace, **values):
    group = trace["provenance"].require_group("gpu0_after")
    group.attrs["id"] = trace["provenance/gpu0"].attrs["id"]
    for name, value in values.items():
        group.attrs[name] = value


def set_clock(trace, mhz, **more):
    for kind in ("transfers", "probes", "jobs", "calls"):
        for series in trace[kind].values():
            if series.attrs.get("device", "") != "host" and series.attrs.get("module", "") != "memcpy":
                set_visits(series, sm_clock_mhz=mhz, **more)
    for series in trace["probes"].values():
        if series.attrs["probe"] == "compute" and series.attrs["device"] != "host":
            scale_times(series, 1980 / mhz, ("host_us", "device_us"))


def half_the_lanes(trace):
    facts(trace, pcie_lanes_now=numpy.int64(8))
    after(trace, pcie_generation_copying=numpy.int64(5), pcie_lanes_copying=numpy.int64(8))
    slow_link(trace)


def one_generation_less(trace):
    after(trace, pcie_generation_copying=numpy.int64(4), pcie_lanes_copying=numpy.int64(16))
    slow_link(trace)


def three_sms_missing(trace):
    for series in trace["probes"].values():
        if series.attrs["device"] != "host":
            rows = series["samples"][:]
            rows["units"] = numpy.minimum(rows["units"], 129)
            series["samples"][...] = rows


def slow_memory(trace):
    for series in trace["probes"].values():
        if series.attrs["probe"] == "bandwidth":
            scale_times(series, 4 / 3)
    for series in trace["transfers"].values():
        if series.attrs["direction"] == "d2d":
            scale_times(series, 4 / 3)


def corrupt(trace):
    series = trace["transfers/0000"]
    rows = series["samples"][:]
    rows["intact"][numpy.flatnonzero(rows["intact"] == 1)[-1]] = 0
    series["samples"][...] = rows


def neighbour(trace):
    slow_link(trace)
    for series in trace["transfers"].values():
        if series.attrs["direction"] in ("h2d", "d2h"):
            set_visits(series, disturbed=24, disturber=b"python3 (4711)")


def ecc(trace):
    facts(trace, ecc_corrected_volatile=numpy.int64(3), ecc_uncorrected_volatile=numpy.int64(0))
    after(trace, ecc_corrected_volatile=numpy.int64(9), ecc_uncorrected_volatile=numpy.int64(1))


def slow_call(trace):
    for series in trace["calls"].values():
        if series.attrs["call"] == "launch":
            rows = series["samples"][:]
            rows["host_us"] += 3 * rows["repeats"]
            rows["done_us"] += 3 * rows["repeats"]
            series["samples"][...] = rows


def remapped(trace):
    after(trace, remapped_rows_corrected=numpy.int64(0), remapped_rows_uncorrected=numpy.int64(1),
          remapped_rows_pending=numpy.int64(1), remapped_rows_failed=numpy.int64(0))


EDITS = {
    "half-the-lanes": half_the_lanes,
    "one-generation-less": one_generation_less,
    "clock-cap": lambda trace: set_clock(trace, 1410),
    "thermal-throttle": lambda trace: set_clock(trace, 1230, throttle_reasons=0x20, temperature_c=94),
    "three-sms-missing": three_sms_missing,
    "slow-memory": slow_memory,
    "corrupt-bytes": corrupt,
    "busy-neighbour": neighbour,
    "ecc-errors": ecc,
    "slow-call": slow_call,
    "remapped-rows": remapped,
}


def edited(at):
    simulated = os.path.join(at, "simulated.h5")
    run("check", "--device", seeded(at, HEALTHY, 31), "-o", simulated)
    kept = os.path.join(SOURCE, "data/traces/h200_rounds.h5")
    killed = os.path.join(at, "killed.h5")
    shutil.copy(kept, killed)
    with h5py.File(killed, "r+") as trace:
        trace.attrs["complete"] = numpy.uint8(0)
    done, found = judged("--trace", killed)
    check(done.code == 4 and found["verdict"] == "not judged" and "--resume" in found["not_judged_because"], f"killed: {done.code} {found}")
    for form in ("--overview", "--markdown"):
        shown = run("report", killed, form)
        check("NOT JUDGED: " in shown.out and "OK: " not in shown.out, f"killed, {form}: {shown.out[:600]}")
    for original in (simulated, kept):
        done, before = judged("--trace", original)
        check(not [f for f in before["findings"] if f["health"] == "fail"],
              f"{original} has no failure: {[f['text'] for f in bad(before)]}")
        for name, edit in EDITS.items():
            path = os.path.join(at, name + ".h5")
            shutil.copy(original, path)
            with h5py.File(path, "r+") as trace:
                edit(trace)
            done, found = judged("--trace", path)
            new = {"findings": [f for f in bad(found) if f["metric"] not in {b["metric"] for b in bad(before)}]}
            verdict, code, wanted, _ = SICK[name]
            check((found["verdict"], done.code) == (verdict, code) and causes(new) == wanted,
                  f"{os.path.basename(original)} edited, {name}: {found['verdict']} {done.code} {causes(new)} "
                  f"{[f['text'] for f in new['findings']]}")


with folder() as scratch:
    for part in (healthy, sick, levels, whole_node, of_a_trace, second_look, counted_before, blind_pairs, what_it_says, one_of_two, outputs, nodes, failures, expectations, late_kernels, references):
        at = os.path.join(scratch, part.__name__)
        os.mkdir(at)
        part(at)
    if h5py:
        edited(scratch)
    else:
        print("no h5py: no trace was edited")
check.finish()
