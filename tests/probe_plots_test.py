"""The figures of probes: numbers by hand, and pictures that say what they show.

    probe_plots_test.py NPGPU
"""
import json
import os
import tempfile

from figures import HERE, check, refused, run, script, traced, words  # first: it finds what follows
import numpy as np  # noqa: E402
from npgpu.plots import figure, gemm, gemm_cores, laws, levels, loader  # noqa: E402


def write_chase(path, steps):
    """A report of a chase whose loads take steps[bytes] ns at 2 cycles a ns; None has no usable result."""
    def rate(ns, cycles):
        return {k: None if ns is None else f * cycles / ns for k, f in (("value", 1e9), ("low", 0.98e9), ("high", 1.02e9))}

    points = [{"bytes": size, "rate_per_s": rate(ns, 1), "rate_per_cycle": rate(ns, 0.5e-9)} for size, ns in steps.items()]
    probe = {"title": "latency cuda:0 chase", "simulated": False, "device_name": "Test GPU", "limit_per_s": None, "units": 1,
             "case": {"probe": "latency", "device": "cuda:0", "operation": "chase", "type": "int32", "form": "dependent",
                      "space": "global"}, "points": points}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"document": "npgpu-report", "version": 3, "run": {"hostname": "node17"}, "transfers": [], "jobs": [],
                   "probes": [probe]}, file)


def write_products(path, types):
    """A report of products on a host of 4 cores: {type: {(cores, n): GFLOP/s}}."""
    def probe(kind, rates):
        points = [{"m": n, "n": n, "k": n, "blocks": cores, "panels": 1,
                   "rate_per_s": {"value": r * 1e9, "low": r * 0.99e9, "high": r * 1.01e9}} for (cores, n), r in rates.items()]
        classes = [{"least_divisor": 8, "largest_divisor": 16, "sizes": 1, "relative": {"value": 0.5}, "rate_per_s": 4e10},
                   {"least_divisor": 32, "largest_divisor": 64, "sizes": 1, "relative": {"value": 1}, "rate_per_s": 8e10}]
        return {"title": f"gemm host fma {kind}", "simulated": False, "device_name": "Test CPU", "limit_per_s": 1e11, "units": 4,
                "library": "A BLAS (liba.so)", "classes": classes, "points": points,
                "case": {"probe": "gemm", "device": "host", "operation": "fma", "type": kind, "form": "streaming", "space": "host"}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"document": "npgpu-report", "version": 3, "run": {"hostname": "node17"}, "transfers": [], "jobs": [],
                   "probes": [probe(*item) for item in types.items()]}, file)


with tempfile.TemporaryDirectory(prefix="npgpu-plots-") as folder:
    chase = os.path.join(folder, "chase.json")
    write_chase(chase, {8192: 40, 4096: 20, 16384: None})
    (probe,) = loader.load([chase], "probes")
    size, low, median, high = levels.curve_of(probe, cycles=False)
    check(size.tolist() == [4096, 8192], "by growing sets, without those whose results were wrong")
    check(np.allclose(median, [20, 40]) and np.allclose(low, median / 1.02) and np.allclose(high, median / 0.98),
          f"ns of a load: {low} {median} {high}")
    check(np.allclose(levels.curve_of(probe, cycles=True)[2], [40, 80]), "cycles of a load")
    text = words(folder, "levels", chase)
    check("Test GPU on node17: latency of memory" in text and "Latency (ns)" in text and "Working set" in text and "4 KiB" in text, "levels' words")
    check("Latency (cycles)" in words(folder, "levels", chase, "--cycles"), "--cycles")

    probes = traced(os.path.join(folder, "made.h5"), "probe", "compute,bandwidth", "--device", "sim:h200")
    text = words(folder, "corners", probes)
    check("SIMULATED" in text and "computing power" in text and "GOP/s" in text and "Threads of a block" in text, "corners' words")
    check("GB/s" in words(folder, "corners", probes, "--probe", "bandwidth"), "corners --probe bandwidth")

    # The whole chain: what it prints is what the program says of the same job.
    costs = run("streams", "--experiment", "overheads", "--device", "sim:h200", "--append", "--output", probes, "--quiet")
    check(costs.code == 0, costs.err)
    text = words(folder, "chain", probes, "--blocks", "1000")
    job = {"bytes-in": "64MiB", "bytes-out": "64MiB", "flops": 16777216, "bytes-moved": "128MiB", "bytes-written": "64MiB", "blocks": 1000,
           "threads": 256, "in-flight": 1}
    said = json.loads(run("predict", probes, *[f"--{name}={value}" for name, value in job.items()], "--json").out)
    check("SIMULATED" in text and all(part in text for part in said["answer"].split(": ", 1)), f"chain's answer: {said['answer']}")
    check(f">{figure.digits(said['kernel']['likely_us'])}<" in text and said["kernel"]["bound"] in text, f"chain's kernel: {said['kernel']['likely_us']}")
    sms = next(p for p in json.loads(run("derive", probes, "--json").out)["devices"][0]["parameters"] if p["name"] == "SM")
    check(f">{sms['estimate']['value']:.4g}<" in text and "W_bus" in text, "chain's parameters")

    patterns = traced(os.path.join(folder, "patterns.h5"), "probe", "onchip,access,divergence,product,occupancy", "--device", "sim:h200")
    shared = next(p for p in loader.load([patterns], "probes") if p.case["space"] == "shared")
    ((label, called, points),) = laws.curves_of(shared)
    check(called == "Stride (accesses)" and [x for x, _ in points] == [0, 1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 64], f"by growing strides: {points}")
    check([law["times_by_law"] for _, law in points] == [1, 1, 2, 1, 4, 1, 8, 16, 1, 32, 1, 32], "the law is gcd(stride, 32)")
    text = words(folder, "laws", patterns)
    check("SIMULATED" in text and "Stride (accesses)" in text and "Offset (B)" in text and "Ways of the branch" in text, "laws' words")
    text = words(folder, "onchip", patterns)
    check("SIMULATED" in text and "L1" in text and "L2" in text and "bytes per cycle and SM" in text, "onchip's words")

    products = os.path.join(folder, "products.json")
    write_products(products, {"fp32": {(1, 64): 10, (1, 128): 20, (4, 128): 76, (2, 128): 39, (4, 72): 40, (4, 512): 80},
                              "fp64": {(4, 128): 30}})
    first, second = gemm.products([products])
    (size, (cores, _, rate, _)) = gemm_cores.curve_of(first)
    check(size == (128, 128, 128) and cores.tolist() == [1, 2, 4] and np.allclose(rate, [20e9, 39e9, 76e9]),
          f"the largest product that one core had, by growing cores: {size} {cores} {rate}")
    check(gemm_cores.curve_of(second) is None, "one number of cores is no curve")
    check(gemm.classes_of(first) == [("divided by 32 to 64", 32, 64), ("divided by 8 to 16", 8, 16)], f"the fastest class first: {gemm.classes_of(first)}")
    n, _, rate, _ = gemm.rates(first, lambda p: p["blocks"] == 4)
    check(n.tolist() == [72, 128, 512] and np.allclose(rate, [40e9, 76e9, 80e9]), f"by growing n: {n} {rate}")
    text = words(folder, "gemm", products)
    check("Test CPU on node17: products of matrices" in text and "divided by 8 to 16" in text and "by A BLAS; dashed" in text, "gemm's words")
    text = words(folder, "gemm_cores", products)
    check("fp32, m 128" in text and "fp64" not in text and "Cores" in text, "gemm_cores' words: only what was measured over cores")
    copied = traced(os.path.join(folder, "gemm.h5"), "probe", "gemm,reduction", "--device", "sim:tesla-s1070,sim:h200")
    text = words(folder, "gemm", copied)
    check("SIMULATED" in text and "copied in panels" in text and "divided by 32" in text, "gemm's words of a simulated device")
    text = words(folder, "ladder", copied)
    check("ladder of reductions" in text and "Read (GB/s)" in text and "1x" in text, "ladder's words")
    told = script("gemm_tables", copied, "--papers", os.path.join(HERE, "..", "data", "papers"))
    check("SIMULATED Tesla S1070" in told.stdout and "| 32 | 32 | 0.713 | 246 | 0.713 | 245.67 |" in told.stdout and
          "| 8 | 8, 4, 2, 1 | 0.693 | 48.5 | 0.693 | 48.46 |" in told.stdout, f"Table III comes back out: {told.stdout}{told.stderr}")
    told = script("gemm_tables", products, "--papers", folder)
    check(told.returncode == 2 and "is not the paper's table" in told.stderr, f"{told.stderr}")

    for name, arguments, word in [("gemm", [probes], "holds no products"), ("gemm_cores", [copied], "no product of matrices on one core"),
                                  ("ladder", [probes], "holds no usable point of a probe reduction"), ("laws", [probes], "holds no probe with a law"), ("onchip", [probes], "holds no usable point"),
                                  ("levels", [probes], "holds no probe latency"), ("corners", [chase], "holds no probe compute"), ("chain", [chase], "is a report"), ("chain", [products], "is a report"),
                                  ("corners", [os.path.join(folder, "nosuch.h5")], "no such file")]:
        refused(word, name, *arguments, "-o", os.path.join(folder, "bad.png"))
        check(not os.path.exists(os.path.join(folder, "bad.png")), f"{name} left a picture")
check.finish()
