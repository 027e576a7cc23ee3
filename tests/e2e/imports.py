"""npgpu record --import: what torch.profiler and Nsight Systems recorded becomes the same trace. The kept recording of an
H200 is written in both forms, and gives the same step; files that are cut off, wrong or hostile are refused in one
sentence."""
import gzip
import json
import os
import random
import sqlite3

from npgpu_run import SOURCE, Checks, below, folder, needs, run, written

h5py = needs("h5py")
check = Checks()
KEPT = os.path.join(SOURCE, "data", "traces", "h200_record.h5")
NODE = os.path.join(SOURCE, "data", "traces", "h200_node.h5")
SYNC = {"event": 1, "event in a stream": 2, "stream": 3, "context": 4}
MEMORY = ["Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"]  # as CUPTI counts


def memory(word):
    return next(name for name in MEMORY if name.lower().replace(" ", "-") == word)


def events(path):
    """All that a recording holds, with times in ns."""
    with h5py.File(path) as file:
        for series in file["records"].values():
            case = dict(series.attrs)
            visits = series["visits"][:]
            for s in series["samples"][:]:
                one = {**{name: int(s[name]) for name in ("correlation", "stream", "thread", "graph")},
                       **{name: int(visits[s["visit"]][name]) for name in visits.dtype.names if name.startswith(("grid_", "block_"))}}
                for name in ("bytes", "registers", "static_shared_bytes", "dynamic_shared_bytes"):
                    one[name] = int(visits[s["visit"]][name])
                yield {**one, "activity": case["activity"], "name": case["name"], "source": case.get("source"),
                       "target": case.get("target"), "start": 10**9 + round(float(s["start_us"]) * 1000),
                       "end": 10**9 + round(float(s["end_us"]) * 1000)}


def sides(e, what):
    return [e[f"{what}_{axis}"] for axis in "xyz"]


def kineto(all_of_it, without=()):
    """As torch.profiler's export_chrome_trace() writes it; times as text, because they have digits of their own."""
    out = [{"ph": "M", "name": "process_name", "pid": 4711, "tid": 0, "ts": 0, "args": {"name": "python"}},
           {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 4711, "tid": 9, "ts": 1, "dur": 2,
            "args": {"Input Dims": [[64], []], "External id": 1}},
           {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 2}]
    for e in all_of_it:
        one = {"ph": "X", "ts": e["start"] / 1000, "dur": (e["end"] - e["start"]) / 1000, "pid": 0, "tid": e["stream"]}
        args = {"External id": 2, "device": 0, "context": 1, "stream": e["stream"], "correlation": e["correlation"]}
        if e["activity"] == "kernel":
            one.update(cat="kernel", name=e["name"], args={**args, "registers per thread": e["registers"], "grid": sides(e, "grid"),
                       "block": sides(e, "block"), "shared memory": e["static_shared_bytes"] + e["dynamic_shared_bytes"],
                       "est. achieved occupancy %": 17})
        elif e["activity"] == "copy":
            way = f"{memory(e['source'])} -> {memory(e['target'])}"
            one.update(cat="gpu_memcpy", name=f"Memcpy HtoD ({way})", args={**args, "bytes": e["bytes"]})
        elif e["activity"] == "memset":
            one.update(cat="gpu_memset", name=f"Memset ({memory(e['target'])})", args={**args, "bytes": e["bytes"]})
        elif e["activity"] == "wait":
            kind = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}[SYNC[e["name"]]]
            one.update(cat="cuda_sync", name=kind, args={**args, "cuda_sync_kind": kind})
        else:
            one.update(cat="cuda_runtime", name=e["name"], pid=4711, tid=4711, args={"cbid": 211, "correlation": e["correlation"]})
        if one["cat"] not in without:
            out.append(one)
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150110011392, "numSms": 132}],
            "displayTimeUnit": "ms", "baseTimeNanoseconds": 1727740800000000000, "traceEvents": out, "traceName": "t.json"}


TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId streamId correlationId globalPid demangledName shortName registersPerThread "
                                  "gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId streamId correlationId globalPid value bytes memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start end deviceId contextId streamId correlationId globalPid syncType eventId",
}
PID, TID = 4711 << 24, 4711 << 24 | 4712


def nsys(path, all_of_it, without=(), change=None):
    """As nsys export --type sqlite writes it."""
    base = sqlite3.connect(path)
    ids = {}

    def text(value):
        return ids.setdefault(value, len(ids) + 7)

    rows = {table: [] for table in TABLES}
    for e in all_of_it:
        at = {"start": e["start"], "end": e["end"], "deviceId": 0, "contextId": 1, "streamId": e["stream"],
              "correlationId": e["correlation"], "globalPid": PID, "globalTid": TID, "eventClass": 0, "returnValue": 0}
        if e["activity"] == "kernel":
            at.update(demangledName=text(e["name"]), shortName=text(e["name"].split("(")[0]), registersPerThread=e["registers"],
                      staticSharedMemory=e["static_shared_bytes"], dynamicSharedMemory=e["dynamic_shared_bytes"])
            for axis in "xyz":
                at[f"grid{axis.upper()}"], at[f"block{axis.upper()}"] = e[f"grid_{axis}"], e[f"block_{axis}"]
        elif e["activity"] == "copy":  # one lower than CUPTI's codes
            at.update(bytes=e["bytes"], copyKind=1, srcKind=MEMORY.index(memory(e["source"])) - 1, dstKind=MEMORY.index(memory(e["target"])) - 1)
        elif e["activity"] == "memset":
            at.update(bytes=e["bytes"], value=0, memKind=MEMORY.index(memory(e["target"])) - 1)
        elif e["activity"] == "wait":
            at.update(syncType=SYNC[e["name"]])
        else:
            at.update(nameId=text(e["name"] + "_v3020"))
        table = "CUPTI_ACTIVITY_KIND_" + {"kernel": "KERNEL", "copy": "MEMCPY", "memset": "MEMSET", "wait": "SYNCHRONIZATION", "call": "RUNTIME"}[e["activity"]]
        rows[table].append([at.get(column) for column in TABLES[table].split()])
    for table, columns in TABLES.items():
        if rows[table] and table not in without:
            base.execute(f"CREATE TABLE {table} ({', '.join(f'`{c}` INTEGER' for c in columns.split())})")
            base.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns.split()))})", rows[table])
    base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, value) for value, number in ids.items()])
    if "ENUM_CUDA_MEM_KIND" not in without:
        base.execute("CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT)")
        base.executemany("INSERT INTO ENUM_CUDA_MEM_KIND VALUES (?, ?, ?)",
                         [(i, "CUDA_MEMOPR_MEMORY_KIND_" + m.upper(), m) for i, m in enumerate(MEMORY[1:])])
    base.executescript("""CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
        INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2024.6.2'), ('EXPORT_SCHEMA_VERSION', '3.16.1');
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, busLocation TEXT, uuid TEXT);
        INSERT INTO TARGET_INFO_GPU VALUES (3, 'NVIDIA H200', '0000:00:06.0', '7316160f-c818-04d9-6b2c-302932f5c4e9'), (0, 'another', '', '');
        CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
        INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 4711);""")
    for statement in change or []:
        base.execute(statement)
    base.commit()
    base.close()
    return path


def forecast(path):
    done = run("predict", path, "--on", NODE, "--json")
    check(done.code == 0, done.err)
    return json.loads(done.out)


def imported(source, target):
    return run("record", "--import", source, "-o", target, "--force")


with folder() as where:
    at = below(where)
    everything = list(events(KEPT))
    kept = forecast(KEPT)
    chrome = written(at("trace.json"), kineto(everything))
    with gzip.open(at("trace.json.gz"), "wt") as file:
        file.write(open(chrome).read())
    forms = {"trace.json": chrome, "trace.json.gz": at("trace.json.gz"), "nsys.sqlite": nsys(at("nsys.sqlite"), everything)}
    for name, source in forms.items():
        done = imported(source, at("app.h5"))
        check(done.code == 0 and "120 copies, 120 kernels, of" in done.err and " lacks: " in done.err, f"{name}: {done.err}")
        of = forecast(at("app.h5"))
        check(abs(of["step_us"]["value"] / kept["step_us"]["value"] - 1) < 0.01 and of["steps"] == kept["steps"],
              f"{name}: the step {of['step_us']} for {kept['step_us']}")
        check(abs(of["played_us"] / kept["played_us"] - 1) < 0.01, f"{name}: played {of['played_us']} for {kept['played_us']}")
        check([a["change"] for a in of["advice"]] == [a["change"] for a in kept["advice"]], f"{name}: {of['advice']}")
        check(of["device_name"] == "NVIDIA H200", of["device_name"])
        check([(i["name"], i["source"], i["target"], i["registers"]) for i in of["items"]] ==
              [(i["name"], i["source"], i["target"], i["registers"]) for i in kept["items"]], f"{name}: {of['items']}")
        times = [sorted((s["start"], s["activity"], s["correlation"]) for s in events(path)) for path in (KEPT, at("app.h5"))]
        check(all(abs(a[0] - b[0]) <= 1 and a[1:] == b[1:] for a, b in zip(*times)) and len(times[0]) == len(times[1]), f"{name}: to the ns")
        with h5py.File(at("app.h5")) as file:
            facts = dict(file["provenance/process_0"].attrs)
            check(facts["pid"] == 4711 and facts["imported_from"].startswith(("torch.profiler", "Nsight Systems 2024.6.2")) and
                  "dropped" not in facts and "how many records were dropped" in facts["lacks"] and "host" not in file["provenance"] and file.attrs["hostname"] == "unknown", f"{name}: {facts}")
            gpu = dict(file["provenance/gpu0"].attrs)
            check(gpu["uuid"] == ("GPU-7316160f-c818-04d9-6b2c-302932f5c4e9" if "nsys" in name else ""), f"{name}: {gpu}")
        said = run("report", at("app.h5"), "--all").out
        check("process_0 was recorded by" in said and "its file lacks: " in said, said[-500:])

    # what a file does not have
    few = kineto(everything, without=("cuda_sync", "cuda_runtime"))
    done = imported(written(at("few.json"), few), at("few.h5"))
    check(done.code == 0 and "calls of CUDA; what was waited for" in done.err, done.err)
    old = nsys(at("old.sqlite"), everything, without=("ENUM_CUDA_MEM_KIND", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"),
               change=["ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName", "DROP TABLE TARGET_INFO_GPU",
                       "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER)"])
    done = imported(old, at("old.h5"))
    check(done.code == 0 and "what was waited for; what graphs did" in done.err and "UUIDs of GPUs" in done.err, done.err)
    with h5py.File(at("old.h5")) as file:
        found = {(s.attrs["activity"], s.attrs["name"], s.attrs["source"]) for s in file["records"].values()}
    check({("copy", "", "pageable"), ("kernel", "work", "unknown")} <= found, f"by one lower than CUPTI's codes, and the short name: {found}")
    check(imported(nsys(at("two.sqlite"), everything, change=[f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, globalPid, bytes) "
                                                              f"VALUES (5, 6, {5 << 24}, 7)"]), at("two.h5")).code == 0, "two processes")
    with h5py.File(at("two.h5")) as file:
        check([file[f"provenance/process_{i}"].attrs["pid"] for i in (0, 1)] == [5, 4711], "in the order of their first events")

    pair = {"traceEvents": [{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)", "pid": 1, "tid": 7, "ts": 1.5, "dur": 2,
                             "args": {"fromDevice": 1, "inDevice": 1, "toDevice": 0, "stream": 7, "correlation": 1, "bytes": 4096}}]}
    check(imported(written(at("pair.json"), pair), at("pair.h5")).code == 0, "a copy between two devices")
    with h5py.File(at("pair.h5")) as file:
        check([s.attrs["device"] for s in file["records"].values()] == ["cuda:1"], "is the one's that made it")

    # names that are not for a screen
    evil = 'k<"\\">\x1b]0;evil\x07\u202e\n\u20ac'
    odd = [{**e, "name": evil} if e["activity"] == "kernel" else e for e in everything]
    for source in (written(at("odd.json"), kineto(odd)), nsys(at("odd.sqlite"), odd)):
        check(imported(source, at("odd.h5")).code == 0, source)
        said = run("report", at("odd.h5"), "--all").out
        check("\x1b" not in said and "\x07" not in said and 'k<"\\">' in said, said[:600])

    # what is no such file, is cut off, or lies
    whole, packed, base = open(chrome, "rb").read(), open(at("trace.json.gz"), "rb").read(), open(forms["nsys.sqlite"], "rb").read()

    def bytes_in(name, content):
        with open(at(name), "wb") as file:
            file.write(content)
        return at(name)

    def changed(**more):
        e = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "args": {"grid": [1, 1, 1], "block": [1, 1, 1]}}
        return {"traceEvents": [{**e, **more}]}

    refused = {
        "empty": (bytes_in("empty", b""), "neither"), "text": (bytes_in("text", b"hello world, this is no trace"), "neither"),
        "folder": (where, "a folder"), "nothing": (at("nothing.json"), "cannot be read"), "device": ("/dev/zero", "a device"),
        "cut json": (bytes_in("cut.json", whole[:len(whole) // 2]), "not JSON"), "cut gzip": (bytes_in("cut.gz", packed[:len(packed) // 2]), "damaged"),
        "bad gzip": (bytes_in("bad.gz", packed[:100] + b"\0" * 50 + packed[150:]), "damaged"),
        "cut base": (bytes_in("cut.sqlite", base[:len(base) // 2]), "malformed"), "head alone": (bytes_in("head.sqlite", base[:100]), "SQLite"),
        "noise": (bytes_in("noise.sqlite", base[:100] + os.urandom(8000)), "SQLite"),
        "no events": (written(at("none.json"), {"traceEvents": {}}), "traceEvents"), "no cuda": (written(at("cpu.json"), {"traceEvents": []}), "ProfilerActivity.CUDA"),
        "other tables": (nsys(at("none.sqlite"), []), "--trace=cuda"),
        "deep": (bytes_in("deep.json", b'{"traceEvents":' + b"[" * 1000000), "not JSON"),
        "a view": (nsys(at("view.sqlite"), [], change=["CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
                                                       "FROM n) SELECT x AS start, x AS end FROM n"]), "--trace=cuda"),
        "a text as a number": (nsys(at("wrong.sqlite"), everything, change=["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 'many'"]), "gridX"),
        "a negative number": (nsys(at("less.sqlite"), everything, change=["UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = -1"]), "bytes"),
    }
    for key, value in (("ts", "soon"), ("ts", -1), ("ts", 1e300), ("ts", None), ("dur", [1]), ("name", 7)):
        refused[f"{key} {value}"] = (written(at(f"{key}{str(value)[:4]}.json"), changed(**{key: value})), key)
    for key, value in (("grid", [1, 1]), ("grid", ["a", 1, 1]), ("block", {}), ("stream", [1]), ("device", -1), ("registers per thread", 1e9), ("correlation", 2**40)):
        args = {"grid": [1, 1, 1], "block": [1, 1, 1], key: value}
        refused[f"{key} {value}"] = (written(at(f"{key[:6]}{str(value)[:4]}.json"), changed(args=args)), key)
    for what, (source, why) in refused.items():
        done = imported(source, at("refused.h5"))
        check(done.code == 2 and why in done.err and done.err.count("\n") == 1 and len(done.err) < 500, f"{what}: {done.code} {done.err[:500]}")
        check(not os.path.exists(at("refused.h5")), f"{what}: no trace is left")
    check("leave the application out" in (err := run("record", "--import", chrome, "-o", at("x.h5"), "--", "true").err), err)
    check("leave --after out" in (err := run("record", "--import", chrome, "-o", at("x.h5"), "--after", "1s").err), err)

    # bytes that chance changes: a trace, or one sentence
    chance = random.Random(7)
    for name, content in (("chance.sqlite", base), ("chance.json.gz", packed)):
        codes = set()
        for _ in range(40):
            bad = bytearray(content)
            for _ in range(chance.randrange(1, 30)):
                bad[chance.randrange(16, len(bad))] = chance.randrange(256)
            done = imported(bytes_in(name, bad), at("chance.h5"))
            codes.add(done.code)
            check(done.code == 0 or done.code == 2 and done.err.count("\n") == 1, f"{name}: {done.code} {done.err[:300]}")
        check(2 in codes, f"{name}: {codes}")

    # without SQLite's library
    os.mkdir(at("lib"))
    open(at("lib", "libsqlite3.so.0"), "w").close()
    done = run("record", "--import", forms["nsys.sqlite"], "-o", at("x.h5"), env={"LD_LIBRARY_PATH": at("lib")})
    check(done.code == 1 and "libsqlite3-0" in done.err, f"{done.code} {done.err}")

    # a hundred thousand kernels
    many = [{**next(e for e in everything if e["activity"] == "kernel"), "start": 10**9 + 1000 * i, "end": 10**9 + 1000 * i + 900,
             "correlation": i, "name": f"kernel_{i % 500}"} for i in range(100_000)]
    for source in (written(at("many.json"), kineto(many)), nsys(at("many.sqlite"), many)):
        done = imported(source, at("many.h5"))
        check(done.code == 0 and "100000 kernels" in done.err, done.err)
check.finish()
