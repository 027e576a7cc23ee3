"""What compare finds of planted slow-downs on simulated devices, and what it says of pairs without one.

    compare.py PROGRAM [--pairs N] [--keep FOLDER]

The device is that of data/devices/h200.json, whose costs and speed drift from visit to visit as those of an H200 did.
Every run has a seed of its own, and noise hides a slow-down in one pair of some twenty: with one pair, a second is
measured where the first misses. --keep: traces stay there, and those that are there are not measured again.
"""
import argparse
import itertools
import json
import os
import shutil
import sys

from npgpu_run import SOURCE, Checks, folder, library, run, written

h5py, numpy = library("h5py"), library("numpy")
parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--pairs", type=int, default=1)
parser.add_argument("--keep")
options = parser.parse_args()
check = Checks()

LIKE = os.path.join(SOURCE, "data/devices/h200.json")
SPEC = json.load(open(LIKE))
# Read on one NVIDIA H200 (characterize --quick, calls): from visit to visit the mean over a third of a curve scatters
# by 0.2 % where bytes or instructions take the time, and by 4 % where calls and latencies do.
NOISE = {**SPEC["noise"], "drift": 0.002, "cost_drift": 0.04}

DONE, USAGE, SLOWER, CLOCK, BROKEN, OTHER = 0, 2, 3, 5, 6, 7


PLANTS = {"unchanged": {},
          "slower_link": {"links": {"h2d": {"pinned": {"rate_gb_s": SPEC["links"]["h2d"]["pinned"]["rate_gb_s"] / 1.03}}}},
          "slower_clock": {"hardware": {"shader_clock_mhz": 0.98 * SPEC["hardware"]["shader_clock_mhz"]}},
          "slower_launch": {"hardware": {"call_launch_us": 1 + SPEC["hardware"]["call_launch_us"]}},  # of 3.7
          "idle_multiprocessor": {"hardware": {"idle_sms": 1}},
          "fewer_multiprocessors": {"hardware": {"sms": SPEC["hardware"]["sms"] - 1}}}
WHOLE = ("characterize", "--quick")
KERNELS = ("probe", "compute")  # --quick has few shapes


def measured(where, name, plant, seed, command=WHOLE):
    trace = os.path.join(where, f"{name}{seed}.h5")
    if os.path.exists(trace):
        return trace
    file = written(os.path.join(where, "device.json"), {"like": LIKE, "noise": {**NOISE, "seed": seed}, **PLANTS[plant]})
    done = run(*command, "--device", "sim:" + file, "--rounds", "6", "--quiet", "--output", trace)
    # Blocks that were to have a multiprocessor each are wrong where one is idle.
    check(done.code == 0 or plant == "idle_multiprocessor", f"{command}: {done.code} {done.err[-300:]}")
    return trace


def slower_of(found):
    """Titles of cases and names of figures; "all calls" where a class is slower as a whole."""
    alone = [one.get("title") or one["name"] for one in found["cases"] + found["figures"] if one["verdict"] == "slower"]
    return alone + ["all " + one["class"] for one in found["classes"] if any(s["verdict"] == "slower" for s in one["shared"])]


def compared(a, b, *more):
    result = run("compare", a, b, "--json", *more)
    return result.code, json.loads(result.out)


def count(where, plant, command, number, found_it):
    """In how many pairs it was found. Seeds of A are 1, 2, ..., those of B begin at 1000 * number."""
    hits = 0
    for pair in range(1, max(2, options.pairs) + 1):
        if pair > options.pairs and hits:
            break
        a = measured(where, command[0], "unchanged", pair, command)
        b = measured(where, plant, plant, 1000 * number + pair, command)
        code, found = compared(a, b)
        slower = slower_of(found)
        hits += found_it(code, slower)
        if not found_it(code, slower) or (plant == "unchanged" and slower):
            print(f"  pair {pair}: exit {code}, slower: {slower}")
    print(f"{plant} ({command[0]}): {hits} of {options.pairs} pairs")
    sys.stdout.flush()
    return hits


with folder() as temporary:
    where = options.keep or temporary
    os.makedirs(where, exist_ok=True)
    enough = options.pairs * 19 // 20 if options.pairs >= 20 else options.pairs

    check(count(where, "unchanged", WHOLE, 1, lambda code, slower: code == DONE) >= options.pairs, "unchanged pairs exit with 0")
    check(count(where, "slower_link", WHOLE, 2, lambda code, slower: code == SLOWER and any("h2d" in name or "host to device" in name for name in slower)
                and "copy, device to host" not in slower) >= enough, "3 % of a link is found, and where")
    check(count(where, "slower_clock", WHOLE, 3, lambda code, slower: code == CLOCK and any("compute" in name for name in slower)) >= enough,
          "2 % of a clock is found, and called the clock")
    check(count(where, "slower_launch", WHOLE, 4, lambda code, slower: code == SLOWER and any("launch" in name for name in slower)) >= enough,
          "1 us a launch is found")
    check(count(where, "idle_multiprocessor", KERNELS, 5, lambda code, slower: code in (SLOWER, BROKEN) and any("compute" in name for name in slower)) >= enough,
          "one of 132 multiprocessors is found")

    # Runs of one H200; and of another, by a program whose blocks each read L2 in an order of their own.
    kept = {name: os.path.join(SOURCE, f"data/traces/h200_run_{name}.h5") for name in "abcde"}
    for a, b in itertools.permutations("cde", 2):  # the host of d was fast, and that of e slow
        code, found = compared(kept[a], kept[b])
        check(code == DONE and not slower_of(found), f"runs {a} and {b}: {code} {slower_of(found)}")
    code, found = compared(kept["c"], kept["b"])
    slower = [f["name"] for f in found["figures"] if f["verdict"] == "slower"]
    check(code == DONE and found["outcome"] == "between-cards" and "bandwidth of l2" in slower, f"two GPUs: {code} {slower}")
    check(compared(kept["c"], kept["b"], "--other-hardware")[0] == SLOWER, "two GPUs, and differences between them count")
    said = run("compare", kept["c"], kept["b"]).out
    check(said.startswith("  TWO CARDS") and "Between these two cards, not over time" in said, said[:300])

    # Nothing that was measured is called the same because its time is no time.
    if h5py:
        for value in (0.0, float("nan"), -5.0, float("inf")):
            bad = os.path.join(where, "bad.h5")
            shutil.copy(kept["d"], bad)
            with h5py.File(bad, "r+") as file:
                series = next(s for s in file["transfers"].values() if s.attrs["timing"] in ("host", b"host"))
                samples = series["samples"][:]
                samples["host_us"] = value
                series["samples"][:] = samples
            code, found = compared(kept["c"], bad)
            named = [c["title"] for c in found["cases"] if c["verdict"] == "no-figure"]
            check(code == BROKEN and len(named) == 1, f"times of {value}: {code} {named}")

        # A slow-down of a kept run is found, and named in the sentence; tests/bench/planted.py has many.
        slow = os.path.join(where, "slow.h5")
        shutil.copy(kept["d"], slow)
        with h5py.File(slow, "r+") as file:
            for series in file["transfers"].values():
                case = {key: value.decode() if isinstance(value, bytes) else value for key, value in series.attrs.items()}
                if (case["direction"], case["memory"], case["pattern"], case["timing"]) == ("h2d", "pinned", "stream", "gated"):
                    visits, samples = series["visits"][:], series["samples"][:]
                    large = numpy.isin(samples["visit"], numpy.flatnonzero(visits["bytes"] >= 1 << 20))
                    samples["device_us"][large] *= 1.05
                    series["samples"][:] = samples
        planted = run("compare", kept["c"], slow)
        check(planted.code == SLOWER and "B is slower than A in: H2D pinned, async copies from " in planted.out,
              f"5 % of large copies: {planted.code} {planted.out[1500:2300]}")

    # Runs against a run.
    runs = os.path.join(where, "runs")
    os.makedirs(runs, exist_ok=True)
    for seed in range(1, 5):
        measured(runs, "kernels", "unchanged", 100 + seed, KERNELS)
    again = measured(where, "again", "unchanged", 105, KERNELS)
    code, found = compared(runs, again)
    check(code == DONE, f"a folder of runs: {code} {slower_of(found)}")
    files = sorted(os.path.join(runs, name) for name in os.listdir(runs) if name.endswith(".h5"))
    check(len(files) == 4, f"four runs: {files}")
    listed = run("compare", *files, "--", again, "--json")
    check(json.loads(listed.out)["cases"] == found["cases"], "the same as its files before --")
    clock = measured(where, "clock", "slower_clock", 106, KERNELS)
    check(compared(runs, clock)[0] == CLOCK, "and a slower clock against them")
    check(run("compare", files[0], clock, "--tolerance", "5%").code == DONE, "tolerated if asked")
    for arguments in (files, [files[0]], files[:2] + ["--"], files[:1] + ["--", again, "--", again], [runs, os.path.join(where, "empty")]):
        check(run("compare", *arguments).code == USAGE, f"unclear sides: {arguments}")

    # Other hardware is refused; what is refused has no verdicts.
    fewer = measured(where, "fewer", "fewer_multiprocessors", 107, KERNELS)
    refused = run("compare", files[0], fewer)
    check(refused.code == OTHER and "131 multiprocessors in B" in refused.out and "Key figures" not in refused.out, refused.out)
    code, found = compared(files[0], fewer)
    check(code == OTHER and found["outcome"] == "other-hardware" and "cases" not in found, "in JSON, too")
    check(run("compare", files[0], fewer, "--other-hardware").code != OTHER, "unless asked for")

    # As tables for GitHub, and no wider than a terminal.
    table = run("compare", files[0], clock, "--markdown", "--points").out
    check("| figure | at | A | B | time | own, 95 % | verdict |" in table and "| --- |" in table, table[:600])
    for columns in (80, 100):
        shown = run("compare", files[0], clock, "--points", "--all", env={"COLUMNS": str(columns)}).out
        wide = [line for line in shown.splitlines() if len(line) > columns and not line.startswith(("  A ", "  B "))]
        check(not wide and "SIMULATED" in shown, f"at {columns} columns: {wide[:3]}")
check.finish()
