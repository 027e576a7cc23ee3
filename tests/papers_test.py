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
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
sys.path += [os.path.join(HERE, "e2e"), os.path.join(ROOT, "plots")]
from npgpu.study.partitions import evaluate, held_out  # noqa: E402
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
    times = [{p["bytes"]: p["time_us"]["value"] for p in one["lanes"][0]["points"]} for memory in ("pageable", "pinned") for one in series
             if (one["case"]["module"], one["case"]["pattern"], one["case"]["memory"]) == ("cudaMemcpy", "pingpong", memory)]
    ratios = sorted(times[0][size] / times[1][size] for size in times[0].keys() & times[1].keys())
    said(f"they take {ratios[0]:.1f} to {ratios[-1]:.1f} times as long")
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
    device = next(d for d in asked("derive", trace)["devices"] if d["device"].startswith(("cuda:0", "sim:")))
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
                                     ("blocks that fill memory (N_MINBl)", "N_MINBl", "N_MINBl", lambda v: f"{v:.0f}"),
                                     ("full blocks over one-thread blocks (W_bus)", "W_bus", "W_bus", lambda v: f"{v:.1f}"),
                                     ("one-thread blocks in flight (T_delay)", "T_delay", "T_delay", lambda v: f"{v:.0f}")):
        value = new[name] / 1e9 if name in ("P", "B") else new[name]
        then = [old[gpu, figure] for gpu in gpus]
        then = [f"{float(v):.0f}" if name == "P" else f"{float(v):.1f}" if name == "B" else v for v in then]
        row(first, *then, how(value))
    device = next(d for d in asked("derive", "h200_rounds.h5")["devices"] if d["device"] == "cuda:0")
    threads = {p["name"]: p["estimate"] for p in device["parameters"] if p["name"].endswith(" threads")}
    for rate in ("Cp_AA", "Cp_OA", "B_AA", "B_OA"):
        e = threads[f"{rate} threads"]
        last = f", over {e['low']:.0f}" if e["low"] > 1 else ""
        row(f"threads of a block from which {rate} stays", *(old[gpu, "threads of a block from which " + rate.replace("_", " ")] for gpu in gpus), f"{e['value']:.0f}{last}")
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


def half_for_fp32():
    text = " ".join(run("report", os.path.join(ROOT, "data/traces/h200_partition.h5"), "--case", "partitions").out.split())
    counts = re.search(r"number of streams is fp64's at (\d+) of (\d+) sizes, half of it at (\d+)", text)
    costs = re.search(r"cost fp32 ([\d.]+) % in the median and ([\d.]+) % at most over its best, as many ([\d.]+) % in the median and ([\d.]+) %", text)
    check(counts and costs and "half for fp32 is no better" in text, f"half for fp32: {text[-900:]}")
    said(f"half at {counts[3]} of {counts[2]} sizes and as many at {counts[1]}")
    said(f"cost fp32 {costs[1]} % in the median and {costs[2]} % at most. As many cost {costs[3]} % and {costs[4]} %")
    parts = held_out(next(s for s in asked("report", "h200_partition.h5")["partition_studies"] if s["type"] == "fp64"))["big"]
    table3 = {(r[0], r[1]): float(r[3]) for r in printed("003_table3_quality.csv")}
    said(f"R2 {table3['training', 'R2']:.3f} and {table3['test', 'R2']:.3f}. On an H200 they have {parts['training']['R2']:.3f} and {parts['test']['R2']:.3f}")


def measured(folder, command, device, *options):
    """What npgpu finds of a simulated card, by one trial: there is no noise."""
    trace = os.path.join(folder, f"{device.split(':')[1]}.h5")
    made = run(command, "--device", device, "--schedule", "classic", "--trials", "1", "--rounds", "1", "--output", trace, "--quiet", "--force", *options)
    check(made.code == 0, f"{command} {device}: {made.err}")
    return trace


def cards(folder):
    """The papers' GPUs, simulated: found as printed, to the last digit, or the page gives the reason."""
    old = {(gpu, figure): value for gpu, figure, value in printed("002_four_corners.csv")}
    gpus = ("GTS 250", "GTX 260", "GTX 470")
    found = {gpu: parameters(measured(folder, "probe", "sim:" + gpu.replace(" ", "").lower(), "compute,bandwidth")) for gpu in gpus}

    def as_printed(first, figure, name, scale=1, places=None):
        """Numbers with the digits that the paper prints, or so many places."""
        cells = []
        for gpu in gpus:
            text = old[gpu, figure] if places is None else f"{float(old[gpu, figure]):.{places}f}"
            cells.append(f"{text}, {found[gpu][name] / scale:.{len(text.partition('.')[2])}f}")
        row(first, *cells)
        return [tuple(cell.split(", ")) for cell in cells]

    same = [as_printed("P, 24-bit multiply-adds, GFLOPS", "Cp AA", "P int24", 1e9, 1), as_printed("SM", "SM", "SM int24"),
            as_printed("N_PPipe", "N_PPipe", "N_PPipe int24"), as_printed("L_Pipe", "L_Pipe", "L_Pipe int24"),
            as_printed("B, GB/s", "B AA", "B", 1e9, 1), as_printed("N_MINBl", "N_MINBl", "N_MINBl"),
            as_printed("W_bus", "W_bus", "W_bus"), as_printed("T_delay", "T_delay", "T_delay")]
    check([pair for line in same for pair in line if pair[0] != pair[1]] == [("98.37", "98.33")], "only a slip of the paper differs")
    said(f"its B_AO over its B_OO is {float(old['GTX 470', 'B AO']) / float(old['GTX 470', 'B OO']):.2f}")
    for rate in ("Cp AA", "Cp OA", "B AA", "B OA"):
        name = rate.replace(" ", "_")
        as_printed(f"threads, {name}", f"threads of a block from which {rate}", f"{name} threads" + (" int24" if rate.startswith("Cp") else ""))

    t_sc = {gpu: 1000 * float(value) for gpu, figure, value in printed("000_stream_creation.csv") if figure == "t_sc ms"}
    cells = []
    for gpu, printed_us in t_sc.items():
        us = parameters(measured(folder, "streams", "sim:" + gpu.replace(" ", "").lower(), "--experiment", "overheads"))["t_sc"]
        check(abs(us / printed_us - 1) < 0.001, f"{gpu}: {us} us to create a stream")
        cells.append(f"{printed_us:.0f}, {us:.0f}")
    row("to create a stream: printed, found", *cells)


def card_of_allada(folder):
    rates = dict(printed("004_rates.csv"))
    device = "sim:tesla-s1070"
    copies_of = measured(folder, "transfer", device, "--pattern", "stream,pingpong", "--memory", "pageable,pinned", "--direction", "h2d,d2h",
                         "--sizes", "16MiB,32MiB,64MiB,192MiB", "--repeats", "50")
    series = json.loads(run("report", copies_of, "--json").out)["transfers"]

    def rate(pattern, direction, memory, mib=192):
        one = next(s for s in series if (s["case"]["pattern"], s["case"]["direction"], s["case"]["memory"]) == (pattern, direction, memory))
        return next(p["rate_bytes_per_s"]["value"] / 1e9 for p in one["lanes"][0]["points"] if p["bytes"] == mib << 20)

    for first, name, pattern, direction, memory in (("copies to it, pinned", "to the device pinned", "stream", "h2d", "pinned"),
                                                    ("copies from it, pinned", "from the device pinned", "stream", "d2h", "pinned"),
                                                    ("copies from it, paged", "from the device paged", "stream", "d2h", "pageable"),
                                                    ("round trips, pinned", "ping-pong pinned", "pingpong", "h2d", "pinned"),
                                                    ("round trips, paged", "ping-pong paged", "pingpong", "h2d", "pageable")):
        text = rates[name]
        again = f"{rate(pattern, direction, memory):.{len(text.partition('.')[2])}f}"
        check(again == text, f"{first}: {again}")
        row(first, text, again)
    paged = [(float(netpipe) / 1000, rate("stream", "h2d", "pageable", int(size) >> 20)) for _, _, size, netpipe in printed("004_table2_sdk.csv")]
    row("copies to it, paged, 16, 32 and 64 MiB", ", ".join(f"{p:.2f}" for p, _ in paged), ", ".join(f"{f:.2f}" for _, f in paged))
    said(f"grows by {100 * (paged[-1][0] / paged[0][0] - 1):.0f} % from 16 to 64 MiB")
    to, back = (float(rates[f"{way} the device pinned"]) for way in ("to", "from"))
    paged_back = float(rates["from the device paged"])
    said(f"{2 / (1 / to + 1 / back):.2f} and {2 / (1 / paged[-1][0] + 1 / paged_back):.2f} GB/s")
    within = json.loads(run("report", measured(folder, "transfer", device, "--direction", "d2d", "--sizes", "192MiB", "--repeats", "50"), "--json").out)["transfers"][0]
    row("copies within it", rates["within the device with read and write counted"], f"{2e-9 * within['lanes'][0]['points'][0]['rate_bytes_per_s']['value']:.0f}")
    new = parameters(measured(folder, "probe", device, "gemm", "--shape", "square=8128"))
    table = {r[0]: [float(v) for v in r[1:]] for r in printed("004_table3_gemm.csv")}
    left = []
    for at, name, type_, size in ((0, "SGEMM", "fp32", 4), (1, "DGEMM", "fp64", 8)):
        row(f"{name} with copies", rates[f"{name} with copies over without"], f"{new[f'gemm {type_} copied in turn']:.2f}")
        check(abs(new[f"gemm {type_}"] / 1e9 / table["64"][at] - 1) < 1e-3, f"{name}: {new[f'gemm {type_}']}")
        alone, matrix = 2 * 8128**3 / table["64"][at] / 1e9, size * 8128**2 / 1e9
        left.append(alone / (alone + 3 * matrix / paged[-1][0] + matrix / paged_back))
    said(f"paged memory, {left[0]:.2f} and {left[1]:.2f} would remain")


def cards_of_veneva(folder):
    table1 = {int(r[0]): float(r[5]) for r in printed("003_table1_overlapped.csv")}
    table2 = {int(r[0]): [float(c) for c in r[1:]] for r in printed("003_table2_size_1e6.csv")}
    table4 = {int(r[0]): int(r[1]) for r in printed("003_table4_optimum.csv")}

    def sizes_of(device):
        trace = measured(folder, "partition", device, "--type", "fp64")
        return {s["size"]: s for s in json.loads(run("report", trace, "--json").out)["partition_studies"][0]["sizes"]}

    sizes = sizes_of("sim:rtx2080ti")
    for size, text in ((4 * 10**6, "4*10^6"), (4 * 10**7, "4*10^7")):
        row(f"what streams hide, {text} unknowns, ms", f"{table1[size]:.3f}", f"{sizes[size]['sum_us'] / 1000:.3f}")
    times = {p["streams"]: p["time_us"] / 1000 for p in sizes[10**6]["points"]}
    row("10^6 unknowns, not streamed, ms", f"{table2[8][1]:.3f}", f"{times[1]:.3f}")
    row("10^6 unknowns, 8 streams, ms", f"{table2[8][0]:.3f}", f"{times[8]:.3f}")
    other = [size for size, one in sizes.items() if one["best"] != table4[size]]
    row("best numbers of streams as printed, of 25 sizes", 25, 25 - len(other))
    said("The other six sizes are from 4*10^4 to 10^6")
    check((len(other), min(other), max(other)) == (6, 4 * 10**4, 10**6), f"other than printed: {other}")
    said(f"and {sum(one['best'] == table4[size] for size, one in sizes_of('sim:a5000').items())} of 25 do")


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
half_for_fp32()
with tempfile.TemporaryDirectory(prefix="npgpu-papers-") as scratch:
    cards(scratch)
    card_of_allada(scratch)
    cards_of_veneva(scratch)
commands()
check.finish()
