"""docs/universality.md says what the kept traces and the simulated devices of the papers say: its first table is compared, cell
by cell. With --write it is written anew."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(next((w for w in sys.argv[1:] if not w.startswith("-")), "npgpu"))
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(ROOT, "docs", "universality.md")
ROWS = ("SM", "N_PPipe", "L_Pipe", "w*", "Sigma", "FMA latency", "lanes*ports", "lanes", "T_delay")
SIMULATED = ("gts250", "gtx260", "gtx470")
HEAD = "| | H200, CUDA |"


def derived(trace):
    """{device: {parameter: value}}"""
    told = json.loads(subprocess.run([PROGRAM, "derive", trace, "--json"], capture_output=True, text=True, check=True).stdout)
    return {d["device"]: {p["name"]: p["estimate"]["value"] for p in d["parameters"]} for d in told["devices"]}


def digits(value):
    return "-" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def simulated(folder, name):
    path = os.path.join(folder, name + ".h5")
    subprocess.run([PROGRAM, "probe", "compute,bandwidth", "--device", f"sim:{name}", "--rounds", "1", "--wait-quiet", "0", "--quiet",
                    "--output", path], capture_output=True, check=True, env={**os.environ, "NPGPU_WAIT_QUIET": "0"})
    return derived(path)[f"sim:{name}"]


def table():
    card = derived(os.path.join(ROOT, "data/traces/h200_opencl.h5"))
    xeon = derived(os.path.join(ROOT, "data/traces/xeon_pocl.h5"))
    with tempfile.TemporaryDirectory() as folder:
        papers = [simulated(folder, name) for name in SIMULATED]
    columns = (card["cuda:0"], card["opencl:0"], xeon["host"], xeon["opencl:0"])
    return [f"| {row.replace('*', chr(92) + '*')} | " + " | ".join(digits(c.get(row)) for c in columns) + " | " +
            ", ".join(digits(p.get(row)) for p in papers) + " |" for row in ROWS]


with open(PAGE, encoding="utf-8") as file:
    lines = file.read().split("\n")
first = next(i for i, line in enumerate(lines) if line.startswith(HEAD)) + 2
end = first
while lines[end].startswith("|") or lines[end].startswith("@"):
    end += 1
expected = table()
if "--write" in sys.argv:
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join(lines[:first] + expected + lines[end:]))
    sys.exit(0)
wrong = [(have, must) for have, must in zip(lines[first:end], expected) if have != must]
for have, must in wrong:
    print(f"FAILED: the page has\n  {have}\nand its traces give\n  {must}")
if len(expected) != end - first:
    print(f"FAILED: {end - first} rows, not {len(expected)}")
print(f"{len(expected) - len(wrong)} rows are right")
sys.exit(1 if wrong or len(expected) != end - first else 0)
