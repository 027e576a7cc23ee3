"""The figures of probes: numbers by hand, the same rates as the program's, pictures that say what they show.

    probe_plots_test.py NPGPU
"""
import json
import os
import subprocess
import tempfile

from figures import PROGRAM, check, script  # first: it finds what follows
import h5py  # noqa: E402
import numpy as np  # noqa: E402
import levels  # noqa: E402
import loader  # noqa: E402


POINT = np.dtype([("blocks", "u4"), ("threads", "u4"), ("ilp", "u4"), ("access_bytes", "u4"), ("bytes", "u8"),
                  ("one_block_per_sm", "u4"), ("work", "f8"), ("first_sample", "u8"), ("samples", "u4"), ("stop", "i4")])
SAMPLE = np.dtype([("point", "u4"), ("trial", "u4"), ("intact", "i4"), ("repeats", "u8"), ("host_us", "f8"),
                   ("device_us", "f8"), ("cycles", "f8")])


def write_chase(path, steps, wrong=None):
    """A chase whose loads take steps[bytes] ns at 2 cycles a ns; 4 loads a repeat, 10 repeats a trial, seven trials."""
    with h5py.File(path, "w") as file:
        for name, value in {"schema_name": "npgpu-trace", "schema_version": "1.1", "hostname": "node17"}.items():
            file.attrs[name] = value
        group = file.create_group("probes/0000")
        for name, value in {"probe": "latency", "device": "cuda:0", "operation": "chase", "type": "int32",
                            "form": "dependent", "space": "global", "device_name": "Test GPU"}.items():
            group.attrs[name] = value
        points, samples = [], []
        for i, (size, ns) in enumerate(steps.items()):
            points.append((1, 1, 1, 8, size, 0, 4, len(samples), 7, 1))
            samples += [(i, t, 0 if size == wrong else 1, 10, np.nan, ns * 40e-3, ns * 80) for t in range(7)]
        group["points"] = np.array(points, dtype=POINT)
        group["samples"] = np.array(samples, dtype=SAMPLE)


def words(where, name, *arguments):
    out = os.path.join(where, "words.svg")
    drawn = script(name, *arguments, "-o", out)
    check(drawn.returncode == 0 and not drawn.stderr, f"{name}: {drawn.stderr}")
    with open(out, encoding="utf-8") as file:
        return file.read()


with tempfile.TemporaryDirectory(prefix="npgpu-plots-") as folder:
    chase = os.path.join(folder, "chase.h5")
    write_chase(chase, {8192: 40, 4096: 20, 16384: 90}, wrong=16384)
    (probe,) = loader.probes_of([chase], lambda p: True, "probe")
    size, low, median, high = levels.curve_of(probe, cycles=False)
    check(size.tolist() == [4096, 8192], "by growing sets, without those whose results were wrong")
    check(np.allclose(median, [20, 40]) and np.allclose(low, [20, 40]) and np.allclose(high, median), f"ns of a load: {median}")
    check(np.allclose(levels.curve_of(probe, cycles=True)[2], [40, 80]), "cycles of a load")
    text = words(folder, "levels.py", chase)
    check("Test GPU on node17: latency of memory" in text and "ns of a load" in text and "4 KiB" in text, "levels.py's words")
    check("cycles of a load" in words(folder, "levels.py", chase, "--cycles"), "--cycles")

    made = os.path.join(folder, "made.h5")
    ran = subprocess.run([PROGRAM, "probe", "compute,bandwidth", "--device", "sim:h200", "--quiet", "--output", made],
                         capture_output=True, text=True)
    check(ran.returncode == 0, f"the program made no trace: {ran.stderr}")
    says = json.loads(subprocess.run([PROGRAM, "report", made, "--json"], capture_output=True, text=True).stdout)["probes"]
    probes = loader.Trace(made).probes
    check(len(probes) == len(says) > 1, "as many probes as the program says")
    for probe, told in zip(probes, says):
        ours = [p["work"] / (probe.each(p)[0][1] * 1e-6) for p in probe.points]
        check(np.allclose(ours, [p["rate_per_s"]["value"] for p in told["points"]], rtol=1e-12), told["title"] + ": rates")
    text = words(folder, "corners.py", made)
    check("SIMULATED" in text and "compute" in text and "GOP/s" in text and "threads of a block" in text, "corners.py's words")
    check("GB/s" in words(folder, "corners.py", made, "--probe", "bandwidth"), "corners.py --probe bandwidth")

    for name, arguments, word in [("levels.py", [made], "holds no probe latency"), ("corners.py", [chase], "holds no probe compute"),
                                  ("corners.py", [os.path.join(folder, "nosuch.h5")], "no such file")]:
        ended = script(name, *arguments, "-o", os.path.join(folder, "bad.png"))
        check(ended.returncode == 2 and word in ended.stderr and "Traceback" not in ended.stderr, f"{name}: {ended.stderr}")
        check(not os.path.exists(os.path.join(folder, "bad.png")), f"{name} left a picture")
check.finish()
