#!/usr/bin/env python3
"""What two builds of npgpu print of the same traces, compared with each other: golden.py OLD NEW [TRACE...].

Every report of every kept trace (text, JSON, CSV, Markdown, pages), and comparisons of the repeated runs. Prints the
first lines that differ, and exits with 1 if any does. For changes that are to leave the output as it is.
"""
import argparse
import difflib
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTS = ["report {0}", "report {0} --overview", "report {0} --json", "export {0} --format csv", "report {0} --markdown",
           "report {0} --overview --json", "report {0} --html {1}", "derive {0}", "derive {0} --json",
           "export {0} --summary", "export {0} --format json", "predict {0} --json",
           "check --trace {0}", "check --trace {0} --json", "fleet {0}", "predict {0} --measured {0} --json"]
PAIRS = ["compare {0} {1}", "compare {0} {1} --json --points"]
REPEATED = ["h200_run_a", "h200_run_b", "h200_run_c", "h200_run_d", "h200_run_e", "h100_quick_a", "h100_quick_b"]


def answer(program, words, traces, folder):
    page = folder / "x.html"
    names = [str(t) for t in traces] + [str(page)]
    done = subprocess.run([program, *(w.format(*names) for w in words.split())], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=600)
    lines = [f"exit {done.returncode}", *done.stdout.splitlines(), "-- standard error", *done.stderr.splitlines()]
    if page.exists():
        lines += page.read_text().splitlines()
        page.unlink()
    return [line.replace(str(folder), "FOLDER").replace(str(program), "npgpu") for line in lines]


def differences(job):
    (old, new), words, traces = job
    with tempfile.TemporaryDirectory() as folder:
        one, other = (answer(p, words, traces, pathlib.Path(folder)) for p in (old, new))
    name = words.format(*(t.name for t in traces), "x.html", "x.html")
    return name, [l for l in difflib.unified_diff(one, other, lineterm="", n=0) if not l.startswith(("---", "+++", "@@"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old"), parser.add_argument("new")
    parser.add_argument("traces", nargs="*", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=6, help="of each difference (default: 6)")
    options = parser.parse_args()
    programs = (options.old, options.new)
    traces = options.traces or sorted((ROOT / "data/traces").glob("*.h5"))
    jobs = [(programs, words, [trace]) for trace in traces for words in REPORTS]
    repeated = [t for t in traces if t.stem in REPEATED]
    jobs += [(programs, words, pair) for pair in zip(repeated, repeated[1:]) for words in PAIRS]
    different = 0
    with ThreadPoolExecutor(2) as pool:
        for name, lines in pool.map(differences, jobs):
            if lines:
                different += 1
                print(f"{name}: {len(lines)} lines differ", *(f"  {l[:200]}" for l in lines[:options.lines]), sep="\n")
    print(f"{len(jobs)} outputs, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
