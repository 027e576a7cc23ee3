#!/usr/bin/env python3
"""Writes the JSON schemas of this folder from what the program prints of many traces:

    make.py NPGPU [FOLDER]

A key is required where every object at its place has it, and may be null where one is; one that is null in all of them may be
anything. Whatever else an object holds is
refused: so the test that compares other traces' documents with these schemas (tests/e2e/schemas.py) finds a key that they
lack. MEANING says what keys mean, WORDS which words a text may be, and ANY where an object's keys are names of their own. A
list that no sample fills may hold anything.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
PIECES = "--device sim:h200 --pieces 1,64 --piece-bytes 1KiB,64KiB --rounds 2"
JOB = "--bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB"
# What each document is made of: command lines of npgpu in a folder of its own, T the kept traces, D simulated devices. Without --json those
# that come before.
SAMPLES = {
    "check": ["check --trace T/h200_check.h5", "check --trace T/h200_run_a.h5", "check --trace T/h100_check.h5", "check --trace T/host.h5",
              "check --device sim:h200", "check --device sim:node8-sick --level 1", "check --device sim:D/sick/half-the-lanes.json --level 1",
              "check --device sim:D/sick/ecc-errors.json --level 1", "check --device sim:D/sick/busy-neighbour.json --level 1",
              "check --soak 20s --memory-test --device sim:D/soak/flips.json", "check --soak 10min --device sim:D/soak/throttles.json",
              "check --soak 10min --device sim:D/soak/falls-off-the-bus.json"],
    "overview": [f"report T/{name}.h5 --overview" for name in ("h200_run_a", "h200x2_matrix", "h100_quick_a", "host", "h200_blind_design",
                                                               "h200_streams", "h200_gemm", "h200_rounds", "h200_check", "h200_processes", "xeon_pocl")],
    "report": [f"report T/{name}.h5" for name in ("h200_words", "h200x2_matrix", "h200_partition", "host", "h200_onchip", "h200_processes",
                                                  "h200_gemm", "h200_small_streams", "h200_rounds", "h100_frees", "h100_function", "h100_roofline", "h100_library", "h200_pieces", "h200x2_pieces",
                                                  "h200x4_collectives", "h200_jobs", "xeon_pocl")] +
              ["probe compute --type fp32 --device sim:h200 --rounds 2 --output points.h5 --quiet",
               "report points.h5", f"pieces {PIECES} --output pieces.h5 --quiet", "report pieces.h5",
               "collectives --device sim:node8-half-nvlink --sizes 8,128MiB --timing host,gated --output together.h5 --quiet", "report together.h5",
               "collectives --device sim:h200x2 --sizes 8,128MiB --launch eager,graph --output graphs.h5 --quiet", "report graphs.h5",
               "collectives --device sim:zeros --collective send-receive,broadcast --sizes 8 --output wrong.h5 --quiet", "report wrong.h5"],
    "collective-forecast": ["collectives --device sim:h200x2 --collective all-reduce --sizes 8,1MiB --timing host,gated --output together.h5 --quiet",
                            "predict together.h5 --all-reduce 64KiB", "predict T/h100x2_collectives.h5 --all-reduce 24MiB"],
    "published": [f"derive T/{name}.h5 --published" for name in ("h200_probes", "h200_onchip", "h200_tensor")],
    "piece-advice": [f"pieces {PIECES} --output pieces.h5 --quiet", "predict pieces.h5 --pieces 10 --piece-bytes 3000",
                     "predict pieces.h5 --pieces 10 --piece-bytes 16"],
    "roofline": ["probe bandwidth,compute --device sim:h200 --rounds 2 --output points.h5 --quiet", "roofline points.h5",
                 "roofline T/h200_probes.h5 --counts mine=2TFLOP,80GB,40ms --counts other=2TFLOP,0,40ms,tensor-fp16",
                 "roofline T/h100_quick_a.h5 --counts mine=0,80GB,40ms", "roofline T/h200_run_a.h5", "roofline T/h100_roofline.h5"],
    "parameters": [f"derive T/{name}.h5" for name in ("h200_run_a", "h200_probes", "host_chase", "h200_onchip", "h200_tensor", "h100_frees")],
    "prediction": [f"predict T/h200_streams.h5 {JOB}", f"predict T/h200_rounds.h5 {JOB}", f"predict T/h200_streams.h5 {JOB} --max-memory 8MiB",
                   "predict T/h200_streams.h5 --bytes-in 1MiB --kernel-ms 0.001 --bytes-out 0"],
    "compare": ["compare T/h200_run_a.h5 T/h200_run_b.h5", "compare T/h200_run_c.h5 T/h200_run_d.h5", "compare T/h100_quick_a.h5 T/h100_quick_b.h5",
                "compare T/h200_run_b.h5 T/h100_quick_a.h5 --other-hardware", "compare T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_c.h5 -- T/h200_run_d.h5",
                "compare T/h200_energy.h5 T/h100_energy.h5 --other-hardware"],
    "fleet": ["fleet T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_c.h5 T/h200_run_d.h5 T/h200_run_e.h5 T/h200_run_f.h5 T/h200_again_a.h5",
              "fleet T/h200_run_a.h5 T/h100_quick_a.h5", "fleet T/h200_run_a.h5 T/h200_run_b.h5 T/h200_run_d.h5 T/h200_run_f.h5 T/h200_rounds.h5 T/h200.h5"],
    "info": ["info", "info --device host"],
    "plan": ["characterize --device sim:h200 --dry-run", "transfer --device host --dry-run", "probe all --device sim:h200 --dry-run",
             "calls --device sim:h200 --dry-run"],
    "runs": ["merge both.h5 T/h200_run_a.h5 T/host.h5", "report both.h5"],
    "shared": ["report T/h200_run_a.h5 --share SHARED", "report T/h100_quick_a.h5 --share SHARED"],
}
TITLES = {
    "check": "npgpu check --json", "overview": "npgpu report TRACE --overview --json", "report": "npgpu report TRACE --json, and what measuring commands print with --json",
    "parameters": "npgpu derive TRACE --json", "published": "npgpu derive TRACE --published --json", "roofline": "npgpu roofline TRACE --json", "prediction": "npgpu predict TRACE --json, of one job", "piece-advice": "npgpu predict TRACE --pieces N --piece-bytes B --json", "collective-forecast": "npgpu predict TRACE --all-reduce SIZE --json", "compare": "npgpu compare A B --json",
    "fleet": "npgpu fleet TRACE... --json", "info": "npgpu info --json", "plan": "--dry-run --json of a measuring command",
    "runs": "npgpu report MERGED --json", "shared": "npgpu report TRACE --share FILE",
}
ANY = {"provenance", "library", "counts"}  # keys whose object has names of its own as keys
ANY_DOCUMENT = {"info": ["kinds", "missing", "devices"]}  # documents that are such an object, but for these keys
WORDS = {("check", "verdict"): ["ok", "slow", "broken", "failed to run", "undecided", "not judged"],
         ("*", "health"): ["pass", "warn", "fail", "skip", "undecided", "not judged"]}
MEANING = {
    "document": "which document this is", "version": "of its form: a reader should refuse a higher one",
    "value": "in `unit`", "low": "lower end of the 95 % interval", "high": "upper end of the 95 % interval",
    "unit": "SI: B/s, FLOP/s, us, MHz, ...", "limit": "what the value is compared with, in `unit`; null where there is none",
    "verdict": "what it comes to", "health": "what a finding comes to", "exit_code": "of the program",
    "reason": "what is wrong, in few words, the device and the fault first; null where nothing is", "hostname": "of the measured node",
    "start_time_utc": "when it began, ISO 8601", "metric": "which question the figure answers, the same in every version",
    "device": "cuda:0, host, sim:h200, ...; empty: the node", "text": "a sentence for people", "basis": "what decided it",
    "explanations": "likely causes, the likeliest first", "cause": "a word for machines", "what": "the same for people",
    "evidence": "what was read", "remedy": "what would fix it", "would_see": "the smallest slow-down that would have been found, a share",
    "case": "title of the series that it is of; null: of none", ("report", "case"): "what was measured, and how", "point": "and of its point", "if_failed": "the verdict where it fails",
    "bytes": "of one copy or working set", "time_us": "microseconds", "rate": "bytes per second", "disturbed": "by what others did; null: by nothing",
    "unsteady": "the interval is wide, even for its class", "percent_of_limit": "of what the link or memory could do",
    "change": "of the time, b/a - 1: positive is slower", "own": "of it, what is not its class's", "p": "corrected for the number of tests",
    ("compare", "sharing"): "of its cases, those that changed by at least half as much; 0 where it is neither slower nor faster",
    "tolerance": "changes up to this share do not matter", "shown": "the smallest change that would have been found",
    "run_uuid": "of the run", "tool_version": "of npgpu", "git_commit": "of its sources", "argv": "the command line",
    "about_s": "how long it will take, about", "left_out": "what cannot be measured, and why", "month": "when it was measured",
    "provenance": "facts of software and hardware, by group", "streams": "number of CUDA streams", "chunks": "number of chunks",
    "kinds": "of measurements, with what measures each", "backends": "modules, probes or what else measures a kind",
    "words": "that options take, by option", "usable": "here", "why_not": "it is not usable here or in this build; empty: it is",
    "in_bytes": "copied to the device", "out_bytes": "copied back", "device_bytes": "device memory of the buffers",
}


def is_input(line):
    """It makes a file for those that follow, and no document."""
    return line.startswith("merge") or "--quiet" in line


def document_of(npgpu, line, where):
    words = [word.replace("sim:D/", f"sim:{ROOT}/data/devices/") for word in line.split()]
    words = [f"{ROOT}/data/traces/{word[2:]}" if word.startswith("T/") else word for word in words]
    if "SHARED" in words:
        words[words.index("SHARED")] = os.path.join(where, "shared.json")
        words.append("--force")
    elif not is_input(line):
        words.append("--json")
    environment = {**os.environ, "NPGPU_WAIT_QUIET": "0"}
    done = subprocess.run([npgpu, *words], cwd=where, capture_output=True, text=True, env=environment)
    if done.returncode == 2 or not done.stdout and "--share" not in words and not is_input(line):
        sys.exit(f"npgpu {line}: {done.returncode}: {done.stderr}")
    if is_input(line):
        return None
    if "--share" in words:
        with open(os.path.join(where, "shared.json"), encoding="utf-8") as file:
            return json.load(file)
    return json.loads(done.stdout)


def documents(npgpu, lines):
    with tempfile.TemporaryDirectory() as where:
        return [one for line in lines if (one := document_of(npgpu, line, where)) is not None]


TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def schema_of(values, document, key, top=False):
    """Of all values that were seen at one place."""
    kinds = {TYPES[type(v)] for v in values if type(v) in TYPES}
    if "number" in kinds:
        kinds.discard("integer")
    objects, lists = [v for v in values if isinstance(v, dict)], [v for v in values if isinstance(v, list)]
    schema = {}
    if meaning := MEANING.get((document, key)) or MEANING.get(key):
        schema["description"] = meaning
    kinds |= {"object"} if objects else set()
    kinds |= {"array"} if lists else set()
    if key in ("low", "high"):
        kinds.add("null")  # few values give no interval
    if kinds != {"null"}:  # which alone says of no type
        names = sorted(kinds)
        schema["type"] = names[0] if len(names) == 1 else names
    words = WORDS.get((document, key)) or WORDS.get(("*", key))
    if words and "string" in kinds:
        schema["enum"] = words + ([None] if "null" in kinds else [])
    if objects:
        keys = list(dict.fromkeys(k for v in objects for k in v))
        has_any = key in ANY or (top and document in ANY_DOCUMENT)
        fixed = ["document", "version", *ANY_DOCUMENT.get(document, [])] if top else []
        if has_any:
            schema["properties"] = {k: schema_of([v[k] for v in objects if k in v], document, k) for k in fixed}
            schema["required"] = [k for k in fixed if all(k in v for v in objects)]
            rest = [v[k] for v in objects for k in v if k not in fixed]
            # Facts: a group of names with a text or a number each, or such a value itself.
            schema["additionalProperties"] = ({"type": ["object", "string", "integer", "number", "array", "null", "boolean"]} if rest else True)
        else:
            schema["properties"] = {k: schema_of([v[k] for v in objects if k in v], document, k) for k in keys}
            schema["required"] = [k for k in keys if all(k in v for v in objects)]
            schema["additionalProperties"] = False
        if top:
            schema["properties"]["document"]["const"] = objects[0]["document"]
            schema["properties"]["version"]["const"] = objects[0]["version"]
    if lists:
        items = [item for v in lists for item in v]
        schema["items"] = schema_of(items, document, None) if items else {}
    return schema


def main(npgpu, folder=os.path.dirname(os.path.realpath(__file__))):
    npgpu = os.path.realpath(npgpu)
    for name, lines in SAMPLES.items():
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLES[name],
                  **schema_of(documents(npgpu, lines), name, None, top=True)}
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(schema, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
