"""One trace, one answer: report, check, compare and fleet give the same key figures to the last digit, and check, report,
fleet and the Nagios line the same verdict, cause and remedy of every sickness."""
import glob
import json
import os

from npgpu_run import SOURCE, Checks, folder, run, written

check = Checks()
KEPT = ("h200_node", "h200_run_a", "h200_check", "h100_quick_a", "h100_function")
SICK = sorted(glob.glob(os.path.join(SOURCE, "data/devices/sick/*.json")))


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


def sickness(spec, at):
    name = os.path.basename(spec)[:-5]
    trace = os.path.join(at, name + ".h5")
    judged = asked("check", "--device", "sim:" + spec, "--force", "-o", trace)
    said = run("check", "--trace", trace)
    line = run("check", "--trace", trace, "--exit-codes", "nagios", "--quiet").out
    report = run("report", trace).out
    bad = [one for one in judged["findings"] if one["health"] == "fail" and one["if_failed"] == judged["verdict"]] if judged["verdict"] in ("slow", "broken") else []
    suspects = [one for group in asked("fleet", trace)["groups"] for one in group["suspects"]]
    if not bad:
        check(judged["verdict"] == "not judged" and not suspects, f"{name}: {judged['verdict']}, fleet: {suspects}")
        return
    first = bad[0]["explanations"][0]
    check(len(suspects) == 1 and suspects[0]["verdict"] == judged["verdict"], f"{name}: {judged['verdict']}, fleet: {suspects}")
    cause = suspects[0]["causes"][0] if suspects else {"cause": "", "text": ""}
    check(cause["cause"] == first["cause"] and first["what"] in cause["text"] and first["remedy"] in cause["text"],
          f"{name}: check says {first}, fleet {cause}")
    screen = " ".join(said.out.split())
    for wanted in (judged["verdict"].upper(), first["what"], "do: " + first["remedy"]):
        check(wanted in screen, f"{name}: check's screen says '{wanted}': {said.out}")
    if name != "ecc-errors":  # which has two
        check(len(said.out.splitlines()) <= 12, f"{name}: a fault in twelve lines: {said.out}")
    check(f"HEALTH   {judged['verdict'].upper()}" in report or "HEALTH" not in report, f"{name}: report says otherwise: {report[:600]}")
    check(f": {judged['verdict']}, 1 GPU" in line.split("|")[0] and line.startswith("NPGPU CRITICAL"), f"{name}: {line}")


def two_faults(at):
    """A cause explains a figure only up to its own size: a clock that is 4 % low is not why memory is a quarter slow."""
    like = os.path.join(SOURCE, "data/devices/sick/slow-memory.json")
    spec = written(os.path.join(at, "two.json"), {"like": like, "hardware": {"shader_clock_mhz": 1900}})
    judged = asked("check", "--device", "sim:" + spec)
    causes = {one["metric"]: [why["cause"] for why in one["explanations"]] for one in judged["findings"] if one["health"] == "fail"}
    check(causes.get("memory_read_rate") == ["slow_memory", "clock_cap"] and causes.get("compute_fp32_rate") == ["clock_cap"], f"two faults: {causes}")


with folder() as at:
    two_faults(at)
    simulated = os.path.join(at, "simulated.h5")
    run("check", "--device", "sim:h200", "-o", simulated)
    for kept in KEPT:
        shown(os.path.join(SOURCE, "data/traces", kept + ".h5"))
    shown(simulated)
    for spec in SICK:
        sickness(spec, at)
check.finish()
