"""npgpu collectives on simulated nodes, whose links are the truth: times, limits, a slow link, wrong results; JSON, tables,
a figure, what is refused, and a run that was killed goes on."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from npgpu_run import PROGRAM, SOURCE, Checks, below, folder, library, python, run, written

check = Checks()
GB, MIB = 1e9, 1 << 20


def near(value, truth, share=0.01):
    return value is not None and abs(value / truth - 1) < share


def measured(node, path, *more):
    return run("collectives", "--device", node, "--output", path, *more)


def study_of(path):
    return json.loads(run("report", path, "--json").out)["collective_studies"][0]


with folder() as where:
    at = below(where)

    def node_of(name, like="nodes/node8-half-nvlink", **more):
        """The path of a spec of plain GPUs."""
        devices = os.path.join(SOURCE, "data/devices/")
        return written(at(name), {"like": f"{devices}{like}.json", "name": "node", "source": "a test", "gpu": devices + "plain.json", **more})

    def link(gpu, gb_s, **more):
        return {"between": gpu, "and": "nvswitch", "gb_s": gb_s, "latency_us": 0.5, "nvlinks": 18, **more}

    # 64 GPUs on links of 400 GB/s: the limits, and the law of rings.
    big = measured("sim:node64", at("big.h5"), "--sizes", "512B,64MiB,256MiB", "--timing", "gated")
    check(big.code == 0, f"{big.code} {big.err}")
    study = study_of(at("big.h5"))
    check(len(study["gpus"]) == 64 and len(study["operations"]) == 5 and study["verdict"] == "ok" and not study["slow_links"], str(study)[:500])
    for one in study["operations"]:
        check(near(one["limit_bus_bytes_per_s"], 400 * GB), f"{one['title']}: limit {one['limit_bus_bytes_per_s']}")
    report = json.loads(run("report", at("big.h5"), "--json").out)
    for series in report["collectives"]:
        if series["case"]["operation"] != "all-reduce":
            continue
        point = series["points"][1]
        truth = 2 * 63 * (1 + 64 * MIB / 64 / 400e9 * 1e6)
        check(point["bytes"] == 64 * MIB and near(point["time_us"]["value"], truth), f"{point['time_us']}, not {truth}")
        check(near(point["algorithm_bytes_per_s"]["value"], 64 * MIB / truth * 1e6) and
              near(point["bus_bytes_per_s"]["value"], 2 * 63 / 64 * 64 * MIB / truth * 1e6), str(point))
        check(len(point["lanes_us"]) == 64, "a time for each GPU")

    # What each GPU sends to one other has all channels of NCCL from larger sizes on.
    for size, verdict in (("128MiB", "not judged"), ("256MiB", "ok")):
        measured("sim:node64", at("send.h5"), "--sizes", size, "--collective", "send-receive,all-reduce", "--force")
        of = {one["case"]["operation"]: one for one in study_of(at("send.h5"))["operations"]}
        check(of["send-receive"]["verdict"] == verdict and of["all-reduce"]["verdict"] == "ok", f"{size}: {of}")

    # A link of half rate is named, and it is what the ring reaches.
    half = measured("sim:node8-half-nvlink", at("half.h5"), "--end", "512MiB", "--collective", "all-reduce,all-to-all")
    check(half.code == 3 and "slow: copies to and from sim:node8-half-nvlink:5 run at" in half.out, f"{half.code} {half.out[-600:]}")
    study = study_of(at("half.h5"))
    check([link["devices"] for link in study["slow_links"]] == [["sim:node8-half-nvlink:5"]] and near(study["slow_links"][0]["share"], 0.5), str(study["slow_links"]))
    for one in study["operations"]:
        check(near(one["limit_bus_bytes_per_s"], 200 * GB) and one["verdict"] == "ok", f"{one['title']}: {one}")
    # Of slow copies in a row a ring does not say whose links they are: no GPU is named that may be sound. Six of eight are
    # slow beside two that show what is usual.
    for slow, row in (((1, 3), range(0, 5)), ((1, 2), range(0, 4)), ((1, 3, 5), range(0, 7)), ((7, 0), (6, 7, 0, 1)), ((1, 5), None)):
        spec = node_of("links" + "-".join(map(str, slow)) + ".json", instead=[link(f"gpu{i}", 200) for i in slow])
        some = measured("sim:" + spec, at("links.h5"), "--sizes", "128MiB", "--collective", "all-reduce", "--quiet", "--force")
        named = [[int(gpu.rsplit(":", 1)[1]) for gpu in link["devices"]] for link in study_of(at("links.h5"))["slow_links"]]
        check(some.code == 3 and named == ([list(row)] if row else [[1], [5]]), f"{slow}: {some.code} {named}")
    # Of links in a row that differ both rates are said.
    spec = node_of("differ.json", instead=[link("gpu1", 200), link("gpu2", 100)])
    differ = measured("sim:" + spec, at("differ.h5"), "--sizes", "128MiB", "--collective", "all-reduce", "--quiet", "--force")
    check(differ.code == 3 and re.search(r"run at (99.|100)\S* to (199|200)\S* GB/s, the slowest at 25 % of", differ.out), f"{differ.code} {differ.out}")
    # A pair that does not see each other's memory is slow, as npgpu matrix says, and what is left out for it is said.
    spec = node_of("blind.json", "soak/node4", blind=[{"between": "gpu0", "and": "gpu2"}])
    blind = measured("sim:" + spec, at("blind.h5"), "--sizes", "128MiB")
    study = study_of(at("blind.h5"))
    check(blind.code == 3 and study["verdict"] == "slow" and [link["devices"] for link in study["slow_links"]] == [[f"sim:{spec}:{i}" for i in (0, 2)]],
          f"{blind.code} {study['verdict']} {study['slow_links']}")
    for what, text in (("screen", blind.out), ("report", run("report", at("blind.h5")).out)):
        text = " ".join(text.split())
        check("left out: all to all, write" in text and "all-to-all fp32" in text and "do not see each other's memory" in text, f"{what}: {text[-1500:]}")
    check("--access staged" not in run("collectives", "--device", "sim:" + spec, "--dry-run").out, "there is no such option")
    # Sockets make ways that are slower by design: nothing is sick there.
    sound = measured("sim:node8", at("sound.h5"), "--sizes", "128MiB", "--quiet")
    check(sound.code == 0 and sound.out.count("\n") == 1 and ": ok; " in sound.out, f"{sound.code} {sound.out}")
    check(not study_of(at("sound.h5"))["slow_links"], "a healthy node has no slow link")
    # All links at half of their rate: nothing of the node is faster, and what NVLinks of their generation carry tells it. Of
    # links whose generation is not known it is said that it cannot be seen.
    for gpus, version in ((2, "4.0"), (8, "4.0"), (8, None)):
        spec = node_of("all-slow.json", gpus=gpus, instead=[], links=[
            link("gpu*", 200, **({"nvlink_version": version} if version else {})), {"between": "gpu*", "and": "socket0", "gb_s": 50, "latency_us": 1}])
        slow = measured("sim:" + spec, at("all-slow.h5"), "--sizes", "128MiB", "--collective", "all-reduce", "--force")
        study = study_of(at("all-slow.h5"))
        if version:
            check(slow.code == 3 and len(study["slow_links"]) == 1 and len(study["slow_links"][0]["devices"]) == gpus and
                  "all copies of the ring run at 199.8 GB/s, 44 % of what 18 NVLinks 4.0 of 25 GB/s carry" in study["slow_links"][0]["text"], f"{gpus}: {slow.code} {study}")
        else:
            check(slow.code == 0 and not study["slow_links"] and "it is not noticed if all are equally slow" in study["links_judged_by"] and
                  "it is not noticed if all are equally slow" in " ".join(slow.out.split()), f"{slow.code} {study} {slow.out}")
    two = measured("sim:h200x2", at("two.h5"), "--sizes", "8,1GiB", "--timing", "host,gated", "--place", "out,in", "--type", "bf16,int8")
    check(two.code == 0, f"{two.code} {two.err}")
    for one in study_of(at("two.h5"))["operations"]:
        check(near(one["limit_bus_bytes_per_s"], 376 * GB) and near(one["share_of_limit"], 1), f"{one['title']}: {one}")
    check("all-to-all has no form in place" in two.err, two.err[-300:])

    # Four times the last size but one is more than 64 bits hold.
    huge = run("collectives", "--device", "sim:node8", "--end", "18000000000000000000", "--dry-run")
    check(huge.code == 0 and "do not fit into a GPU's memory" in huge.out + huge.err, f"{huge.code} {huge.out[-300:]}{huge.err[-300:]}")

    # Predicted: what the law says of a size between those that were measured.
    told = run("predict", at("big.h5"), "--all-reduce", "10MiB")
    truth = 2 * 63 * (1 + 10 * MIB / 64 / 400e9 * 1e6)
    check(told.code == 0 and told.out.startswith("SIMULATED all-reduce of 10 MiB of fp32 on 64 GPUs") and f"{truth:.1f} us" in told.out, f"{told.out}{told.err} {truth}")
    for words, what in ((("--all-reduce", "8"), "too far"), (("--all-reduce", "100GiB"), "too far")):
        refused = run("predict", at("big.h5"), *words)
        check(refused.code == 2 and what in refused.err, refused.err)

    told = json.loads(run("predict", at("big.h5"), "--all-reduce", "10MiB", "--json").out)
    check(told["document"] == "npgpu-collective-forecast" and len(told["forecasts"]) == 1, str(told)[:300])
    one = told["forecasts"][0]
    check(near(one["time_us"]["value"], truth) and near(one["bus_bytes_per_s"], 2 * 63 / 64 * 10 * MIB / truth * 1e6) and one["gpus"] == 64, str(one))
    # Two binary trees bring each GPU 2S, a ring 2S(n-1)/n.
    check(near(study_of(at("big.h5"))["operations"][0]["tree_limit_bus_bytes_per_s"], 400 * GB * 63 / 64), "the limit of trees")

    # Sizes minus and plus a perturbation.
    around = measured("sim:node8", at("around.h5"), "--collective", "all-reduce", "--start", "64", "--end", "1KiB", "--perturbation", "16", "--quiet")
    sizes = [point["bytes"] for point in json.loads(run("report", at("around.h5"), "--json").out)["collectives"][0]["points"]]
    check(around.code in (0, 4) and sizes == [48, 64, 80, 240, 256, 272, 1008, 1024, 1040], f"{around.code} {sizes} {around.err}")

    # Of every point it is said what was chosen.
    ways = measured("sim:node64", at("ways.h5"), "--collective", "all-reduce", "--sizes", "128MiB", "--launch", "eager,graph")
    check(ways.code == 0 and "in CUDA graphs" in ways.out, f"{ways.code} {ways.out[-500:]}{ways.err}")
    found = {}
    for series in json.loads(run("report", at("ways.h5"), "--json").out)["collectives"]:
        found[series["case"]["launch"]] = series["points"][0]["chosen"]
    chosen = {"algorithm": "ring", "protocol": "simple", "channels": None, "path": "P2P"}
    check(found == {"eager": chosen, "graph": chosen}, str(found))

    # Series of ways that are measured no more keep a table each, and say nothing of the node.
    old = os.path.join(SOURCE, "data", "traces", "h200x2_graphs.h5")
    text = run("report", old, "--all").out
    check(text.count(" all-reduce fp32 graph symmetric") == 1 and text.count(" all-reduce fp32 registered") == 1, text[-3000:])
    check(len(study_of(old)["operations"]) == 2 and len(json.loads(run("report", old, "--json").out)["collectives"]) == 6, "six series, two of them judged")

    # What NCCL chose is said where it is slow.
    h5py = library("h5py")
    if h5py:
        for path, channels, why in ((1, 24, "its bytes go by SHM although NVLinks join the GPUs"), (0, 1, "it uses one channel only")):
            shutil.copy(at("two.h5"), at("edited.h5"))
            with h5py.File(at("edited.h5"), "a") as file:
                for series in file["collectives"].values():
                    samples = series["samples"][:]
                    for column, value in (("path", path), ("channels", channels)):
                        samples[column] = value
                    for column in ("host_us", "device_us"):
                        samples[column] *= 4
                    series["samples"][:] = samples
            one = study_of(at("edited.h5"))["operations"][0]
            check(one["verdict"] == "slow" and one["slowed_by"].startswith(why) and why in one["why"], str(one))
            judged = run("check", "--trace", at("edited.h5"), "--all")
            check(judged.code == 3 and f"why: {why}" in " ".join(judged.out.split()), f"{judged.code} {judged.out[:1500]}")

    # A check of the whole node has an all-reduce of a small and of a large size, by the limit of its own links.
    def checked(device):
        done = run("check", "--level", "3", "--device", device, "--json", timeout=600)
        return done, {f["metric"]: f for f in json.loads(done.out)["findings"] if not f["device"] or f["health"] == "fail"}

    done, node = checked("sim:h200x2")
    check(done.code == 0 and node["all_reduce_rate"]["health"] == node["all_reduce_time"]["health"] == "pass", f"{done.code} {node}")
    check(near(node["all_reduce_rate"]["limit"], 188 * GB) and near(node["all_reduce_time"]["limit"], 20), str(node))
    written(at("sick.json"), {"name": "three GPUs, one with half of its NVLinks", "source": "test", "gpus": 3, "memory": [{"at": "socket0"}],
                              "gpu": os.path.join(SOURCE, "data/devices/h200-node.json"),
                              "links": [link("gpu*", 400), {"between": "gpu*", "and": "socket0", "gb_s": 60, "latency_us": 1}],
                              "instead": [link("gpu2", 200)]})
    done, node = checked(f"sim:{at('sick.json')}")
    check(done.code == 3 and node["peer_rate"]["device"].endswith("sick.json:2") and node["all_reduce_rate"]["health"] == "pass", f"{done.code} {node}")
    check(near(node["all_reduce_rate"]["limit"], 100 * GB), str(node["all_reduce_rate"]))
    # Where a trace has nothing but operations of all GPUs, the ring's slow link is named.
    judged = run("check", "--trace", at("half.h5"), "--json")
    slow = [f for f in json.loads(judged.out)["findings"] if f["metric"] == "ring_rate"]
    check(judged.code == 3 and [f["device"] for f in slow] == ["sim:node8-half-nvlink:5"], f"{judged.code} {slow}")

    # Wrong results.
    wrong = measured("sim:zeros", at("zeros.h5"), "--collective", "send-receive", "--sizes", "64MiB")
    check(wrong.code == 6 and "the results were wrong on sim:zeros:1" in wrong.out, f"{wrong.code} {wrong.out[-500:]}")
    check(study_of(at("zeros.h5"))["verdict"] == "broken", "and the trace says so")
    judged = run("check", "--trace", at("zeros.h5"), "--json")
    check(judged.code == 6 and any(f["metric"] == "collective_results" and f["health"] == "fail" for f in json.loads(judged.out)["findings"]), f"{judged.code}")

    # What is refused, in one sentence.
    for words, code, what in ((("--device", "sim:node8:0"), 77, "collectives need two GPUs"), (("--device", "sim:node8-sick"), 77, "cannot see the memory"),
                              (("--device", "host"), 2, "the host is none"), (("--device", "sim:node8", "--type", "fp64"), 2, "fp32, bf16, fp16 and int8"),
                              (("--device", "sim:node8", "--start", "1MiB", "--end", "8"), 2, "--start"),
                              (("--device", "sim:node8", "--collective", "allreduce"), 2, "all-reduce")):
        refused = run("collectives", *words, "--output", at("no.h5"))
        check(refused.code == code and what in refused.err and refused.err.count("npgpu:") == 1, f"{words}: {refused.code} {refused.err}")
        check(not os.path.exists(at("no.h5")), f"{words}: no trace")

    # Tables, exporters, comparison.
    import npgpu
    table = npgpu.load(at("half.h5")).of_kind("collectives")
    check(set(table["operation"]) == {"all-reduce", "all-to-all"} and (table["counts"] == "bytes of the bus bandwidth").all(), str(table[:3]))
    trials = npgpu.samples(at("half.h5"), "collectives") if hasattr(npgpu, "samples") else npgpu.load(at("half.h5")).samples("collectives")
    check(set(trials["lane"]) == set(range(8)), "a sample for each GPU")
    same = run("compare", at("half.h5"), at("half.h5"))
    check(same.code == 0 and "all-reduce" in run("compare", at("half.h5"), at("half.h5"), "--all").out + same.out, f"{same.code} {same.out[-300:]}")
    for form in ("csv", "json"):
        check("all-reduce" in run("export", at("half.h5"), "--format", form, *(["--table", "collectives"] if form == "csv" else [])).out, form)
    screen = run("report", at("half.h5"), "--all").out
    check("SIMULATED collectives of 8 GPUs" in screen and "bus GB/s" in screen, screen[:300])
    drawn = python("-m", "npgpu.plots", "collectives", at("half.h5"), "--output", at("half.png"))
    check(drawn.returncode == 0 and os.path.getsize(at("half.png")) > 10000, drawn.stderr)

    # A row of the first table has by what its operation differs from others, also where a screen is narrow.
    for columns, trace, rows in (("80", "h200x2_graphs", {"all-reduce", "all-reduce, in graphs"}),
                                 ("100", "h200x2_graphs", {"all-reduce", "all-reduce, in graphs"})):
        lines = run("report", os.path.join(SOURCE, "data", "traces", f"{trace}.h5"), env={"COLUMNS": columns}).out.splitlines()
        begin = next((i for i, line in enumerate(lines) if line.startswith("  operation (fp32) ")), None)
        rows_of = [line for line in lines[(begin or 0) + 1:] if line.startswith("    ") and not line.startswith("      ")]  # what is folded is below
        named = [] if begin is None else [line.strip().split("  ")[0] for line in rows_of[:2]]
        check(rows <= set(named) and len(set(named)) == len(named), f"{trace}: {named}")

    # What all operations have stands in the header, if there is anything.
    for types, header in (("bf16", "operation (bf16)"), ("fp32,bf16", "operation ")):
        lines = measured("sim:node8", at("types.h5"), "--sizes", "1MiB", "--collective", "all-reduce", "--type", types, "--force").out.splitlines()
        heads = [line.strip() for line in lines if " time us " in line and line.strip().startswith("operation")]
        check(len(heads) == 1 and heads[0].startswith(header) and "()" not in heads[0], f"{types}: {heads}")

    # Killed three times, each time somewhere else: nothing that was measured is lost.
    for number, delay in enumerate((0.15, 0.3, 0.6)):
        path = at(f"killed{number}.h5")
        words = [PROGRAM, "collectives", "--device", "sim:node64", "--output", path, "--progress", "points"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as ran:
            time.sleep(delay)
            ran.send_signal(signal.SIGKILL)
            said = ran.stderr.read().count("\n")
        if os.path.exists(path):
            check(run("report", path, "--json").code == 0, "the trace is whole")
        again = run("collectives", "--device", "sim:node64", "--output", path, "--resume", "--quiet")
        check(again.code == 0 and near(study_of(path)["operations"][0]["limit_bus_bytes_per_s"], 400 * GB), f"after {said} points: {again.code} {again.err}")

check.finish()
