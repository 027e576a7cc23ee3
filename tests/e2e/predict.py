"""Predictions as a developer asks for them, from the kept trace of an H200."""
import json
import os

from npgpu_run import SOURCE, Checks, below, folder, needs, run

h5py = needs("h5py")
TRACE = os.path.join(SOURCE, "data", "traces", "h200_streams.h5")
ROUNDS = os.path.join(SOURCE, "data", "traces", "h200_rounds.h5")  # has calls, too
JOB = ("--bytes-in", "60MiB", "--bytes-out", "60MiB", "--kernel-ms", "1.017")

check = Checks()
with folder() as where:
    at = below(where)
    one = run("predict", TRACE, *JOB)
    check(one.code == 0, one.err)
    for words in ("buffers", "depth-first", "fastest", "spread", "error", "none were measured", "bottleneck", "####"):
        check(words in one.out, f"'{words}' is said: {one.out}")
    check("graph     not known" in one.out and "npgpu calls" in one.out, f"the trace has no calls: {one.out}")
    document = json.loads(run("predict", TRACE, *JOB, "--json").out)
    best, advised, times = document["best"], document["advised"], {c["streams"]: c["time_us"] for c in document["candidates"]}
    least = min(times.values())
    check(one.out.splitlines()[0] == document["answer"], "the first line is the answer")
    check(document["answer"].startswith(f"{advised['chunks']} chunks in {advised['streams']} streams, "), document["answer"])
    fastest = document["fastest"]["time_us"]
    check(fastest <= least and advised["time_us"] <= 1.01 * fastest, f"within 1 % of the fastest: {advised}")
    check(advised["device_bytes"] < 60 << 20, f"chunks in turn take less memory: {advised}")
    check(document["error"] is None, f"none such were measured on this architecture: {document['error']}")
    spread = json.loads(run("predict", TRACE, "--bytes-in", "1MiB", "--bytes-out", "0", "--kernel-ms", "0.001", "--json").out)
    check(spread["advised"]["chunks"] == 1 and "not split" in spread["answer"], f"a job that gains nothing stays whole: {spread['answer']}")
    check(spread["error"]["workloads"] > 10 and 0 < spread["error"]["median"] < spread["error"]["p95"], f"{spread['error']}")
    capped = run("predict", TRACE, *JOB, "--max-streams", "2")
    check("--max-streams raises" in capped.out and "--max-streams" not in one.out, f"the cap is named where it binds: {capped.out}")

    # Less memory: chunks in turn.
    small = json.loads(run("predict", TRACE, *JOB, "--max-memory", "8MiB", "--json").out)
    turn = small["advised"]
    check(turn["device_bytes"] <= 8 << 20 and turn["chunks"] > turn["streams"] and turn["order"] == "depth-first", f"{turn}")
    check(turn["device_bytes"] == turn["streams"] * (turn["chunk_in_bytes"] + turn["chunk_out_bytes"]), f"{turn}")
    check(0.9 * least < turn["time_us"] < 1.5 * least, f"nor much slower: {turn}")
    said = run("predict", TRACE, *JOB, "--max-memory", "8MiB")
    check("at most 8 MiB" in said.out and "take turns" in said.out, said.out)
    check(run("predict", TRACE, *JOB, "--threads", 99999).code == 2, "no block has so many threads")
    alone = run("predict", TRACE, *JOB, "--threads", 256)
    check(alone.code == 2 and "--blocks" in alone.err, f"threads of how many blocks? {alone.err}")
    check(run("predict", TRACE, *JOB, env={"NPGPU_THREADS": "256"}).code == 0, "a variable holds for all runs")
    check(run("predict", TRACE, *JOB, "--max-memory", "200B").code == 2, "a line each way does not fit into 200 B")

    # 24 frames, none of them cut; 7 of these bytes are none.
    frames = json.loads(run("predict", TRACE, *JOB, "--items", "24", "--json").out)
    check([c["streams"] for c in frames["candidates"]] == [1, 2, 3, 4, 5, 6, 8, 12, 24] and 24 % frames["advised"]["chunks"] == 0, f"{frames}")
    check(frames["advised"]["chunk_in_bytes"] * frames["advised"]["chunks"] == 60 << 20 and frames["job"]["items"] == 24, f"{frames['advised']}")
    said = run("predict", TRACE, *JOB, "--items", "24").out
    check(f"24, none of them cut: {frames['advised']['chunks']} chunks of {24 // frames['advised']['chunks']} item" in said, said)
    little = json.loads(run("predict", TRACE, *JOB, "--items", "24", "--max-memory", "16MiB", "--json").out)["advised"]
    check(little["device_bytes"] <= 16 << 20 and little["chunks"] in (5, 6, 8, 12, 24) and little["chunks"] > little["streams"], f"{little}")
    cut = run("predict", TRACE, *JOB, "--items", "7")
    check(cut.code == 2 and "not 7 items of whole bytes" in cut.err, cut.err)

    # The literature's models beside ours. H = D = 1.14 ms and E = 1.02 ms, so that (2) says 2.27/(2.27 - 1.02) = 1.8.
    both = json.loads(run("predict", TRACE, *JOB, "--model", "cc1,van-werkhoven", "--json").out)
    one, other = both["models"]
    check((one["model"], one["streams"]) == ("cc1", 2) and abs(one["optimum"] - 1.81) < 0.02 and abs(one["time_us"] / 2277 - 1) < 0.01, f"{one}")
    check(abs(one["simulated_us"] - times[2]) < 1e-6 and len(one["times_us"]) == len(both["candidates"]), f"{one}")
    check(other["optimum"] is None and other["time_us"] == min(other["times_us"]) and "van Werkhoven 2014" in other["source"], f"{other}")
    said = run("predict", TRACE, *JOB, "--model", "all")
    check(said.code == 0 and "Gomez-Luna 2012 (5) (7), n by (6) (8)" in said.out and "veneva" not in said.out, said.out + said.err)
    said = run("predict", TRACE, *JOB, "--model", "all", "--measured", os.path.join(SOURCE, "data", "traces", "h200_design.h5"))
    check("veneva-small" in said.out and "cut at" not in said.out, said.out + said.err)
    for words, why in (("veneva-big", "fewer than ten"), ("nosuch", "none of best-practices"), ("all,cc1", "none of best-practices")):
        refused = run("predict", TRACE, *JOB, "--model", words)
        check(refused.code == 2 and why in refused.err, refused.out + refused.err)

    # A kernel of nine blocks: in more streams each chunk has a part of one, which takes as long. Measured: 1.164 and 1.200 ms.
    few = json.loads(run("predict", os.path.join(SOURCE, "data", "traces", "h200_small_streams.h5"), "--bytes-in", "49413120",
                         "--kernel-ms", "0.1806", "--bytes-out", "5303936", "--blocks", "9", "--json").out)
    took = {c["streams"]: c["time_us"] for c in few["candidates"]}
    check(abs(took[16] / 1164 - 1) < 0.03 and abs(took[32] / 1200 - 1) < 0.03, f"{took[16]} us in 16, {took[32]} us in 32")
    check(few["best"]["streams"] < 9, f"measured was 6: {few['best']}")

    # Sizes as typed, and small copies.
    typed = run("predict", TRACE, "--bytes-in", "64MB", "--bytes-out", "1.5MB", "--kernel-ms", "1").out
    check("64 MB in" in typed and "1.5 MB out" in typed, typed)
    tiny = run("predict", TRACE, "--bytes-in", "2KiB", "--bytes-out", "2KiB", "--kernel-ms", "0.01")
    check(tiny.code == 0 and "copies below 4 KiB were not measured" in tiny.out, f"{tiny.out}{tiny.err}")
    none = run("predict", TRACE, "--bytes-in", "64MiB", "--bytes-out", "0", "--kernel-ms", "1")
    check(none.code == 0 and "0 B out" in none.out, f"a part may be 0 if it is said: {none.out}{none.err}")

    # Drawn, and for Perfetto.
    drawn = run("predict", TRACE, *JOB, "--draw", "--chrome", at("job.json"))
    check(drawn.code == 0 and "copy-in" in drawn.out and "0 ---" in drawn.out, drawn.out + drawn.err)
    events = json.load(open(at("job.json")))["traceEvents"]
    copies = [e for e in events if e.get("cat") == "h2d" and e["pid"] == 2]
    check(len(copies) == advised["chunks"], f"{len(copies)} copies in, {advised['chunks']} chunks")
    check(run("predict", TRACE, *JOB, "--chrome", at("job.json")).code == 2, "a file that exists stays without --force")
    turns = run("predict", TRACE, *JOB, "--max-memory", "8MiB", "--chrome", at("turn.json"))
    check(turns.code == 0, turns.err)
    threads = {e["tid"] for e in json.load(open(at("turn.json")))["traceEvents"] if e["pid"] == 2 and e.get("ph") == "X"}
    check(len(threads) == turn["streams"], f"{len(threads)} streams drawn, {turn['streams']} advised")
    measured = run("simulate", "--trace", TRACE, *JOB)
    check(measured.code == 0 and measured.out.startswith(f"SIMULATED {document['answer']}\n"), f"simulate says the same: {measured.out}")
    measured = run("simulate", "--trace", TRACE, *JOB, "--streams", 8)
    check(f"total     {times[8] / 1000:.3f} ms, breadth-first\n" in measured.out, f"and of a number that is named, that one: {measured.out}")

    # As a graph, from a trace that has calls.
    short = json.loads(run("predict", ROUNDS, "--bytes-in", "256KiB", "--bytes-out", "256KiB", "--kernel-ms", "0.02", "--json").out)
    graph = short["graph"]
    check(graph and graph["instantiate_us"] > 0 and -1 < graph["gain"] < 1, f"{graph}")
    check(abs(1 - graph["time_us"] / short["advised"]["time_us"] - graph["gain"]) < 1e-9, f"the gain is over the advice: {graph}")
    check("graph" in run("predict", ROUNDS, *JOB).out, "said of a long job, too")

    # Measured jobs of a simulated device, in streams and as graphs: predicted from its costs.
    for made in (run("streams", "--device", "sim:h200", "--experiment", "overheads", "--output", at("node.h5"), "--quiet"),
                 run("calls", "--device", "sim:h200", "--append", "--output", at("node.h5"), "--quiet"),
                 run("streams", "--device", "sim:h200", "--experiment", "design", "--workloads", "6", "--seed", "11",
                     "--issue", "streams,graph", "--output", at("design.h5"), "--quiet")):
        check(made.code == 0, made.err)
    turns = run("streams", "--device", "sim:h200", "--bytes-in", "16MiB", "--bytes-out", "16MiB", "--iterations", "64", "--order",
                "depth-first", "--chunks", "1,12,24,48", "--streams", "3,6", "--append", "--output", at("design.h5"), "--quiet")
    check(turns.code == 0, turns.err)
    table = run("predict", at("node.h5"), "--measured", at("design.h5"))
    check(table.code == 0 and "SIMULATED prediction for sim:h200 (H200) of 6 measured jobs" in table.out, table.out + table.err)
    document = json.loads(run("predict", at("node.h5"), "--measured", at("design.h5"), "--json").out)
    check(document["document"] == "npgpu-predicted-jobs" and len(document["jobs"]) == len(document["graphs"]) == len(document["in_turn"]) == 6,
          f"jobs in streams, as graphs, and with chunks in turn: {list(document)}")
    for job in document["jobs"]:
        check(job["points"][0]["streams"] == 1 and job["points"][0]["predicted_us"] == job["points"][0]["measured_us"], "the unsplit time is known")
        check(all(0.8 < p["predicted_us"] / p["measured_us"] < 1.2 for p in job["points"]), f"{job}")
        best = min(job["points"], key=lambda p: p["measured_us"])
        check(f"in {best['streams']:>2}" in table.out, f"the best number, {best['streams']}: {table.out}")
    error = json.loads(run("predict", at("node.h5"), *JOB, "--measured", at("design.h5"), "--json").out)["error"]
    check(error and error["workloads"] == 6 and "among 12 jobs measured on H200" in error["source"], f"the error is of those with chunks in turn: {error}")
    nothing = run("predict", at("node.h5"), "--json")
    check(nothing.code == 2 and "--measured" in nothing.err and "--kernel-ms" in nothing.err, f"without a job it says what it needs: {nothing.err}")

    # Jobs of one's own, measured both ways on a simulated device.
    own = run("streams", "--device", "sim:h200", "--bytes-in", "8MiB", "--bytes-out", "8MiB", "--iterations", "32",
              "--chunks", "1,2,4,8,16,32", "--issue", "streams,graph", "--output", at("own.h5"), "--quiet")
    check(own.code == 0, own.err)
    with h5py.File(at("own.h5"), "r+") as trace:
        for series in trace["jobs"].values():
            visits = series["visits"][:]
            visits["disturbed"] = 1
            series["visits"][:] = visits
    disturbed = run("predict", at("node.h5"), "--measured", at("own.h5"))
    check(disturbed.code == 2 and "12 times disturbed by others" in disturbed.err, disturbed.out + disturbed.err)
    # Fresh streams and two counts are predicted like all others, and what is not says why.
    few = run("streams", "--device", "sim:h200", "--bytes-in", "8MiB", "--bytes-out", "8MiB", "--iterations", "8..10", "--chunks", "1,16",
              "--pool", "fresh", "--output", at("few.h5"), "--quiet")
    check(few.code == 0, few.err)
    table = run("predict", at("node.h5"), "--measured", at("few.h5"))
    check(table.code == 0 and "of 3 measured jobs" in table.out and table.out.count(" fresh ") == 3 and "Left out" not in table.out, table.out + table.err)
    told = run("predict", at("node.h5"), "--bytes-in", "8MiB", "--bytes-out", "8MiB", "--kernel-ms", "0.1", "--measured", at("few.h5")).out
    check("(among 3 jobs" in told and "in turn: none were measured" in told, f"and they say how far such predictions are off: {told}")
    unsplit = run("streams", "--device", "sim:h200", "--bytes-in", "8MiB", "--bytes-out", "8MiB", "--chunks", "1", "--output", at("unsplit.h5"), "--quiet")
    for job in ((), JOB):
        nothing = run("predict", at("node.h5"), *job, "--measured", at("unsplit.h5"))
        check(unsplit.code == 0 and nothing.code == 2 and "1 time of jobs that were not split" in nothing.err and not nothing.out, nothing.out + nothing.err)
    of_many = run("predict", at("node.h5"), "--measured", at("few.h5"), "--model", "cc1")
    check(of_many.code == 2 and "npgpu.study" in of_many.err, of_many.err)
    parts = run("predict", at("node.h5"), "--measured", at("node.h5"))
    check(parts.code == 2 and "of parts alone" in parts.err, parts.out + parts.err)
    # Whole items, and the experiments of Gomez-Luna et al. 2012 on one of their GPUs.
    items = lambda *words: run("streams", "--device", "sim:h200", "--bytes-in", "24MiB", "--bytes-out", "24MiB", "--items", "24", *words, "--dry-run")
    check("8 points" in items().out, f"1, 2, 3, 4, 6, 8, 12, 24: {items().out}")
    check("5 chunks would cut 24 items" in items("--chunks", "4..5").err, items("--chunks", "4..5").err)
    paper = lambda *words: run("streams", "--device", "sim:gtx280", "--experiment", "fixed", *words, "--dry-run").out
    check(f"{2 * 20 * 19} points" in paper() and f"{20 * 19} points" in paper("--pool", "fresh"), paper())
    check("8 points" in paper("--iterations", "8..27:19", "--chunks", "1..2"), paper("--iterations", "8..27:19", "--chunks", "1..2"))
    shown = run("streams", "--device", "sim:h200", "--bytes-in", "8MiB", "--bytes-out", "8MiB", "--iterations", "2000",
                "--chunks", "1,2,4,8,16,32", "--output", at("own2.h5"))
    check("best of measured" in shown.out and "missing" not in shown.out, shown.out[-600:])
    check("within 1 %" in shown.out, f"and what is within 1 %: {shown.out[-600:]}")

    # A kernel that nobody has run yet: y = a x over 16 Mi floats, as docs/streams.md adds it up.
    node = os.path.join(SOURCE, "data", "traces", "h200_node.h5")
    counts = ("--flops", "16777216", "--bytes-moved", "128MiB", "--bytes-written", "64MiB", "--blocks", "65536", "--threads", "256", "--in-flight", "1")
    kernel = json.loads(run("predict", node, *counts, "--json").out)["kernel"]
    check(abs(kernel["likely_us"] / 60.25 - 1) < 0.005 and kernel["bound"] == "the memory's latency" and kernel["slots"] == 1056, f"{kernel}")
    check(kernel["low_us"] < kernel["likely_us"] < kernel["high_us"] < 1.75 * kernel["low_us"], f"{kernel}")
    figures = {used["key"]: used for used in kernel["used"]}
    check(figures["sms"]["value"] == 132 and "counted" in figures["sms"]["from"], f"{figures['sms']}")
    check(figures["memory_gb_s"]["low"] < figures["memory_gb_s"]["value"] < figures["memory_gb_s"]["high"], f"{figures['memory_gb_s']}")
    said = run("predict", node, *counts).out
    check("bound by the memory's latency" in said and "probe bandwidth" in said and "driver" in said, said)
    with_copies = json.loads(run("predict", node, *counts, "--bytes-in", "64MiB", "--bytes-out", "64MiB", "--json").out)
    check(abs(with_copies["job"]["kernel_us"] - (kernel["likely_us"] - kernel["launch_us"])) < 1e-6, f"{with_copies['job']}")
    check(12 <= with_copies["best"]["streams"] <= 16 and with_copies["by_kernel"]["low_us"] <= with_copies["by_kernel"]["high_us"], f"{with_copies['best']}")
    exponents = json.loads(run("predict", node, "--flops", "2e12", "--bytes-moved", "1e9", "--blocks", "10000", "--json").out)["kernel"]
    check(exponents["bound"] == "arithmetic", f"{exponents}")
    for words, why in ((("--flops", "1e9"), "--blocks is missing"), (("--flops", "1e9", "--blocks", "8", "--kernel-ms", "1"), "--kernel-ms"),
                       (("--bytes-moved", "1MiB", "--bytes-written", "2MiB", "--blocks", "8"), "--bytes-written"),
                       (("--flops", "many", "--blocks", "8"), "no number of operations"), (("--flops", "1e9", "--type", "fp8", "--blocks", "8"), "instructions_fp8")):
        refused = run("predict", node, *words)
        check(refused.code == 2 and why in refused.err and not refused.out, f"{words}: {refused.err}{refused.out}")
    alike = [[c["time_us"] for c in json.loads(run(*words, *counts, "--bytes-in", "64MiB", "--bytes-out", "64MiB", "--json").out)["candidates"]]
             for words in (("predict", node), ("simulate", "--trace", node))]
    check(len(alike[0]) == 64 and alike[0] == alike[1], "predict and simulate --trace give a counted kernel the same times")
    check("probe compute" in run("predict", TRACE, *counts).err, "a trace without probes says what measures them")

    # Another device, and the twin of this one: the same times by the twin as by the trace, to the last digit.
    elsewhere = run("predict", "--on", "gtx480", *JOB)
    check(elsewhere.code == 0 and "sim:gtx480" in elsewhere.out and "never compared" in elsewhere.out, elsewhere.out + elsewhere.err)
    check(run("predict", TRACE, "--on", "gtx480", *JOB).code == 2, "a trace, or another device")
    twin = at("twin.json")
    check(run("derive", node, "--twin", twin).code == 0 and run("derive", node, "--twin", twin).code != 0, "it is written, and not over another")
    times = [[c["time_us"] for c in json.loads(run(*words, *JOB, "--json").out)["candidates"]]
             for words in (("predict", node), ("predict", "--on", twin), ("simulate", "--trace", node), ("simulate", "--device", f"sim:{twin}"))]
    check(len(times[0]) == 64 and all(one == times[0] for one in times), "by the trace and by its twin")
    measured = run("probe", "compute", "--device", f"sim:{twin}", "--type", "fp32", "--output", at("of_twin.h5"), "--quiet")
    check(measured.code == 0, measured.err)
    parameters = {p["name"]: p["estimate"] for p in json.loads(run("derive", at("of_twin.h5"), "--json").out)["devices"][0]["parameters"]}
    check(abs(parameters["FMA latency"]["value"] / 4.039 - 1) < 0.003 and abs(parameters["SM"]["value"] - 132) < 0.1, f"{parameters['SM']}")
    bare = run("derive", TRACE, "--twin", at("bare.json"))
    check(bare.code == 2 and "probe compute,bandwidth" in bare.err, bare.err)
check.finish()
