"""ReFrame itself runs contrib/reframe on simulated devices: a healthy node passes, with its figures and references; a sick
one fails with the reason; a figure below its reference fails too. Skipped where ReFrame is not installed."""
import importlib.util
import json
import os
import subprocess
import sys

from npgpu_run import PROGRAM, SOURCE, Checks, folder, run, written

if importlib.util.find_spec("reframe") is None:
    print("skipped: ReFrame is not installed (pip install reframe-hpc)")
    sys.exit(77)

check = Checks()


def reframe(where, name, **settings):
    """(exit code, what it printed, {performance variable: (value, reference, lower, upper, unit)})"""
    report = os.path.join(where, name + ".json")
    chosen = [word for key, value in {"npgpu": PROGRAM, **settings}.items() for word in ("-S", f"NodeCheck.{key}={value}")]
    main = "import sys; from reframe.frontend.cli import main; sys.exit(main())"
    ran = subprocess.run([sys.executable, "-c", main, "-c", os.path.join(SOURCE, "contrib", "reframe"), "-r", "--prefix",
                          os.path.join(where, name), "--report-file", report, "--nocolor", *chosen],
                         capture_output=True, text=True, cwd=where, env={**os.environ, "HOME": where, "RFM_ENABLE_RESULTS_STORAGE": "0"})
    try:
        with open(report, encoding="utf-8") as file:
            case, = json.load(file)["runs"][0]["testcases"]
    except (OSError, ValueError) as error:
        check(False, f"{name}: no report: {error}; {ran.stdout}{ran.stderr}")
        check.finish()
    found = {key.rsplit(":", 1)[-1]: value for key, value in (case.get("perfvalues") or {}).items()}
    return ran.returncode, ran.stdout + ran.stderr, found


with folder() as where:
    told = run("check", "--level", "1", "--device", "sim:h200", "--json")
    check(told.code == 0, told.err)
    good = os.path.join(where, "good.json")
    written(good, told.out)
    findings = {one["metric"]: one for one in json.loads(told.out)["findings"]}

    code, said, figures = reframe(where, "healthy", device="sim:h200", good_node=good)
    check(code == 0 and "PASSED" in said, said)
    value, reference, lower, upper, unit = figures["h2d_rate_sim_h200"][:5]
    check(abs(value / findings["h2d_rate"]["value"] - 1) < 0.02 and unit == "B/s", f"h2d_rate: {figures['h2d_rate_sim_h200']}")
    check((reference, lower, upper) == (findings["h2d_rate"]["value"], -0.05, None), "a rate's reference: no less")
    check(figures["launch_time_sim_h200"][2:5] == [None, 0.05, "us"], "a time's reference: no more")
    rates = {m for m, one in findings.items() if one["unit"] in ("B/s", "FLOP/s", "OP/s", "us", "ns") and one["value"] is not None}
    check(len(figures) == len(rates) > 8, f"{len(figures)} figures of {len(rates)}")

    sick = os.path.join(SOURCE, "data", "devices", "sick", "half-the-lanes.json")
    code, said, _ = reframe(where, "sick", device=f"sim:{sick}")
    check(code != 0 and "the node is slow" in said and "x8" in said, said)

    raised = json.loads(told.out)
    for one in raised["findings"]:
        if one["metric"] == "h2d_rate":
            one["value"] *= 1.2
    written(good, raised)
    code, said, _ = reframe(where, "below", device="sim:h200", good_node=good)
    check(code != 0 and "h2d_rate_sim_h200" in said and "performance" in said, said)

    code, said, _ = reframe(where, "refused", device="host")
    check(code != 0 and "check judges GPUs" in said, said)
check.finish()
