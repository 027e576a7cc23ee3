"""Table III of Allada et al. 2009, with the classes of sizes that `npgpu report` finds in a trace next to the printed ones:
Markdown on standard output.

--papers names the folder of the printed table (data/papers), of a Tesla S1070. Rates are GFLOP/s."""
import argparse
import csv
import os

from npgpu.plots import figure, gemm, loader

DIVISORS = (64, 32, 16, 8, 4, 2, 1)


def printed(folder):
    """{divisor: {type: GFLOPS as printed}}; empty without a folder."""
    if not folder:
        return {}
    path = os.path.join(folder, "004_table3_gemm.csv")
    try:
        with open(path, encoding="utf-8") as file:
            rows = list(csv.reader(line for line in file if not line.startswith("#")))[1:]
        return {int(row[0]): {"fp32": float(row[1]), "fp64": float(row[2])} for row in rows}
    except (OSError, ValueError, IndexError) as error:
        raise loader.BadTrace(f"{path}: is not the paper's table ({error})") from None


def table(series, paper):
    """Rows by divisor: the class's divisors, its rate over that of 64, its rate, and the same as printed."""
    classes = series.document.get("classes") or []
    of = {d: c for c in classes for d in DIVISORS if c["least_divisor"] <= d <= c["largest_divisor"]}
    best = max((row[series.case["type"]] for row in paper.values()), default=None)
    rows = []
    for d in DIVISORS:
        c, known = of.get(d), paper.get(d, {}).get(series.case["type"])
        if not c and not known:
            continue
        today = ["-", "-", "-"]
        if c:
            group = [other for other in DIVISORS if c["least_divisor"] <= other <= c["largest_divisor"]]
            rate = "-" if c["rate_per_s"] is None else figure.digits(c["rate_per_s"] * 1e-9)
            today = [", ".join(map(str, group)), f"{c['relative']['value']:.3f}", rate]
        rows.append([d, *today, *([f"{known / best:.3f}", f"{known:g}"] if known else ["-", "-"] if paper else [])])
    return rows


def main(arguments, prog):
    parser = argparse.ArgumentParser(prog=prog, description=figure.about(__doc__))
    parser.add_argument("trace", help="npgpu trace (.h5), or what 'npgpu report TRACE --json' wrote (-: from a pipe)")
    parser.add_argument("--papers", metavar="FOLDER", help="folder of the printed table: data/papers")
    args = parser.parse_args(arguments)
    paper = printed(args.papers)
    for series in gemm.products(args.trace):
        rows = table(series, paper)
        if not series.document.get("classes"):
            continue
        mark = "SIMULATED " if series.simulated else ""
        print(f"\n**{mark}{series.device_name}, {series.case['type']}{', copies included' if series.case['space'] == 'host' and series.device != 'host' else ''}**\n")
        header = ["divides n", "one class with", "of the rate where 64 divides", "GFLOP/s", *(["printed: part", "GFLOPS"] if paper else [])]
        for row in (header, ["---:"] * len(header), *rows):
            print("| " + " | ".join(str(cell) for cell in row) + " |")
