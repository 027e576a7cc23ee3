"""The JSON schemas of docs/schemas hold for documents of traces and devices that they were not made of, are those that the
program's output gives today, and refuse a document that lacks a key, has one more, or another type."""
import importlib.util
import json
import os
import subprocess
import sys

from npgpu_run import PROGRAM, SOURCE, Checks, folder

try:
    import jsonschema
except ImportError:
    print("skipped: no python3-jsonschema")
    sys.exit(77)

FOLDER = os.path.join(SOURCE, "docs", "schemas")
spec = importlib.util.spec_from_file_location("make", os.path.join(FOLDER, "make.py"))
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)

OTHERS = {
    "check": ["check --trace T/h200_run_f.h5", "check --trace T/h200_again_b.h5", "check --device sim:h200 --level 1 --expect name=H100",
              "check --device sim:D/models/t4.json --level 1", "check --device sim:D/sick/corrupt-bytes.json --level 1"],
    "overview": ["report T/h200_run_f.h5 --overview", "report T/h100_quick_b.h5 --overview", "report T/h200_jobs.h5 --overview",
                 "report T/h200x2_graphs.h5 --overview", "report T/xeon16_gemm.h5 --overview"],
    "report": ["report T/h100_quick_b.h5", "report T/h100x2_collectives.h5", "report T/xeon16_gemm.h5", "report T/h200x2_graphs.h5", "transfer --device sim:h200 --sizes 1KiB", "calls --device sim:h200 --rounds 1 --call launch",
               "collectives --device sim:h200x2 --sizes 8 --rounds 1"],
    "parameters": ["derive T/h200_run_d.h5", "derive T/h200_rounds.h5"],
    "roofline": ["probe bandwidth,tensor --device sim:h200 --rounds 2 --output other.h5 --quiet",
                 "roofline other.h5 --counts mine=2TFLOP,80GB,40ms,tensor-fp16", "roofline T/h200_run_d.h5"],
    "prediction": [f"predict T/h200_run_d.h5 {make.JOB}", f"predict T/h200_blind_costs_2.h5 {make.JOB}"],
    "collective-forecast": ["collectives --device sim:node8 --collective all-reduce --sizes 1KiB,1MiB --launch graph --output other.h5 --quiet", "predict other.h5 --all-reduce 4KiB"],
    "piece-advice": [f"pieces {make.PIECES} --direction d2h --output other.h5 --quiet", "predict other.h5 --pieces 5 --piece-bytes 2KiB"],
    "compare": ["compare T/h200_run_d.h5 T/h200_run_e.h5", "compare T/h200_run_a.h5 T/h100_quick_a.h5 --other-hardware"],
    "fleet": ["fleet T/h200_run_c.h5 T/h200_run_d.h5", "fleet T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_c.h5 T/h200_run_f.h5 T/h200_rounds.h5"],
    "info": ["info"],
    "plan": ["characterize --device host --dry-run", "matrix --device sim:node8 --dry-run"],
    "runs": ["merge two.h5 T/h200_run_b.h5 T/h100_quick_a.h5", "report two.h5"],
    "shared": ["report T/h200_run_f.h5 --share SHARED"],
}


OF_MACHINE = {"info", "plan"}  # a machine with other devices and libraries has others of these

check = Checks()
stored = {}
for name in make.SAMPLES:
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
        stored[name] = json.load(file)
    jsonschema.Draft202012Validator.check_schema(stored[name])
check(sorted(f"{name}.json" for name in stored) == sorted(f for f in os.listdir(FOLDER) if f.endswith(".json")), "a schema for each")

with folder() as where:
    made = subprocess.run([sys.executable, os.path.join(FOLDER, "make.py"), PROGRAM, where], capture_output=True, text=True)
    check(made.returncode == 0, made.stderr[-500:])
    for name in stored:
        with open(os.path.join(where, name + ".json"), encoding="utf-8") as file:
            check(name in OF_MACHINE or json.load(file) == stored[name], f"{name}.json is not what docs/schemas/make.py writes now: run it")

for name, lines in OTHERS.items():
    validator, shortest = jsonschema.Draft202012Validator(stored[name]), None
    for line, document in zip([one for one in lines if not make.is_input(one)], make.documents(PROGRAM, lines)):
        faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:160]}" for e in validator.iter_errors(document)]
        check(not faults, f"npgpu {line}: {faults[:3]}")
        if not shortest or len(str(document)) < len(str(shortest[1])):
            shortest = line, document
    line, document = shortest
    for change in ("lacks", "more", "type"):
        other = dict(document)
        if change == "lacks":
            del other["version"]
        elif change == "more":
            if name in make.ANY_DOCUMENT:
                continue
            other["one_more"] = 1
        else:
            other["document"] = 7
        check(not validator.is_valid(other), f"npgpu {line}: {change} is refused")
check.finish()
