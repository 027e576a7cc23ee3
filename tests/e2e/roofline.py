"""npgpu roofline on simulated devices, whose ridge is their spec's: screen, JSON, kernels by counts and by profile, what is
refused, the page, the picture, old traces with points between the roofs, and the roofs of characterize."""
import json
import os

from npgpu_run import SOURCE, Checks, below, folder, python, run, written

check = Checks()
with open(os.path.join(SOURCE, "data", "devices", "h200.json"), encoding="utf-8") as file:
    SPEC = json.load(file)
CORES = SPEC["hardware"]["sms"] * SPEC["hardware"]["shader_clock_mhz"] * 1e6
READ = 2 * SPEC["links"]["d2d"]["rate_gb_s"] * 1e9 * SPEC["hardware"]["memory_read_share"]
FMA = 2 * SPEC["hardware"]["lanes"] * CORES
FP64 = 2 * SPEC["hardware"]["instructions_fp64_lanes"] * CORES
MMA = 2 * SPEC["hardware"]["tensor_fp16"] * SPEC["hardware"]["mma_share"] * CORES
LEVELS = {"memory": READ, "L2": SPEC["hardware"]["l2_gb_s"] * 1e9, "shared": 32 * 4 * CORES}
WGMMA = 2 * SPEC["hardware"]["tensor_fp16"] * CORES
PROFILE = '''==PROF== Connected to process 7
"ID","Kernel Name","gpu__time_duration.sum","dram__bytes.sum","lts__t_bytes.sum","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
"","","us","Gbyte","Gbyte","inst"
"0","stencil(float*)","1,000","4.0","5","1,000,000,000"
"1","gemm","2,000","0.5","2","60,000,000,000"
"2","stencil(float*)","1,000","4.0","5","1,000,000,000"
'''


def near(value, truth, share=0.01):
    return abs(value / truth - 1) < share


def rooflines(path, *words):
    return json.loads(run("roofline", path, "--json", *words).out)["devices"]


with folder() as where:
    at = below(where)
    # One trial of a hundred takes a fifth longer on sim:h200: in a visit of two trials that is a wide interval.
    steady = "sim:" + at("steady.json")
    with open(at("steady.json"), "w", encoding="utf-8") as file:
        json.dump({"like": os.path.join(SOURCE, "data", "devices", "h200.json"),
                   "noise": {**SPEC["noise"], "outlier_rate": 0}}, file)

    # Roofs are the rates of the spec, and a ridge is the quotient of two.
    one = run("probe", "bandwidth,compute,tensor,onchip", "--device", steady, "--output", at("all.h5"), "--quiet")
    check(one.code == 0, f"probe: {one.err}")
    device = rooflines(at("all.h5"))[0]
    roofs = {r["name"]: r for r in device["roofs"]}
    check(near(roofs["memory"]["rate_per_s"]["value"], READ) and near(roofs["fp32"]["rate_per_s"]["value"], FMA), f"{roofs}")
    check([r["name"] for r in device["roofs"]][:3] == ["memory", "L2", "shared"], "memories, the slowest first")
    ridges = {(r["arithmetic"], r["memory"]): r["intensity"] for r in device["ridges"]}
    for name, top in (("fp32", FMA), ("fp64", FP64), ("tensor fp16 mma", MMA), ("tensor fp16 wgmma", WGMMA)):
        for memory, read in LEVELS.items():
            ridge, truth = ridges[name, memory], top / read
            check(near(ridge["value"], truth) and ridge["low"] < truth * 1.005 and ridge["high"] > truth * 0.995, f"{name}: {ridge}, {truth}")
    check(not device["missing"], f"{device['missing']}")

    screen = run("roofline", at("all.h5")).out
    check("SIMULATED roofline of sim:" in screen and "of L2" in screen, screen)
    check(json.loads(run("report", at("all.h5"), "--json").out)["rooflines"] == [{**device, "kernels": []}], "the report's JSON has it")
    page = at("page.html")
    check(run("report", at("all.h5"), "--html", page).code == 0, "the page")
    with open(page, encoding="utf-8") as file:
        html = file.read()
    check("Roofline of sim:" in html and "ridge at" in html, "the page has the figure")

    # Kernels of the user's own. 80 GB take 17.4 ms at 4607 GB/s.
    written(at("kernels.csv"), PROFILE)
    own = rooflines(at("all.h5"), "--counts", "mine=2TFLOP,80GB,40ms", "--counts", "thin=8e9,80GB,20ms,fp32", "--profile",
                    at("kernels.csv"))[0]["kernels"]
    kernels = {k["name"]: k for k in own}
    check([k["name"] for k in own] == ["mine", "thin", "stencil(float*)", "gemm"], f"{list(kernels)}")
    check(kernels["mine"]["bound"] == "fp32" and near(kernels["mine"]["share"], 2e12 / FMA / 0.04), f"{kernels['mine']}")
    check(kernels["thin"]["bound"] == "memory" and near(kernels["thin"]["share"], 80e9 / READ / 0.02), f"{kernels['thin']}")
    stencil = kernels["stencil(float*)"]
    check(stencil["launches"] == 2 and near(stencil["intensity"], 0.5, 1e-9) and stencil["bound"] == "memory", f"{stencil}")
    check({u["roof"] for u in stencil["uses"]} == {"memory", "L2", "fp32"}, f"{stencil}")
    said = run("roofline", at("all.h5"), "--profile", at("kernels.csv")).out
    check("memory bounds it" in said and "times as fast" in said, said)
    beyond = run("roofline", at("all.h5"), "--counts", "wrong=2TFLOP,80GB,1ms").out
    check("not those of this device" in beyond, beyond)
    # A product that keeps tensor cores busy by wgmma is not beyond a roof that mma made: without wgmma the documented rate is the roof.
    run("probe", "tensor,bandwidth", "--device", steady, "--operation", "read,mma", "--output", at("mma.h5"), "--quiet")
    busy = ("--counts", f"product={0.9 * WGMMA / 1e12}TFLOP,1GB,1s,tensor-fp16")
    by_peak = rooflines(at("mma.h5"), *busy)[0]["kernels"][0]
    check(MMA < 0.9 * WGMMA and by_peak["bound"] == "tensor fp16 peak" and near(by_peak["share"], 0.9, 0.05), f"{by_peak}")
    check(rooflines(at("all.h5"), *busy)[0]["kernels"][0]["bound"] == "tensor fp16 wgmma", "the roof that was measured")
    unknown = run("roofline", at("all.h5"), "--counts", "half=2TFLOP,80GB,40ms,fp16").out
    check("no roof of fp16" in unknown, unknown)

    # A kernel's name is text of others.
    written(at("odd.csv"), PROFILE.replace("gemm", "\x1b[31mred\u202e|`x`"))
    odd = run("roofline", at("all.h5"), "--profile", at("odd.csv")).out
    check("\x1b" not in odd and "\u202e" not in odd and "red" in odd, repr(odd[-400:]))

    # What cannot be is said in a sentence.
    for words, text in ((("--counts", "mine"), "write NAME=FLOP,BYTES,TIME"), (("--counts", "a=1,2"), "is no kernel"),
                        (("--counts", "a=1TFLIP,2GB,1ms"), "no number of operations"), (("--counts", "a=-1,2GB,1ms"), "no number of operations"),
                        (("--counts", "a=1T,2GB,1ms,fp128"), "none of fp32"), (("--counts", "a=0,0,1ms"), "moves no byte"),
                        (("--counts", "a=1T,2GB,0"), "too small"), (("--profile", at("none.csv")), "none.csv"),
                        (("--profile", at("all.h5")), "Kernel Name"), (("--device", "cuda:7"), "no roof of 'cuda:7'")):
        refused = run("roofline", at("all.h5"), *words)
        check(refused.code == 2 and text in refused.err and refused.err.count("\n") == 1, f"{words}: {refused.code} {refused.err}")
    run("transfer", "--device", "sim:h200", "--sizes", "8", "--output", at("copies.h5"), "--quiet")
    none = run("roofline", at("copies.h5"))
    check(none.code == 2 and "holds no roof" in none.err, none.err)

    # A roof that is missing is said; points between the roofs, which older versions measured, are in the table of any probe.
    run("probe", "compute", "--device", "sim:h200", "--type", "fp32", "--output", at("alone.h5"), "--quiet")
    alone = rooflines(at("alone.h5"))[0]
    check(len(alone["missing"]) == 1 and "npgpu probe bandwidth" in alone["missing"][0], f"{alone['missing']}")
    old = os.path.join(SOURCE, "data", "traces", "h100_roofline.h5")
    shown = run("report", old, "--all")
    check(shown.code == 0 and "operations a byte" in shown.out and "G work/s" in shown.out, shown.out[:2000])
    axes = run("probe", "roofline", "--device", "sim:h200")
    check(axes.code == 2 and axes.err.count("\n") == 1, axes.err)

    # Tables and the picture.
    import npgpu
    table = npgpu.load(old).probes
    check(set(table[table["probe"] == "roofline"]["intensity"]) == {2 ** k for k in range(6, 21)}, "the column")
    drawn = python("-m", "npgpu.plots", "roofline", at("all.h5"), "-o", at("roofline.svg"))
    check(drawn.returncode == 0, drawn.stderr)
    written(at("own.json"), run("roofline", at("all.h5"), "--json", "--counts", "mine=2TFLOP,80GB,40ms").out)
    named = python("-m", "npgpu.plots", "roofline", at("own.json"), "-o", at("own.svg"))
    with open(at("own.svg"), encoding="utf-8") as file:
        picture = file.read()
    check(named.returncode == 0 and "mine" in picture and "SIMULATED" in picture, named.stderr)

    # A quick characterize has the roofs.
    run("characterize", "--quick", "--device", steady, "--output", at("node.h5"), "--quiet")
    quick = rooflines(at("node.h5"))[0]
    check({"memory", "fp32", "fp64", "tensor fp16 wgmma"} <= {r["name"] for r in quick["roofs"]} and not quick["missing"], f"{quick}")
    refused = run("characterize", "--with", "energy,sound", "--device", "sim:h200", "--dry-run")
    check(refused.code == 2 and "is not energy" in refused.err, refused.err)

check.finish()
