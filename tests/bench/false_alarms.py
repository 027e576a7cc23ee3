#!/usr/bin/env python3
"""How often a command says of healthy simulated H200s that they are not as they should be, with another seed of their noise
each time; beside found_by_check.py, which also plants faults.

    false_alarms.py PROGRAM check|node|characterize [--runs 60] [--seed 1] [--level 3]

check: npgpu check of one GPU. node: of two that NVLinks join. characterize: its exit code and the report's HEALTH, what
npgpu derive says of its parameters, and npgpu compare of each run with the one before. Whatever is not as it should be is
printed, and then how often each thing was said.
"""
import argparse
import collections
import json
import os
import subprocess
import tempfile

DEVICES = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../data/devices"))


def spec_in(where, name, content):
    path = os.path.join(where, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def gpu_in(where, seed):
    return spec_in(where, f"gpu{seed}.json", {"like": os.path.join(DEVICES, "h200-node.json"), "noise": {"seed": seed}})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("what", choices=("check", "node", "characterize"))
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", type=int, default=3)
    options = parser.parse_args()
    said = collections.Counter()

    def run(*words):
        return subprocess.run([options.program, *map(str, words)], capture_output=True, text=True)

    with tempfile.TemporaryDirectory() as where:
        def check(seed):
            device = gpu_in(where, seed)
            if options.what == "node":
                with open(os.path.join(DEVICES, "nodes/h200x2.json"), encoding="utf-8") as file:
                    device = spec_in(where, f"node{seed}.json", {**json.load(file), "gpu": device})
            done = run("check", "--level", options.level, "--json", "--device", "sim:" + device)
            found = json.loads(done.stdout)
            said[f"check: {found['verdict']}, exit code {done.returncode}"] += 1
            for one in found["findings"]:
                if one["health"] not in ("pass", "skip"):
                    said[f"{one['metric']}: {one['health']}"] += 1
                    print(seed, one["metric"], one["health"], one["text"], flush=True)

        def characterize(seed, before):
            trace = os.path.join(where, f"{seed}.h5")
            said[f"characterize: exit code {run('characterize', '--device', 'sim:' + gpu_in(where, seed), '-o', trace).returncode}"] += 1
            for line in run("report", trace).stdout.splitlines():
                if line.startswith("HEALTH"):
                    said[line] += 1
            for one in json.loads(run("derive", trace, "--json").stdout)["devices"][0]["parameters"]:
                said[f"derive: {one['verdict']}"] += 1
                if one["verdict"] not in ("agrees", "no reference"):
                    said[f"derive: {one['name']} {one['verdict']}"] += 1
            if before:
                done = run("compare", before, trace)
                said[f"compare: exit code {done.returncode}"] += 1
                if done.returncode:
                    print(seed, done.stdout, flush=True)
                os.remove(before)
            return trace

        before = None
        for i in range(options.runs):
            seed = 1000 * options.seed + i
            if options.what == "characterize":
                before = characterize(seed, before)
            else:
                check(seed)
    for what, count in sorted(said.items()):
        print(f"{count:6} {what}")


main()
