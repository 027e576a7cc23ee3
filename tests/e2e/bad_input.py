"""Every kind of bad input: one sentence that names the culprit, the right exit code, and nothing left behind."""
import json
import os
import shutil

import numpy as np

from npgpu_run import SOURCE, Checks, folder, needs, run, written

h5py = needs("h5py")
check = Checks()
FAST = ["--device", "sim:plain", "--sizes", "8,64", "--schedule", "adaptive", "--quiet"]
PREDICT = ["predict", "streams.h5", "--bytes-in", "1MiB", "--kernel-ms", "1", "--bytes-out", "1MiB"]
PROBE = ["probe", "compute", "--device", "sim:gts250", "--quiet"]

# arguments, exit code, words that the message must hold
TABLE = [
    # command, option, module, device
    (["frobnicate"], 2, ["unknown command 'frobnicate'", "npgpu help"]),
    (["tranfer"], 2, ["unknown command 'tranfer'", "did you mean 'transfer'?"]),
    (["help", "tranfer"], 2, ["did you mean 'transfer'?"]),
    (["transfer", "--frobnicate"], 2, ["--frobnicate"]),
    (["transfer", "--sta", "1"], 2, ["--sta", "did you mean '--start'?"]),
    (["transfer", "word"], 2, ["'word' is none"]),
    (["transfer", "--device"], 2, ["--device"]),
    (["transfer", "--device", "sim:plain", "--to", "host"], 2, ["--to", "--direction peer"]),
    (["transfer", "--module", "memCpy", "--device", "host"], 2, ["did you mean 'memcpy'?"]),
    # words of other tools, other cases, singular and plural, one dash
    (["-V"], 2, ["--version"]),
    (["version"], 2, ["--version"]),
    (["devices"], 2, ["info lists the devices"]),
    (["gemm"], 2, ["probe gemm"]),
    (["exists.h5"], 2, ["report exists.h5"]),
    (["-q", "characterize"], 2, ["options follow the command"]),
    (["check", "-v"], 2, ["unknown option '-v'"]),
    (["check", "-level", "1"], 2, ["unknown option '-level'; did you mean '--level'?"]),
    (["check", "exists.h5"], 2, ["--trace exists.h5"]),
    (["predict", "streams.h5", "--bytes-in", "1", "MiB"], 2, ["'MiB' is one argument too many"]),
    (["report", "exists.h5", "--case", "transfer:0"], 2, ["did you mean 'transfers'?"]),
    (["export", "exists.h5", "--table", "transfer"], 2, ["did you mean 'transfers'?"]),
    (["export", "exists.h5", "--format", "CSV"], 2, ["did you mean 'csv'?"]),
    (["probe", "bandwith"], 2, ["no probe", "did you mean 'bandwidth'?"]),
    (["transfer", "--device", "sim:plain", "--direction", "H2D"], 2, ["did you mean 'h2d'?"]),
    *((["transfer", "--device", name], 2, [name, "no device", "did you mean 'cuda:3'?"]) for name in ("3", "gpu3", "GPU:3", "CUDA:3", "/dev/nvidia3")),
    (["transfer", "--device", "GPU-123e4567-e89b-12d3-a456-426614174000"], 2, ["CUDA_VISIBLE_DEVICES=GPU-123e4567-"]),
    *((["transfer", "--device", name], 2, ["npgpu info shows"]) for name in ("0000:9b:00.0", "00000000:9B:00.0", "9b:00.0")),
    (["check", "--device", "all"], 2, ["without --device all GPUs"]),
    (["transfer", "--device", "gpux"], 2, ["gpux", "no device"]),
    (["transfer", "--device", "sim:nosuch"], 2, ["nosuch"]),
    (["transfer", "--device", "sim:./nosuch.json"], 2, ["nosuch.json"]),
    (["transfer", "--device", ","], 2, ["--device"]),
    (["transfer", "--device", "cuda:0"], 77, ["cuda"]),
    (["matrix", "--device", "cuda:0"], 77, ["--device cuda:0"]),
    (["matrix", "--device", "sim:h200,cuda:0"], 77, ["--device cuda:0"]),
    (["collectives", "--device", "cuda:0,cuda:1"], 77, ["--device cuda:0"]),
    (["characterize", "--device", "cuda:0"], 77, ["cuda"]),
    (["info", "--device", "cuda:0"], 77, ["cuda"]),
    (["transfer", "--device", "host", "--module", "simulated"], 2, ["host"]),
    # where an option has no use, its value is looked at nevertheless
    (["transfer", "--device", "sim:plain", "--chunk", "4KiB"], 2, ["--chunk", "between ranks"]),
    (["transfer", "--device", "sim:plain", "--rank-timeout", "soon"], 2, ["--rank-timeout", "soon"]),
    (["pieces", "--device", "sim:h200", "--to", "sim:plain"], 2, ["--to", "--direction peer"]),
    (["check", "--device", "sim:h200", "--again", "soon", "--dry-run"], 2, ["--again", "soon"]),
    (["check", "--trace", "exists.h5", "--again", "soon"], 2, ["--again", "soon"]),
    (["transfer", "--device", "sim:plain", "--sizes", "8", "--end", "large"], 2, ["--end", "large"]),
    (["streams", "--device", "sim:h200", "--experiment", "overheads", "--workloads", "many"], 2, ["--workloads", "many"]),
    (["simulate", "--kernel-ms", "1", "--h2d-gb-s", "fast", "--trace", "nosuch.h5"], 2, ["--h2d-gb-s", "fast"]),
    (["transfer", "--device", "sim:plain", "--sizes", "8", "--schedule", "classic", "--tolerance", "narrow"], 2, ["--tolerance", "narrow"]),
    # a simulated job
    (["simulate"], 2, ["nothing to simulate", "--bytes-in"]),
    (["simulate", "--bytes-in", "1MiB"], 2, ["--h2d-gb-s", "--device", "--trace"]),
    (["simulate", "--kernel-ms", "1", "--device", "host"], 2, ["host", "sim:NAME"]),
    (["simulate", "--kernel-ms", "-1"], 2, ["--kernel-ms", "-1"]),
    (["simulate", "--kernel-ms", "1", "--streams", "0"], 2, ["--streams", "0"]),
    (["simulate", "--kernel-ms", "1", "--issue-us", "1,2"], 2, ["--issue-us", "1,2"]),
    (["simulate", "--kernel-ms", "1", "--slow-down", "0.5"], 2, ["--slow-down", "0.5"]),
    (["simulate", "--kernel-ms", "1", "--blocks", "5"], 2, ["--blocks", "--slots"]),
    (["simulate", "--kernel-ms", "1", "--order", "up"], 2, ["--order", "up", "depth-first"]),
    (["simulate", "--bytes-in", "1MiB", "--device", "sim:gtx280", "--memory", "managed"], 2, ["gtx280", "managed"]),
    (["simulate", "--kernel-ms", "1", "--chrome", "/nosuch/x.json"], 2, ["--chrome", "/nosuch/x.json"]),
    (["simulate", "--kernel-ms", "1", "--trace", "nosuch.h5"], 2, ["nosuch.h5"]),
    (["simulate", "--kernel-ms", "1", "--trace", "exists.h5"], 2, ["exists.h5", "no jobs"]),
    # words
    (FAST + ["--pattern", "sideways"], 2, ["--pattern", "sideways", "stream"]),
    (FAST + ["--direction", "up"], 2, ["--direction", "up"]),
    (FAST + ["--memory", "mossy"], 2, ["--memory", "mossy"]),
    (FAST + ["--timing", "sundial"], 2, ["--timing", "sundial"]),
    (FAST + ["--cache", "lukewarm"], 2, ["--cache", "lukewarm"]),
    (["transfer", "--device", "sim:plain", "--schedule", "lazy"], 2, ["--schedule", "lazy"]),
    (["streams"], 77, ["streams"]),
    (["streams", "--device", "cuda:0"], 77, []),
    (["streams", "--device", "host"], 2, ["host"]),
    (["streams", "--device", "sim:nosuch"], 2, ["sim:nosuch"]),
    (["streams", "--device", "cuda:0", "--kernel", "gemm"], 2, ["--kernel", "gemm", "increment"]),
    (["streams", "--device", "cuda:0", "--order", "sideways"], 2, ["--order", "sideways"]),
    (["streams", "--device", "cuda:0", "--pool", "new"], 2, ["--pool", "new"]),
    (["streams", "--device", "cuda:0", "--chunks", "0"], 2, ["--chunks", "0"]),
    (["streams", "--device", "cuda:0", "--bytes-in", "-4"], 2, ["--bytes-in", "-4"]),
    (["streams", "--device", "cuda:0", "--experiment", "fixed", "--bytes-in", "4KiB"], 2, ["--experiment", "--bytes-in"]),
    (["streams", "--device", "cuda:0", "--experiment", "huge"], 2, ["--experiment", "huge"]),
    # impossible pairs
    (FAST + ["--direction", "d2d", "--memory", "pinned"], 2, ["d2d", "pinned"]),
    (FAST + ["--direction", "h2d", "--memory", "device"], 2, ["h2d", "device"]),
    (FAST + ["--timing", "gated"], 2, ["gated", "async"]),
    (FAST + ["--async", "--memory", "pageable", "--timing", "gated"], 2, ["gated", "pageable"]),
    (FAST + ["--pattern", "duplex"], 2, ["duplex", "async"]),
    (FAST + ["--pattern", "duplex", "--direction", "d2d", "--async"], 2, ["duplex", "d2d"]),
    (["transfer", "--device", "host", "--direction", "h2d"], 2, ["h2d"]),
    (["transfer", "--device", "host", "--memory", "pinned"], 2, ["pinned"]),
    (["transfer", "--device", "host", "--async"], 2, ["async"]),
    (["transfer", "--device", "host", "--timing", "gated"], 2, ["gated"]),
    (["transfer", "--device", "host", "--schedule", "adaptive", "--repeats", "3"], 2, ["--repeats"]),
    (["transfer", "--device", "host", "--schedule", "classic", "--tolerance", "1%"], 2, ["--tolerance"]),
    # sizes
    (["transfer", "--device", "host", "--start", "0"], 2, ["--start", "0"]),
    (["transfer", "--device", "host", "--start", "-5"], 2, ["--start", "-5"]),
    (["transfer", "--device", "host", "--end", "0"], 2, ["--end", "0"]),
    (["transfer", "--device", "host", "--start", "8", "--end", "4"], 2, ["--end", "--start"]),
    (["transfer", "--device", "host", "--end", "99999999999999999999"], 2, ["--end", "past the largest"]),
    (["transfer", "--device", "host", "--end", "16000PiB"], 2, ["--end"]),
    (["transfer", "--device", "host", "--sizes", "18446744073709551615"], 2, ["--sizes", "host memory"]),
    (["transfer", "--device", "host", "--sizes", "8,0"], 2, ["--sizes", "0"]),
    (["transfer", "--device", "host", "--sizes", "8,,9"], 2, ["--sizes"]),
    (["transfer", "--device", "host", "--sizes", "9000GiB"], 2, ["--end", "host memory"]),
    (["transfer", "--device", "sim:plain", "--direction", "d2d", "--sizes", "900GiB"], 2, ["memory"]),
    (["transfer", "--device", "host", "--source-offset", "-1"], 2, ["--source-offset", "-1"]),
    (["transfer", "--device", "host", "--source-offset", "9000GiB"], 2, ["memory"]),
    (["transfer", "--device", "host", "--perturbation", "x"], 2, ["--perturbation", "x"]),
    # numbers of the schedule
    (["transfer", "--device", "host", "--trials", "0"], 2, ["--trials", "0"]),
    (["transfer", "--device", "host", "--trials", "many"], 2, ["--trials", "many"]),
    (["transfer", "--device", "host", "--schedule", "classic", "--target-time", "0"], 2, ["--target-time", "0"]),
    (["characterize", "--device", "host", "--tolerance", "-1"], 2, ["--tolerance", "-1"]),
    (["transfer", "--device", "host", "--tolerance", "10"], 2, ["--tolerance", "10%"]),
    (["transfer", "--device", "host", "--progress", "dots"], 2, ["--progress", "dots", "cases"]),
    (["characterize", "--device", "host", "--rounds", "1", "--trials", "5"], 2, ["--trials", "5"]),
    (["transfer", "--device", "host", "--rounds", "0"], 2, ["--rounds", "0"]),
    (["transfer", "--device", "host", "--rounds", "1.5"], 2, ["--rounds", "1.5"]),
    (["transfer", "--device", "host", "--rounds", "99999"], 2, ["--rounds", "99999"]),
    # output
    (FAST + ["--output", "/nosuch/folder/x.h5"], 2, ["/nosuch/folder"]),
    (FAST + ["--output", "."], 2, ["."]),
    (FAST + ["--output", ""], 2, ["--output"]),
    (FAST + ["--output", "exists.h5"], 2, ["exists.h5", "--force", "--resume"]),
    (FAST + ["--output", "-"], 2, ["'-'", "a trace is a file", "./-"]),
    (FAST + ["--output", "/dev/stdout"], 2, ["/dev/stdout", "a trace is a file"]),
    (FAST + ["--output", "/proc/x.h5"], 2, ["no file can be created in /proc"]),
    (["merge", "-", "exists.h5"], 2, ["'-'", "a trace is a file"]),
    # what would take the place of a trace, or of another output
    (["export", "exists.h5", "--output", "exists.h5", "--force"], 2, ["--output", "'exists.h5' is a trace"]),
    (["report", "exists.h5", "--html", "other.h5", "--force"], 2, ["--html", "'other.h5' is a trace"]),
    (["check", "--trace", "exists.h5", "--junit", "./exists.h5"], 2, ["--junit and --trace name one file"]),
    (["fleet", ".", "--openmetrics", "exists.h5"], 2, ["--openmetrics", "'exists.h5' is a trace"]),
    (["check", "--device", "sim:h200", "--junit", "new", "--openmetrics", "./new"], 2, ["--junit and --openmetrics name one file"]),
    (["check", "--device", "sim:h200", "--output", "new", "--junit", "new"], 2, ["--output and --junit name one file"]),
    (["check", "--trace", "exists.h5", "--junit", "-", "--openmetrics", "/dev/stdout"], 2, ["--junit and --openmetrics name one file"]),
    (["transfer", "--config", "bad.ini", "--output", "bad.ini", "--force"], 2, ["bad.ini"]),
    (["report", "-dash.h5"], 2, ["unknown option '-dash.h5'", "./-dash.h5"]),
    (FAST + ["--force", "--resume", "--output", "x.h5"], 2, ["--force", "--resume"]),
    (FAST + ["--resume"], 2, ["--resume", "--output"]),
    (FAST + ["--resume", "--output", "text.h5"], 2, ["text.h5"]),
    (FAST + ["--append"], 2, ["--append", "--output"]),
    (FAST + ["--append", "--resume", "--output", "x.h5"], 2, ["--append", "--resume"]),
    # configuration
    (["transfer", "--config", "nosuch.ini"], 2, ["nosuch.ini"]),
    (["transfer", "--config", "bad.ini"], 2, ["bad.ini", "frobnicate"]),
    (["transfer", "--config", "."], 2, ["--config", "folder"]),
    (["transfer", "--config", "section.ini"], 2, ["section.ini", "[transfr]", "did you mean 'transfer'?"]),
    # traces
    (["report"], 2, ["TRACE"]),
    (["report", "nosuch.h5"], 2, ["nosuch.h5"]),
    (["report", "."], 2, ["."]),
    (["report", "empty.h5"], 2, ["empty.h5"]),
    (["report", "text.h5"], 2, ["text.h5"]),
    (["report", "truncated.h5"], 2, ["truncated.h5", "is truncated: ", "bytes are there"]),
    (["report", "foreign.h5"], 2, ["foreign.h5"]),
    (["report", "newer.h5"], 2, ["newer.h5", "4.0"]),
    (["report", "older.h5"], 2, ["older.h5", "2.0", "measured again"]),
    (["report", "exists.h5", "--case", "transfers:7"], 2, ["--case", "transfers:7", "transfers:0"]),
    (["report", "exists.h5", "--case", "transfers:x"], 2, ["--case", "x"]),
    (["report", "exists.h5", "--case", "sweeps"], 2, ["--case", "sweeps", "transfers, probes, jobs"]),
    (["report", "exists.h5", "more.h5"], 2, ["report"]),
    (["export", "exists.h5", "--format", "xml"], 2, ["--format", "xml"]),
    (["export", "exists.h5", "--table", "sweeps"], 2, ["sweeps", "transfers"]),
    (["export", "exists.h5", "--table", "probes"], 2, ["probes"]),
    (["export", "exists.h5", "--format", "json", "--summary"], 2, ["--summary chooses what csv holds, and --format is json"]),
    (["export", "exists.h5", "--format", "npout", "--table", "transfers"], 2, ["--table chooses", "npout"]),
    (["export", "exists.h5", "--output", "text.h5"], 2, ["text.h5", "--force"]),
    (["export", "exists.h5", "--output", "/nosuch/x.csv"], 2, ["/nosuch/x.csv"]),
    (["compare", "exists.h5"], 2, ["B"]),
    (["compare", "exists.h5", "exists.h5", "exists.h5"], 2, ["--"]),
    (["compare"], 2, ["A and B"]),
    (["compare", "exists.h5", "nosuch.h5"], 2, ["nosuch.h5"]),
    (["compare", "exists.h5", "exists.h5", "--tolerance", "x"], 2, ["--tolerance", "x"]),
    (["compare", "exists.h5", "exists.h5", "--tolerance", "10"], 2, ["--tolerance", "10%"]),
    (["compare", "exists.h5", "other.h5"], 2, ["no point in common"]),
    # probes
    (["probe"], 2, ["probe", "NAME"]),
    (["probe", "frobnicate", "--device", "host"], 2, ["frobnicate", "no probe", "compute"]),
    (["probe", "compute,,latency", "--device", "host"], 2, ["NAME"]),
    (["probe", "compute", "--device", "gpu0"], 2, ["--device", "gpu0"]),
    (["probe", "compute", "--device", "sim:nosuch"], 2, ["sim:nosuch"]),
    (["probe", "compute", "--device", "sim:plain"], 2, ["sim:plain", "warps"]),
    (["probe", "compute", "--device", "cuda:0"], 77, ["cuda"]),
    (["probe", "all", "--device", "cuda:0"], 77, ["cuda"]),
    (PROBE + ["--operation", "frobnicate"], 2, ["--operation", "frobnicate", "fma"]),
    (PROBE + ["--operation", "read"], 2, ["operation", "npgpu info --words"]),
    (PROBE + ["--type", "fp128"], 2, ["--type", "fp128", "fp32"]),
    (PROBE + ["--type", "bf16"], 2, ["type", "npgpu info --words"]),
    (PROBE + ["--form", "square"], 2, ["--form", "square", "dependent"]),
    (PROBE + ["--form", "dependent"], 2, ["form", "npgpu info --words"]),
    (PROBE + ["--shape", ""], 2, ["--shape"]),
    (PROBE + ["--shape", "large"], 2, ["--shape", "large"]),
    (PROBE + ["--shape", "blocks"], 2, ["--shape", "blocks"]),
    (PROBE + ["--shape", "blocks="], 2, ["--shape", "blocks"]),
    (PROBE + ["--shape", "blocks=0"], 2, ["--shape", "blocks", "'0'"]),
    (PROBE + ["--shape", "blocks=-1"], 2, ["--shape", "blocks", "'-1'"]),
    (PROBE + ["--shape", "blocks=1.5"], 2, ["--shape", "blocks", "'1.5'"]),
    (PROBE + ["--shape", "blocks=99999999999"], 2, ["--shape", "blocks", "99999999999"]),
    (PROBE + ["--shape", "threads=0"], 2, ["--shape", "threads"]),
    (PROBE + ["--shape", "ilp=0"], 2, ["--shape", "ilp"]),
    (PROBE + ["--shape", "one_block_per_sm=2"], 2, ["--shape", "one_block_per_sm", "'2'"]),
    (PROBE + ["--shape", "bytes=0"], 2, ["--shape", "bytes"]),
    (PROBE + ["--shape", "blocks=1,width=3"], 2, ["--shape", "width", "threads"]),
    (PROBE + ["--shape", "threads=4096"], 2, ["4096 threads", "512"]),
    (PROBE + ["--trials", "0", "--schedule", "classic"], 2, ["--trials", "0"]),
    (PROBE + ["--output", "exists.h5"], 2, ["exists.h5", "--force", "--resume"]),
    (["probe", "compute", "--device", "host", "--type", "fp32", "--shape", "blocks=100000"], 2, ["--shape", "100000 blocks", "cores"]),
    (["probe", "compute", "--device", "host", "--type", "fp32", "--shape", "threads=3"], 2, ["--shape", "3 lanes"]),
    (["probe", "compute", "--device", "host", "--type", "fp32", "--shape", "ilp=99"], 2, ["--shape", "99"]),
    (["probe", "bandwidth", "--device", "host", "--operation", "read", "--shape", "access=8,bytes=9000GiB"], 2, ["--shape", "9000 GiB", "free"]),
    (["derive"], 2, ["TRACE"]),
    (["derive", "nosuch.h5"], 2, ["nosuch.h5"]),
    (["derive", "."], 2, ["."]),
    (["derive", "empty.h5"], 2, ["empty.h5"]),
    (["derive", "truncated.h5"], 2, ["truncated.h5"]),
    (["derive", "newer.h5"], 2, ["newer.h5", "4.0"]),
    (["derive", "exists.h5"], 2, ["exists.h5", "no probes", "npgpu probe"]),
    (["derive", "exists.h5", "other.h5"], 2, ["derive"]),
    # predictions
    (["predict"], 2, ["TRACE"]),
    (["predict", "nosuch.h5"], 2, ["nosuch.h5"]),
    (["predict", "exists.h5", "--bytes-in", "1MiB"], 2, ["exists.h5", "no jobs", "npgpu streams --experiment overheads"]),
    (["predict", "streams.h5"], 2, ["name a job", "--measured"]),
    (["predict", "streams.h5", "--bytes-in", "1MiB"], 2, ["--kernel-ms is missing", "give 0"]),
    (["predict", "streams.h5", "--bytes-in", "1MiB", "--kernel-ms", "1"], 2, ["--bytes-out is missing", "give 0"]),
    (["predict", "streams.h5", "--kernel-ms", "1", "--bytes-out", "1MiB"], 2, ["--bytes-in is missing", "give 0"]),
    (PREDICT + ["--order", "independent"], 2, ["--order", "independent", "breadth-first"]),
    (PREDICT + ["--order", "sideways"], 2, ["--order", "sideways"]),
    (PREDICT + ["--device", "cuda:7"], 2, ["--device", "cuda:7", "sim:h200"]),
    (["predict", "streams.h5", "--bytes-in", "900GiB", "--kernel-ms", "1", "--bytes-out", "0"], 2, ["--bytes-in", "900 GiB", "64 MiB"]),
    (["predict", "streams.h5", "--measured", "nosuch.h5"], 2, ["nosuch.h5"]),
    (["predict", "streams.h5", "--measured", "exists.h5"], 2, ["exists.h5", "--measured"]),
    # device specs
    (["transfer", "--device", "sim:not.json"], 2, ["not.json"]),
    (["transfer", "--device", "sim:type.json"], 2, ["type.json", "memory_bytes"]),
    (["transfer", "--device", "sim:key.json"], 2, ["key.json", "frobnicate"]),
]


def prepare(where):
    path = lambda name: os.path.join(where, name)
    made = run("transfer", "--device", "sim:plain", "--sizes", "8,64", "--quiet", "--schedule", "adaptive", "--output",
               path("exists.h5"))
    check(made.code == 0, f"a plain simulated run works: {made.code} {made.err}")
    made = run("transfer", "--device", "sim:plain", "--sizes", "16", "--quiet", "--schedule", "adaptive", "--direction",
               "d2h", "--output", path("other.h5"))
    check(made.code == 0, f"and another: {made.err}")
    made = run("streams", "--device", "sim:h200", "--experiment", "overheads", "--quiet", "--output", path("streams.h5"))
    check(made.code == 0, f"and what streams cost: {made.err}")
    whole = open(path("exists.h5"), "rb").read()
    open(path("truncated.h5"), "wb").write(whole[: len(whole) // 2])
    open(path("empty.h5"), "wb").close()
    written(path("text.h5"), "this is no HDF5 file\n" * 20)
    with h5py.File(path("foreign.h5"), "w") as f:
        f["data"] = np.arange(10)
    for name, version in (("newer.h5", "4.0"), ("older.h5", "2.0")):
        open(path(name), "wb").write(whole)
        with h5py.File(path(name), "a") as f:
            f.attrs["schema_version"] = version
    open(path("-dash.h5"), "wb").write(whole)
    written(path("section.ini"), "[transfr]\nend = 8\n")
    written(path("bad.ini"), "frobnicate = 1\n")
    spec = open(os.path.join(SOURCE, "data/devices/plain.json")).read()
    written(path("not.json"), spec[:40])
    written(path("type.json"), {**json.loads(spec), "memory_bytes": "plenty"})
    written(path("key.json"), {**json.loads(spec), "frobnicate": 1})


with folder() as where:
    prepare(where)
    before = sorted(os.listdir(where))
    contents = {name: open(os.path.join(where, name), "rb").read() for name in before}
    no_gpu = run("info", "--words").out.count("cuda:") == 0
    for arguments, code, words in TABLE:
        if code == 77 and not no_gpu:
            print("skipped, there is a GPU:", " ".join(arguments))
            continue
        if arguments[0].startswith("--"):
            arguments = ["transfer"] + arguments
        result = run(*arguments, cwd=where)
        said = " ".join(arguments)
        check(result.code == code, f"{said}: exit {result.code}, expected {code}: {result.err.strip()}")
        lines = [line for line in result.err.splitlines() if line]
        check(lines and lines[0].startswith("npgpu: "), f"{said}: says {result.err!r}")
        check(all(word in result.err for word in words), f"{said}: {result.err.strip()!r} lacks one of {words}")
        check(len(lines) == 1 or "transfers:7" in words, f"{said}: more than a sentence: {result.err!r}")
        check(result.out == "", f"{said}: printed results: {result.out[:80]!r}")
    after = sorted(name for name in os.listdir(where))
    check(after == before, f"left behind: {set(after) - set(before)}")
    check(all(open(os.path.join(where, n), "rb").read() == contents[n] for n in before), "an input was changed")

    # What is named twice is measured once, and one point is no "1 points".
    twice = run("transfer", "--device", "sim:plain,sim:plain", "--direction", "h2d,h2d", "--sizes", "8,8", "--quiet", "--output",
                os.path.join(where, "twice.h5"))
    check(twice.code == 0 and twice.out.startswith("done: 1 point measured in "), f"named twice: {twice.out} {twice.err}")
    with h5py.File(os.path.join(where, "twice.h5")) as f:
        check(len(f["transfers"]) == 1, f"series: {list(f['transfers'])}")
    printed = run("export", "exists.h5", cwd=where).out
    check(run("export", "exists.h5", "--output", "-", cwd=where).out == printed != "", "--output - is standard output")
    check(not os.path.exists(os.path.join(where, "-")), "a file of the name -")

    # A file that is standard output has it alone; what is printed otherwise goes to standard error.
    trace = os.path.join(SOURCE, "data/traces/h200_check.h5")
    for arguments, begin, said in (
            (["check", "--trace", trace, "--junit", "-"], "<?xml", "judged by"),
            (["check", "--trace", trace, "--openmetrics", "/dev/stdout", "--json"], "# ", '"verdict"'),
            (["report", trace, "--html", "-", "--overview"], "<!DOCTYPE html>", "NVIDIA H200"),
            (["fleet", trace, "--openmetrics", "/dev/fd/1"], "# ", "NVIDIA H200"),
            (["simulate", "--kernel-ms", "1", "--chrome", "-"], "{", "speed-up")):
        result = run(*arguments, cwd=where)
        check(result.out.startswith(begin) and said not in result.out.split("\n")[0] and said in result.err,
              f"{' '.join(arguments[:1] + arguments[-2:])}: {result.out[:60]!r} {result.err[:60]!r}")

    # What cannot be read is named also where the others have no GPU.
    result = run("fleet", "empty.h5", os.path.join(SOURCE, "data/traces/host.h5"), cwd=where)
    check(result.code == 2 and result.err == "empty.h5: is empty\nnpgpu: none of these traces has a series of a GPU\n", result.err)

    # A device's path that is not UTF-8 does not stop a JSON document.
    spec = os.path.join(where, os.fsdecode(b"bad\xff.json"))
    shutil.copy(os.path.join(SOURCE, "data/devices/plain.json"), spec)
    result = run("transfer", "--device", "sim:" + spec, "--sizes", "8", "--dry-run", "--json")
    check(result.code == 0 and "\ufffd" in result.out, f"a path that is not UTF-8: {result.code} {result.err}")
    os.remove(spec)

    # Read-only folders: root may write anyway, so this is for everyone else.
    if os.geteuid() != 0:
        os.chmod(where, 0o500)
        result = run("transfer", "--device", "sim:plain", "--sizes", "8", "--output", os.path.join(where, "new.h5"))
        os.chmod(where, 0o700)
        check(result.code == 2 and "new.h5" in result.err, f"unwritable folder: {result.code} {result.err}")
    else:
        print("skipped as root: an unwritable folder")
check.finish()
