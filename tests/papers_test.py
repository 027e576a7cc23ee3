"""docs/dev/papers.md says what the kept traces and the papers' tables say, and its commands are commands.

    papers_test.py NPGPU
"""
import csv
import json
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
sys.path += [os.path.join(HERE, "e2e"), os.path.join(ROOT, "plots")]
from npgpu.study.partitions import evaluate  # noqa: E402
from npgpu_run import Checks, run  # noqa: E402

check = Checks()
with open(os.path.join(ROOT, "docs/dev/papers.md"), encoding="utf-8") as file:
    PAGE = file.read()


def asked(command, trace, *options):
    made = run(command, os.path.join(ROOT, "data/traces", trace), *options, "--json")
    check(made.code == 0, f"npgpu {command} {trace}: {made.err}")
    return json.loads(made.out)


def printed(name):
    """Rows of a paper's table, comments and the heading left out."""
    with open(os.path.join(ROOT, "data/papers", name), encoding="utf-8") as file:
        return [row for row in csv.reader(line for line in file if not line.startswith("#"))][1:]


def row(first, *cells):
    """A row of a table that begins so has these cells; numbers as the page writes them."""
    found = [line for line in PAGE.splitlines() if line.startswith(f"| {first} |")]
    wanted = " | ".join(str(c) for c in cells)
    check(len(found) == 1 and found[0].split(" | ", 1)[1].removesuffix(" |").startswith(wanted), f"{first}: {wanted}; the page: {found}")


def said(text):
    check(" ".join(text.split()) in " ".join(PAGE.split()), f"the page does not say: {text}")


def digits(value, places=3):
    """So many significant digits, as the page has them."""
    text = f"{value:.{places}g}"
    return f"{float(text):.0f}" if "e" in text else text


def copies():
    rates = dict(printed("004_rates.csv"))
    series = asked("report", "h200.h5")["transfers"]

    def rate(pattern, direction, memory, mib, **more):
        for one in series:
            c = one["case"]
            if (c["module"], c["pattern"], c["direction"], c["memory"]) == ("cudaMemcpy", pattern, direction, memory) and \
                    all(c[k] == v for k, v in more.items()):
                return next(p["rate_bytes_per_s"]["value"] / 1e9 for p in one["lanes"][0]["points"] if p["bytes"] == mib << 20)
        check(False, f"the trace has no {pattern} {direction} {memory}")
        return 0

    blocking = {"async": 0, "timing": "host"}
    gated = {"async": 1, "timing": "gated"}
    within = 2 * rate("stream", "d2d", "device", 192, cache="cold", **gated)
    for first, old, new, places in (("to the device, pinned", rates["to the device pinned"], rate("stream", "h2d", "pinned", 192, **gated), 3),
                                    ("from the device, pinned", rates["from the device pinned"], rate("stream", "d2h", "pinned", 192, **gated), 3),
                                    ("from the device, paged, 64 MiB", rates["from the device paged"], rate("stream", "d2h", "pageable", 64, **blocking), 3),
                                    ("ping-pong, pinned", rates["ping-pong pinned"], rate("pingpong", "h2d", "pinned", 64, **blocking), 3),
                                    ("ping-pong, paged", rates["ping-pong paged"], rate("pingpong", "h2d", "pageable", 64, **blocking), 3),
                                    ("within the device, read and write counted", rates["within the device with read and write counted"], within, 4)):
        row(first, old, f"{new:.1f}" if places == 3 else f"{new:.0f}", f"{new / float(old):.0f}")
    table2 = printed("004_table2_sdk.csv")
    paged = rate("stream", "h2d", "pageable", 64, **blocking)
    row("to the device, paged, 64 MiB", f"{float(table2[-1][3]) / 1000:.2f}", f"{paged:.1f}", f"{1000 * paged / float(table2[-1][3]):.0f}")
    apart = [abs(float(netpipe) / float(sdk) - 1) for _, sdk, _, netpipe in table2]
    said(f"differ by {100 * apart[0]:.1f} % at 16 MiB")
    check(apart == sorted(apart, reverse=True), "and by less beyond")
    said(f"At 192 MiB they fall to {rate('stream', 'h2d', 'pageable', 192, **blocking):.1f} GB/s")
    both = next(s for s in series if s["case"]["pattern"] == "duplex" and s["case"]["module"] == "cudaMemcpy")
    said(f"bring {both['together']['points'][-1]['rate_bytes_per_s']['value'] / 1e9:.0f} GB/s")


def products():
    rates = dict(printed("004_rates.csv"))
    table = {row[0]: row[1:] for row in printed("004_table3_gemm.csv")}
    for at, name in ((0, "SGEMM"), (1, "DGEMM")):
        points = {p["n"]: p["rate_per_s"]["value"] / 1e9 for s in asked("report", "h200_gemm.h5")["probes"]
                  if (s["case"]["type"], s["case"]["space"]) == (("fp32", "fp64")[at], "global") for p in s["points"]}
        row(f"{name} where 64 divides n, where 8 does", f"{table['64'][at]}, {table['8'][at]}", f"{points[8192]:.0f}, {points[8184]:.0f}")
    new = parameters("h200_gemm.h5")
    row("with copies over without, SGEMM and DGEMM", f"{rates['SGEMM with copies over without']}, {rates['DGEMM with copies over without']}",
        f"{new['gemm fp32 copied in turn']:.2f}, {new['gemm fp64 copied in turn']:.2f}")
    said(f"SGEMM keeps {new['gemm fp32 copied in panels']:.2f} and DGEMM {new['gemm fp64 copied in panels']:.2f} of its rate")
    said(f"DGEMM reaches {new['gemm fp64 reached']:.0f} % of the tensor cores' rate")
    classes = run("report", os.path.join(ROOT, "data/traces/h200_gemm.h5")).out
    said("4 reaches 0.97 of what the others do, 2 reaches 0.91 and odd sizes 0.67")
    check(re.search(r"1 to 16: 0\.974 times.*1: 0\.67.*2: 0\.91.*4: 0\.966 .*8 to 64: 1\.00", " ".join(classes.split())), "classes")
    row("host, 8 threads, SGEMM and DGEMM", f"{rates['SGEMM of the host by 8 threads']}, {rates['DGEMM of the host by 8 threads']}")


def parameters(trace):
    device = next(d for d in asked("derive", trace)["devices"] if d["device"] == "cuda:0")
    return {p["name"]: p["estimate"]["value"] for p in device["parameters"]}


def streams_and_corners():
    costs = parameters("h200_streams.h5")
    t_sc = {gpu: 1000 * float(value) for gpu, figure, value in printed("000_stream_creation.csv") if figure == "t_sc ms"}
    row("to create a stream", *(f"{t_sc[gpu]:.0f}" for gpu in ("GTX 280", "GTX 480", "GTX 580")), f"{costs['t_sc']:.1f}")
    said(f"{100 * (costs['duplex slow-down h2d'] - 1):.0f} and {100 * (costs['duplex slow-down d2h'] - 1):.0f} % slower")
    gaps, calls = (sorted(costs[f"{what} {way}"] for way in ways) for what, ways in (("gap", ("h2d", "d2h")), ("issue", ("h2d", "kernel", "d2h"))))
    said(f"({gaps[0]:.1f} and {gaps[-1]:.1f} us)")
    said(f"({calls[0]:.1f} to {calls[-1]:.1f} us)")

    old = {(gpu, figure): value for gpu, figure, value in printed("002_four_corners.csv")}
    new = parameters("h200_rounds.h5")
    gpus = ("GTS 250", "GTX 260", "GTX 470")
    for first, figure, name, how in (("computing power, GFLOP/s", "Cp AA", "P", lambda v: f"{v:.0f}"), ("multiprocessors", "SM", "SM", lambda v: f"{v:.1f}"),
                                     ("threads that fill a pipe (N_PPipe)", "N_PPipe", "N_PPipe", lambda v: f"{v:.1f}"),
                                     ("instructions in a pipe (L_Pipe)", "L_Pipe", "L_Pipe", lambda v: f"{v:.1f}"),
                                     ("memory, read and written, GB/s", "B AA", "B", lambda v: f"{v:.0f}"),
                                     ("blocks that fill memory (N_MINBl)", "N_MINBl", "N_MINBl", lambda v: f"{v:.0f}")):
        value = new[name] / 1e9 if name in ("P", "B") else new[name]
        then = [old[gpu, figure] for gpu in gpus]
        then = [f"{float(v):.0f}" if name == "P" else f"{float(v):.1f}" if name == "B" else v for v in then]
        row(first, *then, how(value))
    said(f"Computing power grew {new['P'] / 1e9 / float(old['GTX 260', 'Cp AA']):.0f} times over the GTX 260, memory "
         f"{new['B'] / 1e9 / float(old['GTX 260', 'B AA']):.0f} times")
    said(f"fastest shapes {new['N_MINBl streaming']:.0f} do")
    said(f"{new['FMA latency']:.1f} cycles and {new['ports']:.1f} ports")
    for first, names in (("latency of shared memory", ["shared cycles"]), ("latency of constants, first and next cache", ["constant L1 cycles", "constant L1.5 cycles"]),
                         ("latency of memory", ["memory cycles"])):
        found = [line for line in PAGE.splitlines() if line.startswith(f"| {first} |")]
        check(len(found) == 1 and found[0].split(" | ")[-1].removesuffix(" |") == ", ".join(f"{new[n]:.0f}" for n in names), f"{first}: {found}")
    chip = parameters("h200_onchip.h5")
    found = next(line for line in PAGE.splitlines() if line.startswith("| best over first rung"))
    check(found.endswith(f"| {chip['gain of the ladder']:.1f} |"), found)
    said(f"climbs to {chip['B sum reached']:.0f} % of memory's rate")


def tables_of_the_partition_method():
    """What the printed tables say of each other."""
    quality = {(r[0], r[1]): [float(v) for v in r[2:]] for r in printed("003_table3_quality.csv")}
    check(len(quality) == 6, f"Table III: {quality}")
    for part in ("training", "test"):
        check(all(abs(rmse - mse ** 0.5) < 1e-15 for mse, rmse in zip(quality[part, "MSE"], quality[part, "RMSE"])), f"RMSE of {part}")
    best = {int(r[0]): r[1] for r in printed("003_table4_optimum.csv")}
    types = [(int(size), int(fp32), int(fp64), word) for size, fp32, fp64, word in printed("003_table5_fp32.csv")]
    check(all(word == {1: "same", 2: "half"}[fp64 // fp32] for _, fp32, fp64, word in types), "Table V compares what it prints")
    check(all(best[size] == str(fp64) for size, _, fp64, _ in types), "Table V has the FP64 numbers of Table IV")
    check([word for size, *_, word in types if size > 10**5].count("half") == 7 and len(types) == 17, "half at 7 of 16 sizes above 1e5, as the text says")


def partitions():
    studies = {s["type"]: s for s in asked("report", "h200_partition.h5")["partition_studies"]}
    study = studies["fp64"]
    sizes = {s["size"]: s for s in study["sizes"]}
    table4 = {int(r[0]): r[1] for r in printed("003_table4_optimum.csv")}
    for first, size in (("10^5 unknowns", 10**5), ("10^6", 10**6), ("10^7", 10**7), ("10^8", 10**8)):
        row(first, table4[size], sizes[size]["best"])
    table1 = {int(r[0]): float(r[5]) for r in printed("003_table1_overlapped.csv")}
    said(f"took {table1[4 * 10**7]:.1f} ms at 4*10^7 unknowns and take {sizes[4 * 10**7]['sum_us'] / 1000:.1f} ms now")
    table2 = {int(r[0]): [float(c) for c in r[1:]] for r in printed("003_table2_size_1e6.csv")}
    points = {p["streams"]: p for p in sizes[10**6]["points"]}
    said(f"from {table2[32][3]:.2f} ms to {points[32]['overhead_us'] / 1000:.2f} ms")
    best = max(points.values(), key=lambda p: p["gain_us"])
    said(f"gained {max(r[4] for r in table2.values()):.3f} of {table2[2][1]:.3f} ms, and gain {best['gain_us'] / 1000:.3f} of {points[1]['time_us'] / 1000:.3f}")
    said(f"R2 {study['quality']['sum']['r2']:.4f}")
    said(f"R2 {study['quality']['big']['r2']:.3f}")
    scored = {s["type"]: s for s in evaluate(list(studies.values()))["studies"]}["fp64"]["models"]
    regret = {m["model"]: m["regret"] for m in scored}
    theirs, ours = regret["Veneva & Imamura 2025"], regret["simulator"]
    said(f"it costs {100 * theirs['median']:.1f} % over the best in the median and {100 * theirs['p95']:.1f} %")
    said(f"choice costs {100 * ours['median']:.1f} % and {100 * ours['p95']:.1f} %")
    validated = {m["model"]: m["cross_validated"] for m in scored}
    theirs, ours = validated["Veneva & Imamura 2025"], validated["simulator"]
    said(f"these are {100 * theirs['median']:.1f} % and {100 * theirs['p95']:.1f} %, and {100 * ours['median']:.1f} % and {100 * ours['p95']:.1f} %")


def commands():
    """Every npgpu command of the page plans, where a device is asked for, on a simulated one; every figure is one."""
    figures = set(os.listdir(os.path.join(ROOT, "plots/npgpu/plots")))
    lines = [line.strip().split("  #")[0].split(" > ")[0] for line in PAGE.splitlines() if re.match(r"    (npgpu|python3) ", line)]
    check(len(lines) > 20, f"{len(lines)} commands")
    for line in lines:
        words = shlex.split(line)
        if words[1] == "-m":
            told = subprocess.run([sys.executable, *words[1:3], "--help"], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "plots")}).stdout
            check(told and all(w in told for w in words if w.startswith("--")), f"options: {line}")
            check(all(os.path.exists(os.path.join(ROOT, w)) for w in words if w.startswith("data/")), line)
            continue
        if words[0] == "python3":
            check(f"{words[2]}.py" in figures, line)
            check(all(os.path.exists(os.path.join(ROOT, w)) for w in words if w.startswith("data/")), line)
            continue
        if words[1] in ("derive", "predict"):
            check(run(words[1], "--help").code == 0, line)
            known = run(words[1], "--help").out
            check(all(w in known for w in words if w.startswith("--")), f"options: {line}")
            continue
        device = "host" if "host" in words else "sim:h200"
        words = ["simulated" if w == "cudaMemcpy" else w for w in words[1:] if w != "--append"]
        planned = run(*(device if w.startswith("cuda:") else w for w in words), *([] if "--device" in words else ["--device", device]), "--dry-run")
        check(planned.code == 0 or "no BLAS is there" in planned.err, f"{line}: {planned.code} {planned.err}")


copies()
products()
streams_and_corners()
tables_of_the_partition_method()
partitions()
commands()
check.finish()
