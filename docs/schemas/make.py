#!/usr/bin/env python3
"""Writes the JSON schemas of this folder:

    make.py SCHEMAS [FOLDER]

SCHEMAS is the program npgpu_schemas of a build with tests. It prints what the code says of each document (netpipe/report/json.hpp);
MEANING says what keys mean. info.json is written by hand, as most keys of that document are names of devices and facts.
"""
import json
import os
import subprocess
import sys

TITLES = {
    "check": "npgpu check --json", "collective-forecast": "npgpu predict TRACE --all-reduce SIZE --json", "compare": "npgpu compare A B --json",
    "fleet": "npgpu fleet TRACE... --json", "kernel": "npgpu predict --flops N --blocks B --json, without copies", "overview": "npgpu report TRACE --overview --json", "parameters": "npgpu derive TRACE --json",
    "piece-advice": "npgpu predict TRACE --pieces N --piece-bytes B --json",
    "app-forecast": "npgpu predict APP.h5 --on NODE --json", "plan": "--dry-run --json of a measuring command",
    "predicted-jobs": "npgpu predict TRACE --measured TRACE --json", "prediction": "npgpu predict TRACE --json, of one job",
    "published": "npgpu derive TRACE --published --json", "report": "npgpu report TRACE --json, and what measuring commands print with --json",
    "roofline": "npgpu roofline TRACE --json", "runs": "npgpu report MERGED --json", "shared": "npgpu report TRACE --share FILE",
    "simulation": "npgpu simulate --json",
}
MEANING = {
    "document": "which document this is", "version": "of its form: a reader should refuse a higher one",
    "value": "in `unit`", "low": "lower end of the 95 % interval", "high": "upper end of the 95 % interval",
    "unit": "SI: B/s, FLOP/s, us, MHz, ...", "limit": "what the value is compared with, in `unit`; null where there is none",
    "verdict": "what it comes to", "health": "what a finding comes to", "exit_code": "of the program",
    "reason": "what is wrong, in few words, the device and the fault first; null where nothing is", "hostname": "of the measured node",
    "start_time_utc": "when it began, ISO 8601", "metric": "which question the figure answers, the same in every version",
    "device": "cuda:0, host, sim:h200, ...; empty: the node", "text": "a sentence for people", "basis": "what decided it",
    "key_figures": "the numbers that stand for each GPU, the same in check, report, compare and fleet",
    "explanations": "likely causes, the likeliest first", "cause": "a word for machines", "what": "the same for people",
    "evidence": "what was read", "remedy": "what would fix it", "would_see": "the smallest slow-down that would have been found, a share",
    "case": "title of the series that it is of; null: of none", ("report", "case"): "what was measured, and how", "point": "and of its point", "if_failed": "the verdict where it fails",
    "bytes": "of one copy or working set", "time_us": "microseconds", "rate": "bytes per second", "disturbed": "by what others did; null: by nothing",
    "unsteady": "the interval is wide, even for its class", "percent_of_limit": "of what the link or memory could do",
    "change": "of the time, b/a - 1: positive is slower", "own": "of it, what is not its class's", "p": "corrected for the number of tests",
    ("compare", "sharing"): "of its cases, those that changed by at least half as much; 0 where it is neither slower nor faster",
    "tolerance": "changes up to this share do not matter", "shown": "the smallest change that would have been found",
    "run_uuid": "of the run", "tool_version": "of npgpu", "git_commit": "of its sources", "argv": "the command line",
    "about_s": "how long it will take, about", "left_out": "what cannot be measured, and why", ("predicted-jobs", "left_out"): "times that are in none of these lists, by reason",
    ("predicted-jobs", "others"): "in fresh streams, or in fewer than three splits: the study scores them apart",
    ("prediction", "items"): "equal parts, such as frames, of which no chunk has a piece; 0: chunks end anywhere",
    "optimum": "by the model's own equation; null where it has none or streams cost nothing", "times_us": "as `candidates`", "month": "when it was measured",
    "provenance": "facts of software and hardware, by group", "streams": "number of CUDA streams", "chunks": "number of chunks",
    "in_bytes": "copied to the device", "out_bytes": "copied back", "device_bytes": "device memory of the buffers",
}


def explain(objects, document):
    """Says of each key what it means."""
    for one in objects:
        for key, schema in one["properties"].items():
            if meaning := MEANING.get((document, key)) or MEANING.get(key):
                schema["description"] = meaning


def written(value, indent=0, width=150):
    """JSON with one line for what fits on it, but objects' schemas."""
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or len(text) + indent <= width and '"properties"' not in text:
        return text
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {written(one, indent + 1, width)}" for key, one in value.items()]
    else:
        lines = [written(value[0], indent + 1, width)]
        for one in value[1:]:
            item = written(one, indent + 1, width)
            if len(lines[-1]) + len(item) + indent + 3 > width:
                lines.append(item)
            else:
                lines[-1] += ", " + item
    ends = "{}" if isinstance(value, dict) else "[]"
    return ends[0] + "\n" + ",\n".join(" " * (indent + 1) + line for line in lines) + "\n" + " " * indent + ends[1]


def main(schemas, folder=os.path.dirname(os.path.realpath(__file__))):
    printed = subprocess.run([schemas], capture_output=True, text=True, check=True).stdout
    for name, schema in json.loads(printed).items():
        explain([schema, *schema.get("$defs", {}).values()], name)
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLES[name], **schema}
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(written(schema) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
