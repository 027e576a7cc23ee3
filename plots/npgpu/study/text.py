"""How good predictions are, as a person reads it."""
import shutil
import textwrap

from npgpu.study.scores import errors_of
from npgpu.study.statistics import place_of_least, spread


def percent(part):
    return "-" if part is None else f"{100 * part:.2f}"


def counted(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def digits(value, significant):
    if value == 0:
        return "0"
    exponent = int(f"{value:.{significant - 1}e}".split("e")[1])
    return f"{value:.{max(significant - 1 - exponent, 0)}f}"


def time_text(us):
    scale, unit = next((s for s in ((1e6, "s"), (1e3, "ms"), (1, "us")) if abs(us) >= s[0] * 0.99995), (1e-3, "ns"))
    return f"{digits(us / scale, 4)} {unit}"


def exact_size(size):
    """As the program writes sizes: nothing of it is rounded."""
    if size >= 10**6 and size % 10**6 == 0 and size % (1 << 20):
        return f"{size // 10**9} GB" if size % 10**9 == 0 else f"{size // 10**6} MB"
    for scale, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= scale and size % (scale // 4) == 0:
            return f"{size // scale}{('', '.25', '.5', '.75')[size % scale * 4 // scale]} {unit}"
    return f"{size} B"


def about_size(size):
    scale, unit = next((s for s in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")) if size >= s[0] * 0.9995), (1, "B"))
    return f"{size / scale:.3g} {unit}" if size / scale < 999.5 else f"{size / scale:.0f} {unit}"


def note(text):
    return textwrap.fill(text, shutil.get_terminal_size().columns, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def table(header, rows, left=1):
    """Columns as wide as their widest cell; the first so many are flush left."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join("  " + "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
                     for row in [header, *rows])


def three(spread_of):
    return [percent(spread_of[key]) for key in ("median", "p95", "most")]


def hits_text(model):
    return f"{100 * model['hits']:.0f}" if model["hits"] is not None else "-"


def models_table(models):
    rows = [[m["model"], *three(m["error"]), *three(m["regret"]), *three(m["advised_regret"])[:2], hits_text(m),
             f"{m['r2']:.4f}" if m["r2"] is not None else "-"] for m in models]
    return table(["model", "|error| %", "p95", "max", "regret %", "p95", "max", "advised %", "p95", "hits %", "R2"], rows)


def cross_validated(rows, measuring, what):
    """`rows`: names with what cross-validated regrets came to; `what`: of which there are many, in the plural."""
    rows = [[name, str(r["choices"]), *(percent(r[key]) for key in ("mean", "median", "p5", "p95")), str(r["worse"])]
            for name, r in rows if r["choices"]]
    if not rows:
        return note(f"There is no cross-validated regret: it takes {what} that were measured in two rounds or more.")
    parts = [table(["regret, cross-validated", what, "mean %", "median %", "p5", "p95", "worse"], rows), note(
        "Cross-validated: each round is left out in turn. The others say which number is best, and the round left out times that "
        "number and the model's. The regret above is over the least of noisy times, so that even perfect advice has some; this one "
        "is nearly free of that bias. Below 0 the model's number was better than the one that the other rounds found. Noise widens "
        f"both tails alike, and p5 shows by how much. worse: {what} whose 95 % interval is above 0.")]
    if measuring["median"] is not None:
        parts.append(note(
            "Measuring in place of predicting: every other round chooses the best number. In the rounds between, its regret is "
            f"{percent(measuring['median'])} % in the median and {percent(measuring['p95'])} % at the 95th "
            "percentile; noise alone causes that."))
    return "\n".join(parts)


def length_text(c):
    time = lambda us: f"{us:g} us" if us < 1000 else f"{us / 1000:g} ms"
    if c["to_us"] is None:
        return "longer than " + time(c["from_us"])
    return f"of {time(c['from_us'])} to {time(c['to_us'])}" if c["from_us"] else "shorter than " + time(c["to_us"])


def lengths_table(found):
    rows = [[length_text(c), str(c["workloads"]), *three(c["error"])] for c in found["by_length"] if c["workloads"]]
    return table(["simulator, jobs unsplit", "jobs", "|error| %", "p95", "max"], rows)


def job_text(w):
    simulator = w["models"][0]
    validated = "" if simulator["cross_validated"] is None else (
        f", cross-validated {percent(simulator['cross_validated'])} % "
        f"[{percent(simulator['cross_validated_low'])}, {percent(simulator['cross_validated_high'])}]")
    cells = ", ".join(f"{p['streams']}:{time_text(p['measured_us'])} {100 * (p['predicted_us'] / p['measured_us'] - 1):+.1f} %" for p in w["points"])
    return (note(f"{exact_size(w['bytes_in'])} in, {time_text(w['kernel_us'])} of {w['workload']} kernel, {exact_size(w['bytes_out'])} out, "
                 f"{w['order']}{', fresh streams' if w['pool'] == 'fresh' else ''}: best {w['best']}, predicted {simulator['predicted_best']}, regret {percent(simulator['regret'])} %{validated}")
            + "\n" + note("  " + cells))


def scored_text(found):
    parts = [models_table(found["models"]), note(
        "Medians, 95th percentiles and maxima. |error|: times with two and more streams; the kernel's time is the unsplit job's less "
        "its copies, weighed with that of kernels of its sort alone, where these were measured and are near. regret: time with the "
        "number of streams that the model chose among those measured, over the best of them; in one stream each model knows it. "
        "advised: the same with the fewest streams within 1 % of the least predicted time. hits: that number was as good as the best "
        "within the noise. Fitted models were fitted to all workloads except the one they predict.")]
    calls = found["calls_over_costs"]
    if calls["value"] is not None:
        low, high = ("nan" if calls[key] is None else f"{calls[key]:.2f}" for key in ("low", "high"))
        parts.append(note(
            f"The host's calls took {calls['value']:.2f} times as long as the costs say ({low} .. {high}), and predictions of short jobs "
            "are off by as much. 'host as it was' charges each call that much more or less."))
    validated = [(m["model"], m["cross_validated"]) for m in found["models"]]
    validated.insert(1, (found["models"][0]["model"] + ", as advised", found["models"][0]["advised_cross_validated"]))
    return parts + ["", cross_validated(validated, found["measuring"], "jobs"), "", lengths_table(found)]


def models_text(found, every_job):
    simulated = "SIMULATED " if found["simulated"] else ""
    scored, others = found["workloads"], found["others"]
    parts = [f"{simulated}predictions compared with {counted(len(scored) + len(others), 'measured workload')} on {found['device_name']}\n"]
    if scored:
        parts += scored_text(found)
    if others:
        told = [m for m in found["others_models"] if m["error"]["median"] is not None]
        parts += [""] * bool(scored) + [models_table(told), note(
            f"Of {counted(len(others), 'workload')} in streams that were made for the job, or in fewer than three splits. They are apart, because "
            "there is less to choose from, and creation counts. Fitted models were fitted to the workloads that are not.")]
    for w in scored + others if every_job else ():
        parts += ["", job_text(w)]
    return "\n".join(parts)


def graphs_text(graphs):
    def best(points):
        at = place_of_least([p["measured_us"] for p in points])
        return points[at], min(p["predicted_us"] for p in points)

    gain = lambda graph_us, streams_us: f"{100 * (1 - graph_us / streams_us):+.1f}"
    rows, missed, pairs = [], [], []
    for g in graphs:
        (streams, streams_us), (graph, graph_us) = best(g["streams"]), best(g["graph"])
        rows.append([about_size(g["job"]["bytes_in"]), time_text(g["kernel_us"]), about_size(g["job"]["bytes_out"]),
                     f"{time_text(streams['measured_us'])} in {streams['streams']:>2}", time_text(streams_us),
                     f"{time_text(graph['measured_us'])} in {graph['streams']:>2}", time_text(graph_us),
                     gain(graph["measured_us"], streams["measured_us"]), gain(graph_us, streams_us)])
        missed.append(abs(graph_us / streams_us - graph["measured_us"] / streams["measured_us"]))
        pairs += [(p["measured_us"], p["predicted_us"]) for p in g["graph"] if p["streams"] != 1]
    error, gained = spread(errors_of(pairs)), spread(missed)
    return "\n".join([f"{counted(len(graphs), 'job')} as CUDA graphs and in streams, the best split of each\n", table(
        ["in", "kernel", "out", "in streams", "predicted", "as a graph", "predicted", "gain %", "predicted"], rows, left=0), note(
        f"Predicted times of graphs are off by {percent(error['median'])} % in the median and {percent(error['p95'])} % at the 95th "
        f"percentile of all splits into two and more; what a graph gains, by {100 * gained['median']:.1f} and {100 * gained['p95']:.1f} "
        "percentage points. Times are measured ones in as many streams or chains as were best; a graph is instantiated before the "
        "clock starts.")])


def report(found, every_job=False):
    turned = found["in_turn"]
    parts = [models_text(found, every_job)] if found["models"] else []
    if turned["splits"]:
        parts.append(note(
            f"Chunks in turn, depth-first in fewer streams: {counted(turned['splits'], 'split')} measured, |error| "
            f"{percent(turned['error']['median'])} % in the median, {percent(turned['error']['p95'])} % at the 95th percentile, "
            f"{percent(turned['error']['most'])} % at most"))
    if found["graphs"]:
        parts.append(graphs_text(found["graphs"]))
    if found["left_out"]:
        parts.append(note("Left out: " + "; ".join(one["text"] for one in found["left_out"]) + "."))
    return "\n\n".join(parts)


def partition_study(study):
    simulated = "SIMULATED " if study["simulated"] else ""
    name = f" ({study['device_name']})" if study["device_name"] else ""
    rows = [[m["model"], str(m["sizes"]), *three(m["regret"]), *three(m["even_regret"])[:2], *three(m["error"]), hits_text(m)]
            for m in study["models"] if m["sizes"]]
    return "\n".join([
        f"{simulated}choices of streams for the tridiagonal partition method, {study['type']}, sub-systems of {study['sub_system']}, on "
        f"{study['device']}{name}\n",
        table(["model", "sizes", "regret %", "p95", "max", "T2 even %", "p95", "|error| %", "p95", "max", "hits %"], rows), note(
            "Medians, 95th percentiles and maxima over sizes. regret: measured time with the number of streams that the model chose, "
            "over the best. T2 even: the same, with the host's stage taking the same time in all runs of a size, the median; it is the "
            "same work in all of them, and most of what they scatter by. |error|: predicted times with two and more streams. The "
            "simulator is not fitted to whole runs; the paper's regressions are fitted to the sizes other than the one they choose for."),
        "", cross_validated([(m["model"], m["cross_validated"]) for m in study["models"]], study["measuring"], "sizes")])


def partitions_report(found):
    return "\n\n".join(map(partition_study, found["studies"]))
