"""npgpu matrix on simulated nodes, whose every rate follows from their links."""
import json
import os

from npgpu_run import SOURCE, Checks, folder, needs, run, written

h5py = needs("h5py")
check = Checks()
NODES = os.path.join(SOURCE, "data/devices/nodes")
SIZES = ("--sizes", "256KiB", "--rounds", "2")


def near(value, expected, share=0.01):
    return value is not None and abs(value / expected - 1) <= share


def matrix_of(report, **key):
    found = [m for m in report["matrices"] if all(m[k] == v for k, v in key.items())]
    check(len(found) == 1, f"one matrix of {key}, not {len(found)}")
    return {(c["source"], c["target"]): c for c in found[0]["cells"]} if found else {}


def bad(node):
    """Findings that do not pass, the most serious first."""
    return [f for f in node["findings"] if f["health"] not in ("pass", "skip")]


def measured(node, where, *more):
    path = os.path.join(where, node + ".h5")
    done = run("matrix", "--device", f"sim:{node}", "--output", path, "--json", *SIZES, *more)
    return path, done


LINKS8 = [{"between": f"gpu{i}", "and": f"switch{i // 4}", "gb_s": 50, "latency_us": 0.5} for i in range(8)] + [
    {"between": "switch0", "and": "socket0", "gb_s": 50, "latency_us": 0.5}, {"between": "switch1", "and": "socket1", "gb_s": 50, "latency_us": 0.5},
    {"between": "socket0", "and": "socket1", "gb_s": 40, "latency_us": 1}]
MESH4 = [{"between": "gpu*", "and": "socket0", "gb_s": 50}] + [
    {"between": f"gpu{a}", "and": f"gpu{b}", "gb_s": 100, "nvlinks": 4} for a in range(4) for b in range(a)]


def of_node8(**more):
    return {"name": "node8, sick", "source": "a test", "gpu": os.path.join(SOURCE, "data/devices/plain.json"), "gpus": 8,
            "memory": [{"at": "socket0"}, {"at": "socket1"}], "links": LINKS8, "caps": {"kernel_gb_s": 45, "staged_gb_s": 20}, **more}


def of_mesh(**more):
    return {"name": "four joined by links of their own", "source": "a test", "gpu": os.path.join(SOURCE, "data/devices/plain.json"),
            "gpus": 4, "memory": [{"at": "socket0"}], "links": MESH4, **more}


# What is wrong with a node; exit code; of the first finding its cause and how it begins, with {} for the node.
SICK = [
    ("healthy", of_node8(), 0, None, None),
    ("one GPU's link", of_node8(instead=[{"between": "gpu5", "and": "switch1", "gb_s": 25, "latency_us": 0.5}]), 3, "link",
     "copies between {}:5 and all other GPUs and the host are slow"),
    ("one GPU's way out", of_node8(instead=[{"between": "gpu5", "and": "switch1", "gb_s": 25, "back_gb_s": 50, "latency_us": 0.5}]), 3,
     "link", "copies from {}:5 to all other GPUs and the host are slow"),
    ("a switch's link to its socket", of_node8(instead=[{"between": "switch1", "and": "socket1", "gb_s": 25, "latency_us": 0.5}]), 3,
     "bridge", "copies between the 4 GPUs below the bridge switch1 and "),
    ("a link between sockets one way", of_node8(instead=[{"between": "socket0", "and": "socket1", "gb_s": 40, "back_gb_s": 20,
                                                          "latency_us": 1}]), 3, "beyond_bridge", "copies from all GPUs elsewhere to the 4 GPUs"),
    ("zeros of one pair", of_node8(zeros=[{"between": "gpu0", "and": "gpu1"}]), 6, "peer_redirected", "copies between {}:0 and {}:1 deliver zeros"),
    ("zeros and a slow link", of_node8(zeros=[{"between": "gpu0", "and": "gpu1"}],
                                       instead=[{"between": "gpu5", "and": "switch1", "gb_s": 25, "latency_us": 0.5}]),
     6, "peer_redirected", "copies between {}:0 and {}:1 deliver zeros"),
    ("a blind pair", of_node8(blind=[{"between": "gpu1", "and": "gpu2"}]), 3, "no_peer_access", "copies between {}:1 and {}:2 go through the host"),
    ("all blind", of_node8(blind=[{"between": f"gpu{i}", "and": f"gpu{j}"} for i in range(8) for j in range(i)]), 0, None, None),
    ("a wrong NUMA node", of_node8(numa_node=[{"of": "gpu3", "is": 1}]), 3, "numa_firmware", "copies between host and {}:3 are slow"),
    ("a pair of NVLinks", of_mesh(instead=[{"between": "gpu2", "and": "gpu1", "gb_s": 50, "nvlinks": 4}]), 3, "nvlink",
     "copies between {}:1 and {}:2 are slow"),
    ("one direction of NVLinks", of_mesh(instead=[{"between": "gpu2", "and": "gpu1", "gb_s": 100, "back_gb_s": 60, "nvlinks": 4}]), 3,
     "nvlink", "copies {}:1 -> {}:2 are slow: 60 GB/s"),
    ("a GPU's NVLinks", of_mesh(instead=[{"between": f"gpu{max(2, i)}", "and": f"gpu{min(2, i)}", "gb_s": 50, "nvlinks": 4} for i in (0, 1, 3)]),
     3, "nvlink", "copies between {}:2 and all other GPUs are slow"),
    ("zeros over NVLink", of_mesh(zeros=[{"between": "gpu0", "and": "gpu1"}]), 6, "fabric", "copies between {}:0 and {}:1 deliver zeros"),
]


def sick_nodes(where):
    """The right place and the right cause come first, with check's exit codes; few findings."""
    for what, spec, code, cause, begin in SICK:
        file = written(os.path.join(where, what.replace(" ", "-").replace("'", "") + ".json"), spec)
        made = run("matrix", "--device", f"sim:{file}", "--only", "pairs,host", "--access", "write", "--executor", "copy-engine",
                   "--json", *SIZES, "--output", file + ".h5")
        found = bad(json.loads(made.out)["matrix"])
        texts = [f["text"] for f in found]
        check(made.code == code, f"{what}: exit code {made.code}, not {code}: {texts}")
        if cause is None:
            check(not found, f"{what}: {texts}")
            continue
        passed = [f["text"] for f in json.loads(made.out)["matrix"]["findings"] if f["health"] == "pass"]
        check(code != 3 or not any(text.startswith("no rate is more than") for text in passed), f"{what}: {passed}")
        check(found and texts[0].startswith(begin.replace("{}", f"sim:{file}")), f"{what}: {texts}")
        why = found[0]["explanations"][0] if found else {}
        check(why.get("cause") == cause and (cause != "nvlink" or "4 NVLinks" in why["evidence"]), f"{what}: {why}")
        check(len(found) == (2 if " and a " in what else 1), f"{what}: one finding for one place: {texts}")


def said_once(where):
    """Copies with the host that are slow below one bridge have limits of their own, and are not said again GPU by GPU."""
    file = written(os.path.join(where, "bridge.json"), of_node8(instead=[{"between": "switch1", "and": "socket1", "gb_s": 25, "latency_us": 0.5}]))
    made = run("matrix", "--device", f"sim:{file}", "--only", "pairs,host", "--sizes", "64MiB", "--rounds", "2", "--json", "--output", file + ".h5")
    found = [f["text"] for f in bad(json.loads(made.out)["matrix"])]
    check(made.code == 3 and len(found) == 1 and "switch1 and the host" in found[0], found)


def one_verdict(where):
    """A trace has one verdict, whoever is asked: matrix and check, of each sick GPU, too."""
    for file in sorted(os.listdir(os.path.join(SOURCE, "data/devices/sick"))):
        name = file.removesuffix(".json")
        path = os.path.join(where, name + ".h5")
        made = run("matrix", "--device", f"sim:{name}", "--only", "host,both", "--sizes", "64MiB", "--rounds", "2", "--quiet", "--output", path)
        judged = run("check", "--trace", path, "--quiet")
        check(made.code == judged.code, f"{name}: matrix {made.code} {made.out} {made.err}, check {judged.code} {judged.out}")


with folder() as where:
    # Four GPUs on a switch: 50 GB/s between them; 40 between the sockets; 45 for kernels.
    path, made = measured("node8", where, "--access", "write,read", "--executor", "copy-engine")
    check(made.code == 0, made.err)
    made = run("matrix", "--device", "sim:node8", "--output", path, "--append", "--json", *SIZES, "--only", "pairs",
               "--access", "read", "--executor", "sm-kernel")
    check(made.code == 0, made.err)
    node = json.loads(made.out)["matrix"]
    check([d["id"] for d in node["devices"]] == [f"sim:node8:{i}" for i in range(8)], "eight GPUs in order")
    check(set(node["links"]) == {"PCIe within one switch", "PCIe and the link between two sockets"}, f"links: {node['links']}")
    check(not bad(node) and node["verdict"] == "ok" and not node["is_sampled"], f"nothing stands out: {node['findings']}")
    for executor, access, both, most in (("copy-engine", "write", False, 50), ("copy-engine", "write", True, 50),
                                         ("copy-engine", "read", False, 50), ("copy-engine", "read", True, 50),
                                         ("sm-kernel", "read", False, 45)):
        cells = matrix_of(node, executor=executor, access=access, both_ways=both, unit="bytes per second")
        pairs = {k: c for k, c in cells.items() if "host" not in k and k[0] != k[1]}
        check(len(pairs) == 56, f"{len(pairs)} pairs by {executor}")
        wrong = [(k, c["value"]["value"]) for k, c in pairs.items()
                 if not near(c["value"]["value"] / 1e9,
                             min(most, 50 if int(k[0][-1]) // 4 == int(k[1][-1]) // 4 else 40))]
        check(not wrong, f"{access} by {executor}, both ways {both}: within 1 % of the links; wrong {wrong[:3]}")
    # A part by itself is a matrix too.
    for part, has in (("together", "together"), ("host", "matrices")):
        alone = run("matrix", "--device", "sim:h200x2", "--output", os.path.join(where, part + ".h5"), "--json", *SIZES,
                    "--only", part)
        check(alone.code == 0, alone.err)
        found = json.loads(alone.out)["matrix"]
        check(found and len(found["devices"]) == 2 and found[has] and not found["is_sampled"], f"--only {part}: {found}")
    for pattern in ("chase", "atomic"):
        loads = matrix_of(node, pattern=pattern)
        check(near(loads["sim:node8:0", "sim:node8:1"]["value"]["value"], 2.5), f"{pattern}: twice two links of 0.5 us, and the memory's 500 cycles")
        check(near(loads["sim:node8:0", "sim:node8:7"]["value"]["value"], 6.5), f"{pattern} to the other socket: 6.5 us")
        check(near(loads["sim:node8:0", "sim:node8:0"]["value"]["value"], 0.5), f"{pattern} of its own memory: 500 cycles")
        check(len(loads) == 56 + 16, f"{pattern}: every pair, and each GPU with the host and itself: {len(loads)}")
    flags = matrix_of(node, pattern="flag")
    check(near(flags["sim:node8:0", "sim:node8:1"]["value"]["value"], 1.0), "a flag one way: two links of 0.5 us")
    check(near(flags["sim:node8:0", "sim:node8:7"]["value"]["value"], 3.0), "a flag to the other socket: 3 us")
    check(len(flags) == 28 + 16, f"flags: each pair once, and each GPU with the host and itself: {len(flags)}")
    narrow = run("report", path, "--all", env={"COLUMNS": "80"}).out
    narrow = narrow[narrow.index("many copies at once"):].splitlines()[1:]
    narrow = [line for line in narrow[:narrow.index("")] if not line.startswith("      ")]  # what is folded is below
    check(len(narrow) == len(set(narrow)) > 5, f"80 columns keep what distinguishes many copies at once: {narrow}")
    together = {(t["name"], t["executor"], t["access"]): t for t in node["together"]}
    # Each switch has one link up: 50 GB/s for four GPUs. A copy to or from the host begins 0.5 us after the one before.
    lane = 256 * 1024 / (256 * 1024 / 12.5e3 + 0.5) / 1e3
    to_all = together["host to 8 GPUs", "copy-engine", "write"]
    check(near(to_all["sum"]["value"] / 1e9, 8 * lane) and near(to_all["fairness"], 1), f"host to all: {to_all['sum']}")
    both = together["host to and from 8 GPUs", "copy-engine", "write"]
    check(near(both["sum"]["value"] / 1e9, 16 * lane), f"both ways: {both['sum']}")
    # To gpu0 come 50 GB/s over its link: max-min, seven lanes have a seventh each.
    to_one = together["all to one: sim:node8:0", "copy-engine", "write"]
    check(near(to_one["sum"]["value"] / 1e9, 50) and near(to_one["fairness"], 1), f"all to one: {to_one['sum']}")
    # A ring crosses the sockets once each way: 6 lanes at 50, 2 at 40.
    ring = together["ring", "copy-engine", "write"]
    check(near(ring["sum"]["value"] / 1e9, 380) and near(ring["fairness"], 0.8), f"ring: {ring['sum']}")
    # 16 lanes share 40 GB/s each way between the sockets; the others have what they leave of 50 of each GPU's link.
    every = together["all to all", "copy-engine", "write"]
    check(near(every["sum"]["value"] / 1e9, 8 * 50), f"all to all: {every['sum']}")
    shown = run("report", path, "--all")
    for words in ("writes by copy engines", "reads by a kernel", "latency of a load", "of an atomic addition", "until a flag is seen", "all to all", "no rate is more than 10 %"):
        check(words in shown.out, f"npgpu report says '{words}'")
    table = run("export", path, "--format", "csv", "--table", "transfers", "--summary")
    check(table.code == 0 and "peer" in table.out, "csv has its points")

    # Each GPU with the memory of both sockets: near, a PCIe switch's 50 GB/s; far, the 40 GB/s between the sockets. A copy
    # begins 0.5 us after the one before.
    def host_rate(gb_s):
        return 256 * 1024 / (256 * 1024 / (gb_s * 1e3) + 0.5) / 1e3

    near_rate, far_rate = host_rate(50), host_rate(40)
    cost = 1 - far_rate / near_rate
    numa = node["numa"]
    check(numa["host_nodes"] == [0, 1] and len(numa["gpus"]) == 8 and not numa["wrong"], f"two nodes, eight GPUs: {numa}")
    for i, gpu in enumerate(numa["gpus"]):
        check(gpu["id"] == f"sim:node8:{i}" and gpu["system_node"] == gpu["fastest_node"] == i // 4, f"near node of {gpu['id']}")
        check(len(gpu["cells"]) == 4 and all(
            near(c["rate_bytes_per_s"]["value"] / 1e9, near_rate if c["host_node"] == i // 4 else far_rate)
            for c in gpu["cells"]), f"within 1 % of the links: {gpu['cells']}")
        check(len(gpu["costs"]) == 2 and all(
            c["is_slower"] and c["host_node"] == 1 - i // 4 and near(c["share"]["value"], cost) and
            c["share"]["low"] <= c["share"]["value"] <= c["share"]["high"] for c in gpu["costs"]), f"the far node's cost: {gpu['costs']}")
    said = f"node 1 costs {100 * numa['gpus'][0]['costs'][0]['share']['value']:.1f} % ("
    check([len(c["devices"]) for c in numa["costs"]] == [4, 4] and said in numa["costs"][0]["text"], f"one sentence a socket: {numa['costs']}")

    # One link at half its rate, and one pair through the host: both are named, with their links, and nothing else.
    path, made = measured("node8-sick", where, "--only", "pairs,both,host", "--executor", "copy-engine", "--access", "write")
    check(made.code == 3 and "slow: copies between sim:node8-sick:5" in made.err, f"{made.code} {made.err}")
    node = json.loads(made.out)["matrix"]
    found = bad(node)
    texts = [f["text"] for f in found]
    check(len(found) == 2 and all(f["if_failed"] == "slow" for f in found), f"a finding each: {texts}")
    check(found[0]["device"] == "sim:node8-sick:5" and "all other GPUs and the host are slow: 24" in texts[0] and
          "pairs on the same kind of link reach" in texts[0] and found[0]["explanations"][0]["cause"] == "link",
          f"the slow GPU: {found[0]}")
    check(found[1]["devices"] == ["sim:node8-sick:1", "sim:node8-sick:2"] and "go through the host" in texts[1] and
          "within one switch" in found[1]["explanations"][0]["evidence"], f"the pair through the host: {found[1]}")
    cells = matrix_of(node, executor="copy-engine", access="write", both_ways=False)
    check(cells["sim:node8-sick:1", "sim:node8-sick:2"]["access"] == "staged", "its cell says so")
    check(near(cells["sim:node8-sick:1", "sim:node8-sick:2"]["value"]["value"] / 1e9, 20), "20 GB/s through the host")
    check(near(cells["sim:node8-sick:5", "sim:node8-sick:4"]["value"]["value"] / 1e9, 25), "half the rate")

    # 64 GPUs: the number of cases grows with their number.
    path, made = measured("node64", where, "--only", "pairs", "--access", "write", "--executor", "copy-engine")
    check(made.code == 0, made.err)
    report = json.loads(made.out)
    check(len(report["transfers"]) == 3 * 64, f"{len(report['transfers'])} pairs of 64 GPUs")
    check(report["matrix"]["is_sampled"], "sampled")
    check(all(near(c["value"]["value"] / 1e9, 400) for c in report["matrix"]["matrices"][0]["cells"]), "400 GB/s each")
    check("median out" in run("report", path, "--case", "transfers").out, "a row a GPU")
    planned = run("matrix", "--device", "sim:node64", "--only", "pairs", "--access", "write", "--executor", "copy-engine",
                  "--every-pair", "--dry-run", "--json")
    check(sum(len(b["points"]) for b in json.loads(planned.out)["transfers"]) == 64 * 63, "all pairs on demand")

    # A firmware that names the wrong NUMA node of one GPU. Where there is one node, that is said and nothing measured.
    path, made = measured("node8-firmware", where, "--only", "numa")
    check(made.code == 3, f"{made.code} {made.err}")
    report = json.loads(made.out)
    wrong = report["matrix"]["numa"]["wrong"]
    check(len(report["transfers"]) == 32, f"8 GPUs, 2 nodes, 2 directions: {len(report['transfers'])}")
    check([w["devices"] for w in wrong] == [["sim:node8-firmware:3"]] and [f["text"] for f in bad(report["matrix"])] == [wrong[0]["text"]] and
          f"names NUMA node 1 as its nearest, and node 0 is faster: {said}" in wrong[0]["text"],
          f"the wrong node: {wrong}")
    shown, page = run("report", path), os.path.join(where, "numa.html")
    check("SLOW" in shown.out and "copies between NUMA nodes of the host" in shown.out, shown.out[-2000:])
    check(run("report", path, "--html", page).code == 0 and "node 0 is faster" in open(page).read(), "the page has it")
    path, made = measured("h200x2", where, "--only", "host,both,numa", "--executor", "copy-engine", "--access", "write")
    check(made.code == 0 and not json.loads(made.out)["matrix"]["numa"]["gpus"], made.err)
    check("one NUMA node" in made.err and run("report", path, "--all").out.count("the host has one NUMA node: there is no other") == 1, made.err)
    alone = run("matrix", "--device", "sim:h200x2", "--only", "numa", "--output", os.path.join(where, "one.h5"))
    check(alone.code == 77 and "one NUMA node" in alone.err, f"one node: {alone.code} {alone.err}")
    asked = ("transfer", "--device", "sim:node8:0", "--async", "--sizes", "1MiB", "--output", os.path.join(where, "t.h5"))
    done = run(*asked, "--host-node", "all", "--json")
    check(done.code == 0 and [t["case"]["host_node"] for t in json.loads(done.out)["transfers"]] == [0, 1], done.err)
    for given, why in ((("--host-node", "2"), "NUMA nodes 0, 1"), (("--host-node", "0", "--no-bind"), "exclude each other"),
                       (("--host-node", "x"), "--host-node")):
        done = run(*asked, "--force", *given)
        check(done.code == 2 and why in done.err, f"{given}: {done.code} {done.err}")
    done = run("transfer", "--device", "host", "--host-node", "999", "--sizes", "1KiB", "--output", os.path.join(where, "h.h5"))
    check(done.code == 2 and "--host-node 999: this machine has" in done.err, done.err)

    # Series of older traces that were measured while a second process used the GPU keep a table each, and say nothing of the node.
    kept = os.path.join(SOURCE, "data", "traces", "h200_processes.h5")
    shown = run("report", kept, "--all").out
    check(shown.count("beside=kernels") == 6 and json.loads(run("report", kept, "--json").out)["matrix"] is None, shown[-3000:])
    hidden = run("matrix", "--output", os.path.join(where, "none.h5"), env={"CUDA_VISIBLE_DEVICES": ""})
    check(hidden.code == 77 and "a matrix needs GPUs" in hidden.err, f"without a GPU: {hidden.code} {hidden.err}")

    # Copies that deliver zeros: one finding, the reason first, in few lines, and no GPU is blamed.
    path, made = measured("zeros", where, "--only", "pairs", "--access", "write", "--executor", "copy-engine")
    found = bad(json.loads(made.out)["matrix"])
    check(made.code == 6 and len(found) == 1 and found[0]["explanations"][0]["cause"] == "peer_redirected" and
          found[0]["text"].startswith("copies between sim:zeros:0 and sim:zeros:1 deliver zeros ("), f"zeros: {made.code} {found}")
    judged = run("check", "--trace", path, "--json")
    blamed = [f for f in json.loads(judged.out)["findings"] if f["health"] == "fail"]
    check(judged.code == 6 and [f["metric"] for f in blamed] == ["peer_results"], f"check says the same: {judged.code} {blamed}")
    two = run("matrix", "--device", "sim:zeros:0,sim:zeros:1", "--output", os.path.join(where, "two.h5"))
    lines = (two.out + two.err).splitlines()
    check(two.code == 6 and len(lines) <= 20, f"zeros between two GPUs: {two.code}, {len(lines)} lines: {two.out} {two.err}")
    check("BROKEN" in two.out and "IOMMU, ACS" in " ".join(two.out.split()) and "NCCL_P2P_DISABLE" in two.out, two.out)
    quiet = run("matrix", "--device", "sim:zeros:0,sim:zeros:1", "--only", "pairs", "--quiet", "--output", os.path.join(where, "q.h5"))
    check(quiet.code == 6 and len(quiet.out.splitlines()) == 1 and ": broken, 2 GPUs: copies between sim:zeros:0 and sim:zeros:1 deliver zeros" in quiet.out and
          "IOMMU" in quiet.out and not quiet.err, f"one line: {quiet.out} {quiet.err}")
    sick_nodes(where)
    said_once(where)
    one_verdict(where)
    check(run("matrix", "--device", "host").code == 2, "the host alone has no matrix")

check.finish()
