"""npgpu energy on simulated devices, whose spec is the truth: screen, JSON, tables, what is refused, what is resumed."""
import json
import os

from npgpu_run import SOURCE, Checks, below, folder, python, run

check = Checks()
with open(os.path.join(SOURCE, "data", "devices", "h200.json"), encoding="utf-8") as file:
    TRUTH = json.load(file)["hardware"]


def figures(path):
    return {f["work"]: f for f in json.loads(run("report", path, "--json").out)["energy_figures"]}


with folder() as where:
    at = below(where)
    # What is measured is what the spec states, within the interval that is printed.
    one = run("energy", "--device", "sim:h200", "--output", at("all.h5"), "--quiet")
    check(one.code == 0, f"energy: {one.err}")
    found = figures(at("all.h5"))
    for work, key in (("read memory (random)", "read_global"), ("read L2 (random)", "read_l2"), ("h2d", "h2d"),
                      ("fma fp32 (random)", "fma_fp32"), ("fma fp64 (random)", "fma_fp64"),
                      ("wgmma fp16 (random)", "wgmma_fp16")):
        each, truth = found[work]["each_pj"], TRUTH[f"energy_{key}_pj"]
        check(abs(each["value"] / truth - 1) < 0.1 and each["low"] < 1.1 * truth and each["high"] > 0.9 * truth,
              f"{work}: {each}, the spec states {truth}")
    idle = found["idle"]["power_w"]
    check(abs(idle["value"] / TRUTH["energy_idle_w"] - 1) < 0.02, f"idle: {idle}")
    screen = run("report", at("all.h5"), "--all").out
    check("SIMULATED energy sim:h200" in screen and "pJ each" in screen, screen)

    # Operands are part of the question.
    run("energy", "--device", "sim:h200", "--work", "read", "--space", "global", "--operands", "zeros,random", "--output",
        at("operands.h5"), "--quiet")
    both = figures(at("operands.h5"))
    share = both["read memory (zeros)"]["each_pj"]["value"] / both["read memory (random)"]["each_pj"]["value"]
    check(abs(share / TRUTH["energy_zeros_share"] - 1) < 0.05, f"zeros take {share} of what random numbers do")

    # A run that was stopped goes on.
    first = run("energy", "--device", "sim:h200", "--work", "read,fma", "--rounds", "2", "--output", at("on.h5"), "--quiet")
    again = run("energy", "--device", "sim:h200", "--work", "read,fma", "--rounds", "2", "--output", at("on.h5"), "--quiet",
                "--resume")
    check(first.code == 0 and again.code == 0 and "kept from before" in again.err + again.out, again.err)

    # What cannot be is said in a sentence.
    for words, text in ((("--device", "sim:gtx470"), "states no energy"), (("--device", "sim:h200", "--work", "swim"), "swim"),
                        (("--device", "sim:h200", "--window", "10ms"), "window"),
                        (("--device", "sim:h200", "--work", "peer"), "two GPUs")):
        refused = run("energy", *words, "--output", at("none.h5"))
        check(refused.code in (2, 77) and text in refused.err, f"{words}: {refused.code} {refused.err}")
    check(not os.path.exists(at("none.h5")), "nothing is written")

    # A GPU without a host's counter: this machine's own, whatever it has.
    host = run("energy", "--device", "host", "--work", "idle,fma", "--rounds", "1", "--output", at("host.h5"), "--quiet")
    check(host.code == 0 or (host.code == 77 and "cannot be read" in host.err), f"host: {host.code} {host.err}")

    # compare holds what each work takes against another run's; a trace takes as much as itself.
    said = run("compare", at("all.h5"), at("all.h5"))
    check(said.code == 0 and "Energies were compared, and nothing that takes time.\n" in said.out, said.out + said.err)
    same = json.loads(run("compare", at("all.h5"), at("all.h5"), "--json").out)["energies"]
    check(len(same) > 5 and all(e["change"] == 0 and e["verdict"] in ("same", "cannot-tell") for e in same), same)

    # Tables, the real trace, the picture.
    import npgpu
    table = npgpu.load(at("all.h5")).energies
    check(len(table) == 21 and set(table["unit"]) == {"W", "pJ"}, f"{len(table)} rows, {set(table['unit'])}")
    real = figures(os.path.join(SOURCE, "data", "traces", "h200_energy.h5"))
    check(140 < real["read memory (random)"]["each_pj"]["value"] < 150, real["read memory (random)"])
    light = figures(os.path.join(SOURCE, "data", "traces", "h200_read.h5"))
    # Plain kernels on the same card: 83.4 to 84.0 and 129.5 to 136.2 pJ.
    check(81 < light["read memory (zeros)"]["each_pj"]["value"] < 86, light["read memory (zeros)"])
    check(128 < light["read memory (random)"]["each_pj"]["value"] < 138, light["read memory (random)"])
    check(real["wgmma fp16 (random)"]["clock_lowered"] and not real["fma fp32 (random)"]["clock_lowered"], "clocks")
    drawn = python("-m", "npgpu.plots", "energy", at("operands.h5"), "-o", at("energy.png"))
    check(drawn.returncode == 0 and os.path.getsize(at("energy.png")) > 5000, drawn.stderr)

    # With characterize, on its screen.
    run("characterize", "--quick", "--with", "energy", "--device", "sim:h200", "--output", at("node.h5"), "--quiet")
    check("energy each" in run("report", at("node.h5")).out, "the screen has energies")
    check(run("characterize", "--with", "sound", "--device", "sim:h200", "--dry-run").code == 2, "--with sound")

check.finish()
