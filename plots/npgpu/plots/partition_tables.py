"""The tables of Veneva & Imamura 2025, with the numbers of a trace of the partition method next to the printed ones:
Markdown on standard output.

--papers names the folder of the printed tables (data/papers), of an RTX 2080 Ti in fp64. Times are in ms."""
import csv
import os

from npgpu.plots import loader, partition
from npgpu.study.partitions import SHUFFLES, held_out

FILES = {"I": "003_table1_overlapped.csv", "II": "003_table2_size_1e6.csv", "III": "003_table3_quality.csv",
         "IV": "003_table4_optimum.csv", "V": "003_table5_fp32.csv"}


def printed(folder, table, key=lambda row: (int(float(row[0])), row[1:])):
    """{size or number of streams: the row's other numbers, as printed}; empty without a folder."""
    if not folder:
        return {}
    path = os.path.join(folder, FILES[table])
    try:
        with open(path, encoding="utf-8") as file:
            return dict(key(row) for row in list(csv.reader(line for line in file if not line.startswith("#")))[1:])
    except (OSError, ValueError, IndexError) as error:
        raise loader.BadTrace(f"{path}: is not the paper's table ({error})") from None


def ms(us):
    return "-" if us is None else f"{us / 1000:.4g}"


def table(title, header, rows):
    if not rows:
        return
    print(f"\n**{title}**\n")
    for row in (header, ["---:"] * len(header), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def streams_of(row, model):
    return next((c["streams"] for c in row["choices"] if c["model"] == model and c["streams"] is not None), "-")


def stages(study, paper):
    """Table I: the times that streams hide, and the rule that knows the creation of streams only."""
    names = ("stage1_kernel", "stage1_out", "stage3_in", "stage3_kernel")
    rows = []
    for row in study["sizes"]:
        if paper and row["size"] not in paper:
            continue
        known = paper.get(row["size"])
        rows.append([f"{row['size']:g}", *(ms(row["stages_us"][n]) for n in names), ms(row["sum_us"]),
                     streams_of(row, "sqrt(sum / t_sc)"), row["best"], *([known[4], known[5], known[6]] if known else ["-"] * 3 if paper else [])])
    table("Table I: stages that streams hide", ["unknowns", "T1 kernel", "T1 D2H", "T3 H2D", "T3 kernel", "sum", "sqrt(sum/t_sc)", "best",
          *(["printed: sum", "sqrt(sum/t_sc)", "best"] if paper else [])], rows)


def overheads(study, paper, size):
    """Table II: what (6) compares, for one size."""
    row = next((r for r in study["sizes"] if r["size"] == size), None)
    if not row:
        return
    rows = []
    for p in row["points"][1:]:
        known = paper.get(p["streams"])
        rows.append([p["streams"], ms(p["time_us"]), ms(row["points"][0]["time_us"]), ms(row["sum_us"]), ms(p["overhead_us"]), ms(p["gain_us"]),
                     *([known[0], known[3], known[4]] if known else ["-"] * 3 if paper else [])])
    table(f"Table II: {size:g} unknowns", ["streams", "T_str", "T_non_str", "sum", "T_overhead", "gain",
          *(["printed: T_str", "T_overhead", "gain"] if paper else [])], rows)


def quality(study, paper):
    """(4) and Table III: how well the refitted forms hold, on the rows that they were fitted to and on others."""
    rows = [[what, q["rows"], f"{q['r2']:.6f}", f"{q['mse'] / 1e6:.4g}", f"{q['rmse'] / 1e3:.4g}"]
            for what, q in study["quality"].items() if q["r2"] is not None]
    table("The refitted regressions, in ms, of all rows", ["of", "rows", "R2", "MSE", "RMSE"], rows)
    found = held_out(study)
    forms = ("small", "big")
    rows = [[part, metric, *(f"{found[form][part][metric]:.4g}" if form in found else "-" for form in forms),
             *(paper.get((part, metric), ["-"] * 2) if paper else [])]
            for part in ("training", "test") for metric in ("R2", "MSE", "RMSE")]
    if found:
        table(f"Table III: the overhead's forms, 3:1, the median of {SHUFFLES} shuffles, in ms",
              ["set", "metric", *forms, *([f"printed: {forms[0]}", forms[1]] if paper else [])], rows)


def optima(study, paper):
    """Table IV, with the simulator's choice."""
    rows = []
    for row in study["sizes"]:
        known = paper.get(row["size"])
        rows.append([f"{row['size']:g}", row["best"], streams_of(row, "Veneva & Imamura 2025"), streams_of(row, "simulator"),
                     *(known or ["-"] * 2 if paper else [])])
    table("Table IV: number of streams", ["unknowns", "measured", "their model, refitted", "simulator",
          *(["printed: measured", "predicted"] if paper else [])], rows)


def types(studies, paper):
    """Table V: the best numbers of streams of the two types."""
    best = {s["type"]: {row["size"]: row["best"] for row in s["sizes"]} for s in studies}
    both = sorted(set(best.get("fp32", {})) & set(best.get("fp64", {})))
    word = {1: "same", 2: "half"}
    table("Table V: fp32 and fp64", ["unknowns", "fp32", "fp64", "comparison", *(["printed: fp32", "fp64", "comparison"] if paper else [])],
          [[f"{n:g}", best["fp32"][n], best["fp64"][n], word.get(best["fp64"][n] / best["fp32"][n], "other"),
            *(paper.get(n, ["-"] * 3) if paper else [])] for n in both])


def main(arguments, prog):
    parser = partition.parser_of(__doc__, prog)
    parser.add_argument("--papers", metavar="FOLDER", help="folder of the printed tables: data/papers")
    parser.add_argument("--size", type=float, default=1e6, help="unknowns of Table II (default 1e6)")
    args = parser.parse_args(arguments)
    path, studies = partition.studies_of(args.trace)
    try:
        for study in studies:
            mark = "SIMULATED " if study["simulated"] else ""
            print(f"\n## {mark}{study['device_name'] or study['device']}, {study['type']}, sub-systems of {study['sub_system']}")
            folder = args.papers if study["type"] == "fp64" else None
            stages(study, printed(folder, "I"))
            overheads(study, printed(folder, "II") if args.size == 1e6 else {}, args.size)
            quality(study, printed(folder, "III", lambda row: ((row[0], row[1]), row[2:])))
            optima(study, printed(folder, "IV"))
        types(studies, printed(args.papers, "V"))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise loader.BadTrace(f"{path}: lacks what these tables need ({error}); it is of another npgpu") from None
