"""Into how many chunks and streams? Twenty jobs, each asked in every way that the program has: one answer. With STRIDE=7
in the environment, every seventh of them."""
import json
import os
import random
import re

from npgpu_run import SOURCE, Checks, below, folder, needs, run

needs("pandas", "h5py")
import npgpu  # noqa: E402

TRACE = os.path.join(SOURCE, "data", "traces", "h200_streams.h5")
DESIGN = os.path.join(SOURCE, "data", "traces", "h200_design.h5")
NODE = os.path.join(SOURCE, "data", "traces", "h200_node.h5")
STRIDE = int(os.environ.get("STRIDE", "1"))
FORM = re.compile(r"(?:(\d+) chunks? in (\d+) streams?|one stream, not split)")


def form_in(text):
    found = FORM.search(text)
    return (int(found[1] or 1), int(found[2] or 1)) if found else text[:200]


def jobs(count):
    """From 64 KiB to 1 GiB, with kernels of a tenth to ten times as long as their copies; the issue's own first."""
    some = random.Random(58)
    yield {"bytes_in": "60MiB", "bytes_out": "60MiB", "kernel_ms": "1.017"}
    yield {"bytes_in": "1GiB", "bytes_out": "1GiB", "kernel_ms": "40"}
    yield {"bytes_in": "1MiB", "bytes_out": "0", "kernel_ms": "0.001"}
    for _ in range(count - 3):
        size = int(2 ** some.uniform(16, 28))
        copies = size / 55e6  # ms
        yield {"bytes_in": str(size), "bytes_out": str(int(size * some.choice((0, 0.1, 0.5, 1)))),
               "kernel_ms": f"{copies * 10 ** some.uniform(-1, 1):.6f}"}


check = Checks()
seen = set()
with folder() as where:
    at = below(where)
    for number, job in list(enumerate(jobs(20)))[::STRIDE]:
        words = [word for name, value in job.items() for word in (f"--{name.replace('_', '-')}", value)]
        screen = run("predict", TRACE, *words)
        answer = screen.out.split("\n", 1)[0]
        form = form_in(answer)
        check(screen.code == 0 and isinstance(form, tuple), f"{words}: {screen.out[:200]}{screen.err}")
        seen.add(form)
        document = json.loads(run("predict", TRACE, *words, "--json").out)
        enough = document["advised"]["device_bytes"]
        ways = {
            "JSON": document["answer"],
            "just enough memory": run("predict", TRACE, *words, "--max-memory", max(enough, 256)).out,
            "the drawing": run("predict", TRACE, *words, "--draw").out.split("\n\n")[-3],
            "models": run("predict", TRACE, *words, "--model", "all").out,
            "CUDA": run("predict", TRACE, *words, "--code").out,
            "CuPy": run("predict", TRACE, *words, "--code", "cupy").out,
            "simulate": run("simulate", "--trace", TRACE, *words).out,
        }
        if number < 2:
            ways["measured jobs"] = run("predict", TRACE, *words, "--measured", DESIGN).out
        for way, text in ways.items():
            check(form_in(text) == form, f"{words}: {way}: {form_in(text)}, and the screen says {form}")
        check(ways["simulate"].startswith(f"SIMULATED {re.split('; |, [+]-', answer)[0]}"), f"{words}: times too: {ways['simulate'][:90]} {answer}")
        asked = npgpu.predict(TRACE, **job)
        check((asked.chunks, asked.streams) == form and asked.answer == answer, f"{words}: Python says {asked}")
        chrome = at(f"{number}.json")
        check(run("predict", TRACE, *words, "--chrome", chrome).code == 0, "drawn for a browser")
        with open(chrome, encoding="utf-8") as file:
            copies = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "h2d" and e["pid"] == 2]
        check(len(copies) == form[0], f"{words}: {len(copies)} copies in the browser, {form}")
        # The calls of PyTorch take longer: never more chunks, and never what is then slower than the whole job.
        torch = run("predict", TRACE, *words, "--code", "torch").out
        chunks = form_in(torch)[0]
        gain = re.search(r"\(([0-9.]+) times\)", torch)
        check(chunks <= form[0] and (chunks == 1 or (gain and float(gain[1]) >= 1)), f"{words}: torch: {torch[:300]}")
    check(STRIDE > 1 or (len(seen) >= 5 and (1, 1) in seen), f"jobs that differ, some not to be split: {seen}")

    # The report's example is a job as any other.
    said = re.search(r"predicted of 64 MiB in, a kernel of 1 ms, 64 MiB out:\n +(.*)", run("report", NODE).out)
    screen = run("predict", NODE, "--bytes-in", "64MiB", "--kernel-ms", "1", "--bytes-out", "64MiB").out.split("\n", 1)[0]
    check(said and said[1] == screen, f"report: {said}, predict: {screen}")
check.finish()
