"""The advice as a program: CUDA C++ that a compiler takes where there is one, and Python that runs on libraries which stand
in for CuPy and PyTorch, write down each operation, and move the bytes."""
import json
import os
import re
import shutil
import subprocess
import sys

from npgpu_run import SOURCE, Checks, below, folder, run, written

TRACE = os.path.join(SOURCE, "data", "traces", "h200_streams.h5")
JOB = ("--bytes-in", "60MiB", "--bytes-out", "60MiB", "--kernel-ms", "1.017")
UNEVEN = ("--bytes-in", "10000001", "--bytes-out", "3MiB", "--kernel-ms", "0.5", "--max-memory", "4MiB")
SMALL = ("--bytes-in", "1MiB", "--bytes-out", "0", "--kernel-ms", "0.001")

CUPY = """
import atexit, json, sys
DONE = []
atexit.register(lambda: open(sys.argv[1], "w").write(json.dumps(DONE)))
class Pointer:
    def __init__(self, where): self.where = where
    def __add__(self, more): return (self.where, more)
class Memory:
    def __init__(self, size, where): self.size, self.ptr, self.data = size, Pointer(where), self
class Stream:
    made = 0
    current = None
    def __init__(self, non_blocking=False):
        assert non_blocking
        self.ptr = Stream.made
        Stream.made += 1
    def __enter__(self): Stream.current = self.ptr
    def __exit__(self, *_): Stream.current = None
class runtime:
    memcpyHostToDevice, memcpyDeviceToHost = "in", "out"
    def getDevice(): return 0
    def getDeviceProperties(device): return {"multiProcessorCount": 132, "maxThreadsPerMultiProcessor": 2048}
    def memcpyAsync(target, source, size, kind, stream):
        begin = (source if kind == "in" else target)[1]
        DONE.append((kind, stream, begin, size))
    def deviceSynchronize(): DONE.append(("end",))
class cuda:
    runtime, Stream = runtime, Stream
    def alloc_pinned_memory(size): return Memory(size, "host")
class RawKernel:
    def __init__(self, code, name): assert name in code and "globaltimer" in code
    def __call__(self, blocks, threads, arguments):
        assert blocks == (264,) and threads == (1024,)
        DONE.append(("kernel", Stream.current, arguments[2], 0))
uint8, uint64 = "uint8", int
def empty(size, kind): return Memory(size, "device")
sys.modules["cupy.cuda"] = cuda
"""

TORCH = """
import atexit, json, sys
DONE = []
atexit.register(lambda: open(sys.argv[1], "w").write(json.dumps(DONE)))
uint8 = "uint8"
class Tensor:
    def __init__(self, where, begin, end): self.where, self.begin, self.end = where, begin, end
    def __getitem__(self, part):
        assert (part.stop or 0) <= self.end, "behind its end"
        return Tensor(self.where, part.start or 0, part.stop)
    def copy_(self, source, non_blocking):
        assert non_blocking and source.end - source.begin == self.end - self.begin
        host = source if source.where == "host" else self
        DONE.append(("in" if host is source else "out", Stream.current, host.begin, host.end - host.begin))
def empty(size, dtype, pin_memory=False, device="host"):
    assert pin_memory == (device == "host")
    return Tensor(device, 0, size)
class Stream:
    made = 0
    current = None
    def __init__(self):
        self.number = Stream.made
        Stream.made += 1
    def wait_event(self, event): assert Stream.current == self.number
class Event:
    def __init__(self, enable_timing=False): pass
    def record(self, stream=None): assert stream is None or stream.number == Stream.current
    def synchronize(self): pass
    def elapsed_time(self, end): return 5.0
class stream:
    def __init__(self, one): self.one = one
    def __enter__(self): Stream.current = self.one.number
    def __exit__(self, *_): Stream.current = None
class cuda:
    Stream, Event, stream = Stream, Event, stream
    def _sleep(cycles):
        if Stream.current is not None: DONE.append(("kernel", Stream.current, cycles / 2.0, 0))  # 2 cycles a ns
    def synchronize(): DONE.append(("end",))
"""


def runs_of(operations):
    """The operations of each run, which ends with a synchronization."""
    runs, now = [], []
    for one in operations:
        if one[0] != "end":
            now.append(tuple(one))
        elif now:
            runs.append(now)
            now = []
    return runs


def advised_by(code):
    """Of its comment: the form that it cuts the job into."""
    said = re.search(r"advises (?:(\d+) chunks in (\d+) streams?|one stream, not split).*, (breadth-first|depth-first)\.", code)
    return {"chunks": int(said[1] or 1), "streams": int(said[2] or 1), "order": said[3]}


def check_job(operations, document, advised, what):
    """Twenty runs of the whole job, then as many of the split one."""
    job, runs = document["job"], runs_of(operations)
    is_split = advised["chunks"] > 1
    once, whole = runs[-1], runs[0]
    check(len(runs) == 20 + 20 * is_split and all(r == whole for r in runs[:20]) and all(r == once for r in runs[20:]),
          f"{what}: twenty equal runs of each form: {len(runs)}")
    sizes = {"in": job["in_bytes"], "out": job["out_bytes"]}
    check([(kind, begin, size) for kind, _, begin, size in whole if kind in sizes]
          == [(kind, 0, size) for kind, size in sizes.items() if size], f"{what}: the whole job: {whole}")
    for way, whole in (("in", job["in_bytes"]), ("out", job["out_bytes"])):
        parts = [(begin, size) for kind, _, begin, size in once if kind == way]
        ends = [0, *(begin + size for begin, size in parts)]
        check([begin for begin, _ in parts] == ends[:-1] and ends[-1] == whole, f"{what}: {way}, every byte once: {parts[:3]}")
    kernels = [nanoseconds for kind, _, nanoseconds, _ in once if kind == "kernel"]
    check(len(kernels) == advised["chunks"], f"{what}: a kernel a chunk: {len(kernels)} of {advised['chunks']}")
    check(abs(sum(kernels) - 1e3 * job["kernel_us"]) < 2 * len(kernels), f"{what}: together the whole kernel: {sum(kernels)}")
    check(len({s for _, s, _, _ in once}) == advised["streams"], f"{what}: all streams")
    kinds = [kind for kind, _, _, _ in once]
    if advised["order"] == "breadth-first":
        check(kinds == sorted(kinds, key=("in", "kernel", "out").index), f"{what}: all in, all kernels, all out")
    else:
        firsts = [kinds[i - 1] for i, kind in enumerate(kinds) if kind == "kernel"]
        check(not job["in_bytes"] or set(firsts) == {"in"}, f"{what}: each kernel behind its copy: {firsts[:4]}")


check = Checks()
with folder() as where:
    at = below(where)
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    for words, form in ((JOB, "void run(const Job& job)"), (UNEVEN, "Chunks take turns"), (SMALL, "constexpr double kernel_ms = 0.001;")):
        code = run("predict", TRACE, *words, "--code")
        check(code.code == 0 and form in code.out and "@" not in code.out, f"{words}: {code.out[:300]}{code.err}")
        check(run("predict", TRACE, *words, "--code", "cuda").out == code.out, "alone it is cuda")
        if nvcc:
            written(at("overlap.cu"), code.out)
            made = subprocess.run([nvcc, "-std=c++17", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", "-arch=sm_90", "-c",
                                   "-o", at("overlap.o"), at("overlap.cu")], capture_output=True, text=True)
            check(made.returncode == 0, f"{words}: it compiles: {made.stderr[:600]}")
        document = json.loads(run("predict", TRACE, *words, "--json").out)
        for library, fake in (("cupy", CUPY), ("torch", TORCH)):
            what = f"{library} {' '.join(words)}"
            code = run("predict", TRACE, *words, "--code", library)
            check(code.code == 0 and f"import {library}" in code.out, f"{what}: {code.err}")
            check(max(map(len, code.out.splitlines())) <= 120, f"{what}: lines of at most 120 characters")
            os.makedirs(at(library), exist_ok=True)
            for name, text in ((f"{library}.py", fake), ("overlap.py", code.out)):
                written(os.path.join(at(library), name), text)
            ran = subprocess.run([sys.executable, "-W", "error", "overlap.py", "done.json"], cwd=at(library), capture_output=True,
                                 text=True)
            advised = advised_by(code.out)
            told = "is faster" if advised["chunks"] > 1 else "to split it gains less than 1 %"
            check(ran.returncode == 0 and told in ran.stdout, f"{what}: {ran.stdout}{ran.stderr[-400:]}")
            if library == "cupy":
                check(advised == {k: document["advised"][k] for k in advised}, f"{what}: as the screen says: {advised}")
            else:
                check(advised["chunks"] <= document["advised"]["chunks"], f"{what}: calls that take longer make fewer chunks: {advised}")
            if ran.returncode == 0:
                with open(os.path.join(at(library), "done.json"), encoding="utf-8") as file:
                    check_job(json.load(file), document, advised, what)
    check(run("predict", TRACE, *JOB, "--code", "--json").code == 2, "code or JSON")
    other = run("predict", TRACE, *JOB, "--code=fortran")
    check(other.code == 2 and "none of cuda, cupy, torch" in other.err, other.err)
    before = run("predict", "--code", TRACE, *JOB)
    check(before.code == 0 and "nvcc" in before.out, f"a trace behind it is a trace: {before.err}")
check.finish()
