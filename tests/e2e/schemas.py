"""The JSON schemas of docs/schemas are those that the code gives, hold for what the program prints, and refuse a document with a
member that is missing, misnamed, or of another type."""
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
FAKE_APP = os.path.join(os.path.dirname(PROGRAM), "netpipe/record/npgpu_fake_app")  # an application without a GPU
PIECES = "--device sim:h200 --pieces 1,64 --piece-bytes 1KiB,64KiB --rounds 2 --output pieces.h5 --quiet --force"
JOB = "--bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB"


def of_traces(command, names, more=""):
    return [f"{command} T/{name}.h5 {more}" for name in names.split()]


# Command lines of npgpu in a folder of each document, T the kept traces, D simulated devices. Without --json those that make a file.
LINES = {
    "check": ["check --trace T/h200_check.h5", "check --trace T/h200_run_a.h5", "check --trace T/h100_check.h5", "check --trace T/host.h5",
              "check --trace T/h200_run_f.h5", "check --trace T/h200_again_b.h5", "check --device sim:h200",
              "check --device sim:h200 --level 1 --expect name=H100", "check --device sim:node8-sick --level 1",
              "check --device sim:D/sick/half-the-lanes.json --level 1", "check --device sim:D/sick/ecc-errors.json --level 1",
              "check --device sim:D/sick/busy-neighbour.json --level 1", "check --device sim:D/sick/corrupt-bytes.json --level 1",
              "check --device sim:D/models/t4.json --level 1", "check --soak 20s --memory-test --device sim:D/soak/flips.json",
              "check --soak 10min --device sim:D/soak/throttles.json", "check --soak 10min --device sim:D/soak/falls-off-the-bus.json"],
    "overview": of_traces("report", "h200_run_a h200_run_f h200x2_matrix h100_quick_a h100_quick_b host h200_blind_design h200_streams h200_gemm "
                          "h200_rounds h200_check h200_processes h200_jobs h200x2_graphs xeon_pocl xeon16_gemm", "--overview"),
    "report": of_traces("report", "h200_words h200x2_matrix h200_partition host h200_onchip h200_processes h200_gemm h200_small_streams h200_rounds "
                        "h100_frees h100_function h100_roofline h100_library h100_quick_b h200_pieces h200x2_pieces h200x2_graphs "
                        "h100x2_collectives h200x4_collectives h200_jobs xeon_pocl xeon16_gemm") +
              ["probe compute --type fp32 --device sim:h200 --rounds 2 --output points.h5 --quiet", "report points.h5",
               f"pieces {PIECES}", "report pieces.h5",
               "collectives --device sim:node8-half-nvlink --sizes 8,128MiB --timing host,gated --output together.h5 --quiet", "report together.h5",
               "collectives --device sim:h200x2 --sizes 8,128MiB --launch eager,graph --output graphs.h5 --quiet", "report graphs.h5",
               "collectives --device sim:zeros --collective send-receive,broadcast --sizes 8 --output wrong.h5 --quiet", "report wrong.h5",
               "transfer --device sim:h200 --sizes 1KiB", "calls --device sim:h200 --rounds 1 --call launch", f"record -o app.h5 -- {FAKE_APP}", "report app.h5",
               "collectives --device sim:h200x2 --sizes 8 --rounds 1"],
    "parameters": of_traces("derive", "h200_run_a h200_run_d h200_probes h200_rounds host_chase h200_onchip h200_tensor h100_frees"),
    "published": of_traces("derive", "h200_probes h200_onchip h200_tensor", "--published"),
    "roofline": ["probe bandwidth,compute,tensor --device sim:h200 --rounds 2 --output points.h5 --quiet", "roofline points.h5",
                 "roofline points.h5 --counts mine=2TFLOP,80GB,40ms,tensor-fp16",
                 "roofline T/h200_probes.h5 --counts mine=2TFLOP,80GB,40ms --counts other=2TFLOP,0,40ms,tensor-fp16",
                 "roofline T/h100_quick_a.h5 --counts mine=0,80GB,40ms", *of_traces("roofline", "h200_run_a h200_run_d h100_roofline")],
    "prediction": [*of_traces("predict", "h200_streams h200_rounds h200_run_d h200_blind_costs_2", JOB), f"predict T/h200_streams.h5 {JOB} --max-memory 8MiB",
                   "predict T/h200_streams.h5 --bytes-in 1MiB --kernel-ms 0.001 --bytes-out 0"],
    "kernel": ["predict T/h200_node.h5 --flops 2e9 --bytes-moved 12GB --blocks 3906250", "predict --on gtx480 --bytes-moved 1MiB --blocks 8"],
    "predicted-jobs": of_traces("predict", "h200_streams h200_rounds", "--measured T/h200_streams.h5"),
    "simulation": ["simulate --device sim:h200 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB"],
    "collective-forecast": ["collectives --device sim:h200x2 --collective all-reduce --sizes 8,1MiB --timing host,gated --output together.h5 --quiet",
                            "predict together.h5 --all-reduce 64KiB", "predict T/h100x2_collectives.h5 --all-reduce 24MiB",
                            "collectives --device sim:node8 --collective all-reduce --sizes 1KiB,1MiB --launch graph --output other.h5 --quiet",
                            "predict other.h5 --all-reduce 4KiB"],
    "app-forecast": [f"record -o app.h5 -- {FAKE_APP}", "predict app.h5 --on twins/h200"],
    "piece-advice": [f"pieces {PIECES}", "predict pieces.h5 --pieces 10 --piece-bytes 3000", "predict pieces.h5 --pieces 10 --piece-bytes 16",
                     f"pieces {PIECES} --direction d2h", "predict pieces.h5 --pieces 5 --piece-bytes 2KiB"],
    "compare": ["compare T/h200_run_a.h5 T/h200_run_b.h5", "compare T/h200_run_c.h5 T/h200_run_d.h5", "compare T/h200_run_d.h5 T/h200_run_e.h5",
                "compare T/h100_quick_a.h5 T/h100_quick_b.h5", "compare T/h200_run_b.h5 T/h100_quick_a.h5 --other-hardware",
                "compare T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_c.h5 -- T/h200_run_d.h5",
                "compare T/h200_run_a.h5 T/h100_quick_a.h5 --other-hardware", "compare T/h200_energy.h5 T/h100_energy.h5 --other-hardware"],
    "fleet": ["fleet T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_c.h5 T/h200_run_d.h5 T/h200_run_e.h5 T/h200_run_f.h5 T/h200_again_a.h5",
              "fleet T/h200_run_a.h5 T/h100_quick_a.h5", "fleet T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_d.h5 T/h200_run_f.h5 T/h200_rounds.h5 T/h200.h5",
              "fleet T/h200_run_c.h5 T/h200_run_d.h5", "fleet T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_c.h5 T/h200_run_f.h5 T/h200_rounds.h5"],
    "info": ["info", "info --device host"],
    "plan": [f"{what} --dry-run" for what in ("characterize --device sim:h200", "transfer --device host", "probe all --device sim:h200",
                                              "calls --device sim:h200", "characterize --device host", "matrix --device sim:node8")],
    "runs": ["merge both.h5 T/h200_run_a.h5 T/host.h5", "report both.h5", "merge two.h5 T/h200_run_b.h5 T/h100_quick_a.h5", "report two.h5"],
    "shared": of_traces("report", "h200_run_a h200_run_f h100_quick_a", "--share shared.json --force"),
}
REFUSED_LACKS = ("tolerances", "classes", "counts", "figures", "energies", "cases")  # a comparison of other hardware


def document_of(line, where):
    """None of a command that makes a file for those that follow."""
    words = [word.replace("sim:D/", f"sim:{SOURCE}/data/devices/") for word in line.split()]
    words = [f"{SOURCE}/data/traces/{word[2:]}" if word.startswith("T/") else word for word in words]
    makes_file = line.startswith(("merge", "record")) or "--quiet" in line
    shares = "--share" in words
    done = subprocess.run([PROGRAM, *words, *([] if makes_file or shares else ["--json"])], cwd=where, capture_output=True, text=True,
                          env={**os.environ, "NPGPU_WAIT_QUIET": "0"})
    if done.returncode == 2 or not (done.stdout or makes_file or shares):
        sys.exit(f"npgpu {line}: {done.returncode}: {done.stderr}")
    if makes_file:
        return None
    if shares:
        with open(os.path.join(where, "shared.json"), encoding="utf-8") as file:
            return json.load(file)
    return json.loads(done.stdout)


def objects(value, where, seen):
    """One object of each place in a document, but for those whose keys are names of their own."""
    if isinstance(value, dict) and where not in seen and not where.endswith("/provenance"):
        seen.add(where)
        if value:
            yield where, value
        for key, one in value.items():
            yield from objects(one, f"{where}/{key}", seen)
    elif isinstance(value, list):
        for one in value[:3]:
            yield from objects(one, where + "/0", seen)


check = Checks()
stored = {}
for file_name in os.listdir(FOLDER):
    if file_name.endswith(".json"):
        with open(os.path.join(FOLDER, file_name), encoding="utf-8") as file:
            stored[file_name[:-len(".json")]] = file.read()
check(stored.keys() == LINES.keys(), "a schema and a document for each")
with folder() as where:
    subprocess.run([sys.executable, os.path.join(FOLDER, "make.py"), sys.argv[2], where], check=True)
    made = os.listdir(where)
    check(len(made) == len(stored) - 1, "info.json alone is written by hand")
    for file_name in made:
        with open(os.path.join(where, file_name), encoding="utf-8") as file:
            check(file.read() == stored[file_name[:-len(".json")]], f"{file_name} is not what docs/schemas/make.py writes now: run it")

for name, lines in LINES.items():
    schema = json.loads(stored[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator, shortest = jsonschema.Draft202012Validator(schema), None
    with folder() as where:
        documents = [(line, document) for line in lines if (document := document_of(line, where)) is not None]
    for line, document in documents:
        faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:160]}" for e in validator.iter_errors(document)]
        check(not faults, f"npgpu {line}: {faults[:3]}")
    line, document = min(documents, key=lambda one: len(json.dumps(one[1])))
    for where, one in objects(document, "", set()):
        for key, value in list(one.items()):
            if name == "info" and where + key not in ("document", "version"):
                continue  # others are names of their own
            del one[key]
            if name != "compare" or where or key not in REFUSED_LACKS:
                check(not validator.is_valid(document), f"npgpu {line}: without {where}/{key} it is refused")
            one[key + "_"] = value
            check(not validator.is_valid(document), f"npgpu {line}: with {where}/{key}_ it is refused")
            del one[key + "_"]
            one[key] = {} if isinstance(value, list) else []
            check(not validator.is_valid(document), f"npgpu {line}: with another type of {where}/{key} it is refused")
            one[key] = value
check.finish()
