"""One trace, one answer: report, check, compare and fleet give the same key figures to the last digit, and check, its
soak, matrix, report, the page, fleet and a plugin's lines the same verdict, first cause and remedy of every sickness in
data/devices."""
import concurrent.futures
import glob
import html
import json
import os
import re

from npgpu_run import SOURCE, Checks, folder, run, written

check = Checks()
KEPT = ("h200_node", "h200_run_a", "h200_check", "h100_quick_a", "h100_function")
SICK, SOAKED = (sorted(glob.glob(os.path.join(SOURCE, "data/devices", folder_of, "*.json"))) for folder_of in ("sick", "soak"))
VERDICTS = ("SLOW", "BROKEN", "NOT JUDGED", "UNDECIDED", "FAILED TO RUN")
IN_SOAK = ("clock-cap", "corrupt-bytes", "ecc-errors", "half-the-lanes", "remapped-rows", "thermal-throttle")
SOAKS = {"falls-off-the-bus": "10min", "throttles": "10min", "hot-neighbour-throttles": "1min", "hot-neighbour": "5s", "flips": "5s", "node4": "5s"}
NODES = ("node8-half-nvlink", "zeros", "node8-sick")
COMMANDS = (("check", "--level", 2), ("matrix", "--only", "pairs,host", "--access", "write", "--executor", "copy-engine"))


def asked(*command):
    done = run(*command, "--json")
    try:
        return json.loads(done.out)
    except ValueError:
        check(False, f"{command}: no JSON: {done.code} {done.out[:200]} {done.err[:300]}")
        return {}


def figures(rows):
    return {(row["device"], row["metric"]): tuple(row[key] for key in ("value", "low", "high", "unit")) for row in rows}


def key_figures(trace):
    of_check = figures(asked("check", "--trace", trace)["key_figures"])
    compared = asked("compare", trace, trace)
    others = {"report": asked("report", trace)["key_figures"], "fleet": asked("fleet", trace)["key_figures"],
              "compare, A": compared["a"][0]["key_figures"], "compare, B": compared["b"][0]["key_figures"]}
    for name, rows in others.items():
        check(figures(rows) == of_check, f"{trace}: {name} has other key figures than check: {rows} {of_check}")
    return of_check, compared


def shown(trace):
    """What screens show is the key figure, too."""
    of_check, compared = key_figures(trace)
    for name, metric in (("copy, host to device", "h2d_rate"), ("copy, device to host", "d2h_rate"), ("launch back to back", "launch_time"),
                         ("bandwidth read fp32", "memory_read_rate"), ("compute fp32", "compute_fp32_rate"), ("smallest copy, host to device", "copy_time")):
        value = next((value[0] for (_, one), value in of_check.items() if one == metric), None)
        row = next((row for row in compared["figures"] if row["name"] == name), None)
        if value and row:
            check(row["a"] == value and row["b"] == value, f"{trace}: compare's {name}: {row['a']} {row['b']}, check's {value}")
    rate = next((value[0] for (_, metric), value in of_check.items() if metric == "h2d_rate"), None)
    if not rate:
        return
    table = run("check", "--trace", trace).out
    check(f"{rate / 1e9:.2f}" in table, f"{trace}: check's table has {rate}: {table}")
    screen = run("report", trace).out
    line = next((line for line in screen.splitlines() if line.startswith("  host to GPU, pinned ")), None)
    check(line is None or f" {rate / 1e9:.1f} GB/s" in line, f"{trace}: report has {rate}: {line}")


def text_of_page(path):
    with open(path, encoding="utf-8") as file:
        return " ".join(re.sub("<[^>]*>", " ", html.unescape(file.read())).split())


def first_of(judged):
    """The first cause that a verdict rests on; empty where it rests on none."""
    health = "fail" if judged["verdict"] in ("slow", "broken") else judged["verdict"]
    for one in judged["findings"]:
        if one["health"] == health and one["explanations"] and (health != "fail" or one["if_failed"] == judged["verdict"]):
            return one["explanations"][0]
    return {"cause": "", "what": "", "remedy": ""}


def said_by_all(name, trace, judged, page):
    """The screen, the plugin's lines, the report and the page of one trace."""
    first = first_of(judged)
    verdict = judged["verdict"].upper()
    plugin = run("check", "--trace", trace, "--exit-codes", "nagios").out
    line, _, screen = plugin.partition("\n")
    run("report", trace, "--html", page, "--force")
    report = run("report", trace).out
    check(f"HEALTH   {verdict}" in report or "HEALTH" not in report, f"{name}: report says otherwise: {report[:600]}")
    for where, text in (("screen", " ".join(screen.split())), ("page", text_of_page(page))):
        for wanted in (verdict, first["what"], first["remedy"]):
            check(wanted in text, f"{name}: the {where} says '{wanted}': {text[:1500]}")
    words = [line.split("  ")[0] for line in screen.splitlines()]
    check(next((one for one in words if one in VERDICTS), "") == verdict, f"{name}: the first fault is of the verdict: {screen}")
    code = {"slow": "CRITICAL", "broken": "CRITICAL", "not judged": "UNKNOWN"}[judged["verdict"]]
    count = len(judged["gpus"])
    check(f": {judged['verdict']}, {count} GPU" in line.split("|")[0] and line.startswith(f"NPGPU {code}"), f"{name}: {line}")
    return first, screen


def suspects_in(trace):
    return [one for group in asked("fleet", trace)["groups"] for one in group["suspects"]]


def is_said_by_fleet(name, suspect, verdict, first):
    cause = suspect["causes"][0]
    check(suspect["verdict"] == verdict and cause["cause"] == first["cause"] and first["what"] in cause["text"] and first["remedy"] in cause["text"],
          f"{name}: check says {verdict}, {first}, fleet {suspect['verdict']}, {cause}")


def sickness(spec, at):
    name = os.path.basename(spec)[:-5]
    trace = os.path.join(at, name + ".h5")
    judged = asked("check", "--device", "sim:" + spec, "--force", "-o", trace)
    first, screen = said_by_all(name, trace, judged, os.path.join(at, name + ".html"))
    if name != "ecc-errors":  # which has two
        check(len(screen.splitlines()) <= 12, f"{name}: a fault in twelve lines: {screen}")
    suspects = suspects_in(trace)
    if judged["verdict"] == "not judged":
        check(name == "busy-neighbour" and not suspects, f"{name}: {judged['verdict']}, fleet: {suspects}")
    else:
        check(len(suspects) == 1, f"{name}: {judged['verdict']}, fleet: {suspects}")
        for one in suspects:
            is_said_by_fleet(name, one, judged["verdict"], first)
    soaked = asked("check", "--soak", "5s", "--device", "sim:" + spec, "--force", "-o", os.path.join(at, name + "-soak.h5"))
    of_soak = first_of(soaked)
    if name in IN_SOAK:
        same = [one[key] for one in (first, of_soak) for key in ("cause", "what", "remedy")]
        check(soaked["verdict"] == judged["verdict"] and same[:3] == same[3:], f"{name}: check says {first}, its soak {soaked['verdict']}, {of_soak}")
    else:  # a soak judges a GPU by its begin, and has no launches, latencies or idle multiprocessors
        check(soaked["verdict"] == "ok", f"{name}: its soak: {soaked['verdict']}, {of_soak}")


def soaks(spec, at):
    """What appears with time: the soak's screen, the plugin, the page and fleet say the same of it."""
    name = os.path.basename(spec)[:-5]
    trace = os.path.join(at, name + ".h5")
    judged = asked("check", "--soak", SOAKS[name], "--device", "sim:" + spec, "--force", "-o", trace)
    if judged["verdict"] == "ok":
        check(name in ("node4", "hot-neighbour") and not suspects_in(trace), f"{name}: {judged['verdict']}")
        return
    first, _ = said_by_all(name, trace, judged, os.path.join(at, name + ".html"))
    suspects = suspects_in(trace)
    check(len(suspects) == 1, f"{name}: {judged['verdict']}, fleet: {suspects}")
    for one in suspects:
        is_said_by_fleet(name, one, judged["verdict"], first)


def node(name, at):
    """A fault between GPUs: check and matrix say the same of it, and so does fleet of either's trace."""
    told = {}
    for how in COMMANDS:
        trace = os.path.join(at, f"{name}-{how[0]}.h5")
        done = run(*how, "--device", "sim:" + name, "--rounds", 3, "--force", "-o", trace)
        judged = asked("check", "--trace", trace)
        first, _ = said_by_all(f"{name}, {how[0]}", trace, judged, trace[:-3] + ".html")
        told[how[0]] = judged["verdict"], first["cause"], first["what"], first["remedy"]
        said = " ".join(done.out.split())
        for wanted in (first["what"], first["remedy"]):
            check(wanted in said, f"{name}: {how[0]} says '{wanted}': {done.out}")
        fleet = asked("fleet", trace)
        suspects = [one for group in fleet["groups"] for one in group["suspects"]]
        if judged["verdict"] == "broken":
            screen = " ".join(run("fleet", trace).out.split())
            check(not suspects and len(fleet["broken_hosts"]) == 1, f"{name}, {how[0]}: fleet: {fleet['broken_hosts']}, {suspects}")
            for wanted in ("BROKEN", first["what"], "do: " + first["remedy"]):
                check(wanted in screen, f"{name}, {how[0]}: fleet says '{wanted}': {screen}")
        else:
            wrong = {one["device"] for one in judged["findings"] if one["health"] == "fail" and one["device"]}
            check(wrong <= {one["device"] for one in suspects}, f"{name}, {how[0]}: {wrong} in fleet's {suspects}")
            causes = {one["causes"][0]["cause"] for one in suspects}
            known = {why["cause"] for one in judged["findings"] if one["health"] == "fail" for why in one["explanations"]}
            check(causes and causes <= known, f"{name}, {how[0]}: fleet has {causes}, check {known}")
    check(len(set(told.values())) == 1, f"{name}: {told}")


def healthy_node(at):
    """Of GPUs of which some are joined by more than one switch, none is a suspect."""
    for how in (COMMANDS[0], ("matrix", "--only", "pairs,latency", "--access", "write")):
        trace = os.path.join(at, f"healthy-{how[0]}.h5")
        done = run(*how, "--device", "sim:node8", "--rounds", 3, "--force", "-o", trace)
        fleet = run("fleet", trace)
        check(done.code == 0 and fleet.code == 0 and "no suspect" in fleet.out, f"a healthy node, {how[0]}: {done.code} {fleet.out}")


def two_faults(at):
    """A cause explains a figure only up to its own size: a clock that is 4 % low is not why memory is a quarter slow."""
    like = os.path.join(SOURCE, "data/devices/sick/slow-memory.json")
    spec = written(os.path.join(at, "two.json"), {"like": like, "hardware": {"shader_clock_mhz": 1900}})
    judged = asked("check", "--device", "sim:" + spec)
    causes = {one["metric"]: [why["cause"] for why in one["explanations"]] for one in judged["findings"] if one["health"] == "fail"}
    check(causes.get("memory_read_rate") == ["slow_memory", "clock_cap"] and causes.get("compute_fp32_rate") == ["clock_cap"], f"two faults: {causes}")


with folder() as at, concurrent.futures.ThreadPoolExecutor(2) as at_once:
    two_faults(at)
    simulated = os.path.join(at, "simulated.h5")
    run("check", "--device", "sim:h200", "-o", simulated)
    todo = [at_once.submit(shown, trace) for trace in (*(os.path.join(SOURCE, "data/traces", kept + ".h5") for kept in KEPT), simulated)]
    todo += [at_once.submit(node, name, at) for name in NODES] + [at_once.submit(healthy_node, at)]
    todo += [at_once.submit(sickness, spec, at) for spec in SICK] + [at_once.submit(soaks, spec, at) for spec in SOAKED]
    for one in todo:
        one.result()
check.finish()
