"""The figures of probes: numbers by hand, and pictures that say what they show.

    probe_plots_test.py NPGPU
"""
import json
import os
import subprocess
import tempfile

from figures import PROGRAM, check, script  # first: it finds what follows
import numpy as np  # noqa: E402
from npgpu.plots import laws, levels, loader  # noqa: E402


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


def words(where, name, *arguments):
    out = os.path.join(where, "words.svg")
    drawn = script(name, *arguments, "-o", out)
    check(drawn.returncode == 0 and not drawn.stderr, f"{name}: {drawn.stderr}")
    with open(out, encoding="utf-8") as file:
        return file.read()


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

    made = os.path.join(folder, "made.h5")
    ran = subprocess.run([PROGRAM, "probe", "compute,bandwidth", "--device", "sim:h200", "--quiet", "--output", made],
                         capture_output=True, text=True)
    check(ran.returncode == 0, f"the program made no trace: {ran.stderr}")
    text = words(folder, "corners", made)
    check("SIMULATED" in text and "compute" in text and "GOP/s" in text and "Threads of a block" in text, "corners' words")
    check("GB/s" in words(folder, "corners", made, "--probe", "bandwidth"), "corners --probe bandwidth")

    patterns = os.path.join(folder, "patterns.h5")
    ran = subprocess.run([PROGRAM, "probe", "onchip,access,divergence,product", "--device", "sim:h200", "--quiet", "--output", patterns], capture_output=True, text=True)
    check(ran.returncode == 0, f"the program made no trace of patterns: {ran.stderr}")
    shared = next(p for p in loader.load([patterns], "probes") if p.case["space"] == "shared")
    ((label, called, points),) = laws.curves_of(shared)
    check(called == "Stride (accesses)" and [x for x, _ in points] == [0, 1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 64], f"by growing strides: {points}")
    check([law["times_by_law"] for _, law in points] == [1, 1, 2, 1, 4, 1, 8, 16, 1, 32, 1, 32], "the law is gcd(stride, 32)")
    text = words(folder, "laws", patterns)
    check("SIMULATED" in text and "Stride (accesses)" in text and "Offset (B)" in text and "Ways of the branch" in text, "laws' words")
    text = words(folder, "onchip", patterns)
    check("SIMULATED" in text and "L1" in text and "L2" in text and "bytes a cycle and unit" in text, "onchip's words")

    for name, arguments, word in [("laws", [made], "holds no probe with a law"), ("onchip", [made], "holds no usable point"),
                                  ("levels", [made], "holds no probe latency"), ("corners", [chase], "holds no probe compute"),
                                  ("corners", [os.path.join(folder, "nosuch.h5")], "no such file")]:
        ended = script(name, *arguments, "-o", os.path.join(folder, "bad.png"))
        check(ended.returncode == 2 and word in ended.stderr and "Traceback" not in ended.stderr, f"{name}: {ended.stderr}")
        check(not os.path.exists(os.path.join(folder, "bad.png")), f"{name} left a picture")
check.finish()
