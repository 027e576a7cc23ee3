"""npgpu pieces on simulated devices, whose law each way obeys: screen, JSON, which way is first, what predict says of other
numbers and sizes, what is refused, a spoiled piece, and the picture."""
import json
import math
import os
import subprocess
import sys

from npgpu_run import PROGRAM, SOURCE, Checks, below, folder, run, written

check = Checks()
C, SYNC, LATENCY, RATE, GAP = 2.0, 1.0, 2.0, 10e3, 0.5  # us, bytes a us
SPEC = {"name": "Pieces", "source": "round numbers", "memory_bytes": 1 << 34,
        "host": {"copy_us": 5, "copy_async_us": C, "synchronize_us": SYNC},
        "links": {way: {"pinned": {"rate_gb_s": RATE / 1e3, "latency_us": LATENCY, "gap_us": GAP}} for way in ("h2d", "d2h")},
        "hardware": {"sms": 4}}
WAYS = {"loop": (0, C, GAP, 1), "copy-2d": (C, 0, 0.02 * C, 0.9), "copy-3d": (C, 0, 0.025 * C, 0.9), "batch": (2 * C, 0.1 * C, 0.15 * C, 1),
        "graph": (3 * C, 0, 0.4 * C, 1), "kernel": (2 * C, 0, 0.005 * C, 0.8)}


def truth(way, pieces, size):
    call, host, piece, share = WAYS[way]
    moved = 32 * math.ceil(size / 32) if way == "kernel" else size
    return call + pieces * max(host, piece + moved / (share * RATE)) + LATENCY + SYNC


def near(value, right, share=1e-6):
    return abs(value / right - 1) < share


def tables(path):
    return json.loads(run("report", path, "--json").out)["piece_tables"]


def advice(path, *words):
    return json.loads(run("predict", path, "--json", *words).out)["advice"]


with folder() as where:
    at = below(where)
    written(at("exact.json"), SPEC)
    exact = "sim:" + at("exact.json")

    # Every time is the law's, and the fastest way is the one of the shortest true time.
    one = run("pieces", "--device", exact, "--direction", "h2d", "--output", at("pieces.h5"))
    check(one.code == 0, f"pieces: {one.err}")
    found = tables(at("pieces.h5"))
    check(len(found) == 1 and found[0]["layout"] == "scattered" and found[0]["other_layout"] == "contiguous", "one table")
    rows = found[0]["rows"]
    check(len(rows) == 30 and {w["way"] for w in rows[0]["ways"]} == {"loop", "batch", "graph", "kernel"}, f"{len(rows)} rows")
    for row in rows:
        times = {w["way"]: w["time_us"]["value"] for w in row["ways"]}
        for way, us in times.items():
            check(near(us, truth(way, row["pieces"], row["piece_bytes"])), f"{way} {row['pieces']} x {row['piece_bytes']}: {us}")
        first = [w["way"] for w in row["ways"] if w["as_fast"]]
        best = min(times, key=lambda way: truth(way, row["pieces"], row["piece_bytes"]))
        check(best in first, f"{row['pieces']} x {row['piece_bytes']}: {first}, and {best} is")
        second = row["ways"][1]
        check(near(1 + second["over_fastest"]["value"], times[second["way"]] / min(times.values())), "by how much")
    winners = {row["ways"][0]["way"] for row in rows}
    check({"loop", "kernel", "batch"} <= winners, f"each has its place: {winners}")
    screen = run("report", at("pieces.h5"), "--all", env={"COLUMNS": "120"}).out
    check("SIMULATED pieces" in screen and "fastest" in screen and "by number of pieces" in screen, screen[:500])

    # Between measured points, beyond them, and where large sizes of many pieces were not measured.
    for pieces, size in ((1, 256), (3, 5000), (100, 12288), (1000, 700), (2000, 100_000), (20_000, 3000)):
        [told] = advice(at("pieces.h5"), "--pieces", pieces, "--piece-bytes", size)
        for one in told["ways"]:
            right = truth(one["way"], pieces, size)
            # A kernel moves whole sectors, and a loop turns where the bytes take longer than its calls.
            share = {"kernel": 0.02, "loop": 0.25}.get(one["way"], 1e-6)
            check(near(one["time_us"]["value"], right, share), f"{one['way']} {pieces} x {size}: {one['time_us']}, {right}")
        chosen = told["ways"][0]["way"]
        check(truth(chosen, pieces, size) <= 1.02 * min(truth(w["way"], pieces, size) for w in told["ways"]), f"{pieces} x {size}: {chosen}")
    text = run("predict", at("pieces.h5"), "--pieces", 100, "--piece-bytes", "12KiB")
    check(text.code == 0 and "SIMULATED" in text.out and "fastest" in text.out and "100 x 12 KiB" in text.out, text.out)
    check(advice(at("pieces.h5"), "--pieces", 2, "--piece-bytes", 16)[0]["notes"] != [], "small pieces have a note")

    # Pieces with a pitch are copied by 2D and 3D copies too; not waited for, copies share a wait.
    run("pieces", "--device", exact, "--layout", "strided", "--direction", "d2h", "--pieces", 64, "--piece-bytes", 1024,
        "--output", at("strided.h5"))
    [row] = tables(at("strided.h5"))[0]["rows"]
    check({w["way"] for w in row["ways"]} == set(WAYS), "all ways")
    check(all(near(w["time_us"]["value"], truth(w["way"], 64, 1024)) for w in row["ways"]), f"{row}")
    run("pieces", "--device", exact, "--async", "--way", "batch", "--pieces", 64, "--piece-bytes", 1024, "--output", at("async.h5"))
    [row] = tables(at("async.h5"))[0]["rows"]
    check(row["ways"][0]["time_us"]["value"] < truth("batch", 64, 1024) - LATENCY, f"{row}")

    # What is refused, and a trace without pieces.
    for words, said in (((at("pieces.h5"), "--pieces", 100), "belong together"), ((at("pieces.h5"), "--pieces", 0, "--piece-bytes", 8), "--pieces"),
                        ((at("pieces.h5"), "--pieces", 65000, "--piece-bytes", "1MiB"), "npgpu pieces --pieces 65000"),
                        ((at("pieces.h5"), "--pieces", 10, "--piece-bytes", 8192, "--direction", "d2h"), "npgpu report"),
                        ((os.path.join(SOURCE, "data", "traces", "h200_rounds.h5"), "--pieces", 10, "--piece-bytes", 8192), "npgpu pieces")):
        one = run("predict", *words)
        check(one.code == 2 and said in one.err, f"{words}: {one.code} {one.err}")
    for words, said in ((("--way", "copy-2d"), "use --layout strided"), (("--pieces", "70000"), "--pieces"), (("--piece-bytes", "0"), "too small"),
                        (("--direction", "peer"), "peer"), (("--device", "host"), "--device")):
        one = run("pieces", *(() if "--device" in words else ("--device", exact)), *words, "--output", at("refused.h5"))
        check(one.code != 0 and said in one.err, f"{words}: {one.code} {one.err}")
    one = run("pieces", "--device", exact, "--pieces", 60000, "--piece-bytes", "1MiB", "--output", at("large.h5"))
    check(one.code == 2 and "--pieces, --piece-bytes" in one.err, f"too large: {one.code} {one.err}")

    # A spoiled piece: the way has no time at that point, and the program fails.
    written(at("spoils.json"), {**SPEC, "faults": [{"call": 2, "every": 2, "kind": "corrupt"}]})
    one = run("pieces", "--device", "sim:" + at("spoils.json"), "--pieces", 4, "--piece-bytes", 512, "--way", "batch", "--output", at("spoilt.h5"))
    check(one.code == 1 and "expected 0x" in one.err, f"spoilt: {one.code} {one.err}")
    table = tables(at("spoilt.h5"))[0]
    check(table["rows"][0]["ways"] == [] and table["rows"][0]["unusable"] == ["batch: the pieces were wrong"], f"{table}")

    # The picture, and the evaluation that is run on GPUs.
    try:
        from npgpu.plots import loader, pieces
        picture = pieces.draw(at("pieces.h5"))
        check(len(picture.axes) >= 5 and "SIMULATED" in picture.texts[0].get_text() if picture.texts else True, "a panel for each number")
        try:
            pieces.draw(os.path.join(SOURCE, "data", "traces", "h200_rounds.h5"))
            check(False, "a trace without pieces has no picture")
        except loader.BadTrace as error:
            check("npgpu pieces" in str(error), str(error))
    except ImportError:
        print("no matplotlib: the picture is not looked at")
    done = subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "bench", "pieces_regret.py"), PROGRAM, "--device", "sim:h200", "--folder", where],
                          capture_output=True, text=True, check=False)
    last = done.stdout.splitlines()[-3:]
    check(done.returncode == 0 and len(last) == 3 and last[0].startswith("regret: median"), done.stdout[-500:] + done.stderr[-500:])
    check(last and float(last[0].split("median ")[1].split(" %")[0]) <= 2 and float(last[0].split("p95 ")[1].split(" %")[0]) <= 10, f"{last}")

check.finish()
