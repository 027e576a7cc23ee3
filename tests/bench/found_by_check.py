#!/usr/bin/env python3
"""What npgpu check finds on simulated H200s whose times scatter from visit to visit as a real one's did, and how often it
says of a healthy one that it is not ok.

    found_by_check.py PROGRAM [--of-each 20] [--healthy 200] [--level 2] [--seed 1] [--links 0.06 [0.05 ...]]

Planted: links 6 % (or the shares that --links names, and then nothing else), memory 5 % and clock 4 % below, launches that take 30 % longer, one of 132 multiprocessors that takes no
block, and in a node of eight one pair of GPUs that do not see each other's memory, or whose copies deliver zeros (npgpu matrix)."""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import subprocess
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
DEVICES = os.path.join(SOURCE, "data/devices")


def links_by(share):
    def plant(spec):
        for way in ("h2d", "d2h"):
            spec["links"][way]["pinned"]["rate_gb_s"] *= 1 - share
    plant.__name__ = f"links-{share:g}"  # a file's name
    return plant


links = links_by(0.06)


def memory(spec):
    spec["links"]["d2d"]["rate_gb_s"] *= 0.95


def clock(spec):
    spec["hardware"]["shader_clock_mhz"] *= 0.96


def launches(spec):
    spec["hardware"]["call_launch_us"] *= 1.3


def multiprocessor(spec):
    spec["hardware"]["idle_sms"] = 1


def merged(base, patch):
    for key, value in patch.items():
        base[key] = merged(base.get(key, {}), value) if isinstance(value, dict) else value
    return base


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--of-each", type=int, default=20)
    parser.add_argument("--healthy", type=int, default=200)
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--links", type=float, nargs="+", default=[])
    options = parser.parse_args()
    with open(os.path.join(DEVICES, "h200.json"), encoding="utf-8") as file:
        spec = json.load(file)
    with open(os.path.join(DEVICES, "h200-node.json"), encoding="utf-8") as file:
        node = json.load(file)
    del node["like"]
    healthy = merged(spec, node)

    with tempfile.TemporaryDirectory() as where:
        def asked(plant, seed):
            one = copy.deepcopy(healthy)
            one["noise"]["seed"] = seed
            if plant:
                plant(one)
            device = os.path.join(where, f"{plant.__name__ if plant else 'healthy'}-{seed}.json")
            with open(device, "w", encoding="utf-8") as file:
                json.dump(one, file)
            done = subprocess.run([options.program, "check", "--level", str(options.level), "--json", "--device", "sim:" + device],
                                  capture_output=True, text=True)
            found = json.loads(done.stdout)
            return found["verdict"], [one["metric"] for one in found["findings"] if one["health"] not in ("pass", "skip")]

        def count(plant, number):
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                return list(pool.map(lambda i: asked(plant, 10000 * options.seed + i), range(number)))

        for share in options.links:
            print(f"links {100 * share:g} %: {dict(collections.Counter(verdict for verdict, _ in count(links_by(share), options.of_each)))}", flush=True)
        if options.links:
            return
        for plant in (links, memory, clock, launches, multiprocessor):
            told = count(plant, options.of_each)
            print(f"{plant.__name__}: {dict(collections.Counter(verdict for verdict, _ in told))}, "
                  f"of {collections.Counter(metric for _, metrics in told for metric in metrics).most_common(4)}", flush=True)
        told = count(None, options.healthy)
        print(f"healthy: {dict(collections.Counter(verdict for verdict, _ in told))}, "
              f"of {collections.Counter(metric for _, metrics in told for metric in metrics).most_common(4)}", flush=True)

        found = collections.Counter()
        for i in range(options.of_each):
            with open(os.path.join(DEVICES, "nodes/node8.json"), encoding="utf-8") as file:
                node8 = json.load(file)
            first, second = 4 * (i % 2) + i % 4, 4 * (i % 2) + (i + 1 + i // 4 % 3) % 4
            node8["gpu"] = os.path.join(DEVICES, "plain.json")
            node8[("blind", "zeros")[i % 2]] = [{"between": f"gpu{first}", "and": f"gpu{second}"}]
            path = os.path.join(where, f"node-{i}.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(node8, file)
            done = subprocess.run([options.program, "matrix", "--device", "sim:" + path, "--json", "--quiet", "--output", path + ".h5", "--force"],
                                  capture_output=True, text=True)
            said = json.loads(done.stdout) if done.stdout.startswith("{") else {}
            pairs = {tuple(sorted(one["devices"])) for one in said.get("matrix", {}).get("findings", []) if one.get("health") == "fail"}
            wanted = tuple(sorted((f"sim:{path}:{first}", f"sim:{path}:{second}")))
            found["the pair" if pairs == {wanted} and done.returncode in (3, 6) else f"{done.returncode} {sorted(pairs)} {done.stderr[-200:]}"] += 1
        print(f"one bad pair of eight: {dict(found)}")


main()
