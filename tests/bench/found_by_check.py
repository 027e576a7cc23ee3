#!/usr/bin/env python3
"""How often npgpu judges healthy simulated devices wrongly, and which faults of which size it finds: the tables of
docs/check.md, as Markdown.

    found_by_check.py PROGRAM [--quick] [--parts healthy,faults,pairs,node] [--sizes 2,5,10,15,25,50] [--of-each 10] [--level 2] [--seed 1]

Healthy: five models, each with the scatter of its spec, half of it and twice. Faults: one figure of an H200, whose limits are
those of others, and of an A100, whose limits follow from its hardware. Pairs: two of six faults at once; a fault is named where
the screen has its cause. Memory 25 %, launches 50 %, others 10 %. Node: in a node of eight one pair of GPUs that do not see each other's memory, or whose copies deliver
zeros. Two processes at a time."""
import argparse
import collections
import concurrent.futures
import copy
import itertools
import json
import os
import subprocess
import tempfile

from simulated_fleet import DEVICES, judged, traced

MODELS = {"H200": "h200-node", "H100 PCIe": "models/h100-pcie", "A100": "models/a100-sxm", "L40S": "models/l40s", "RTX 4090": "models/rtx4090"}
SCATTERS = {"half": 0.5, "as is": 1, "twice": 2}


def merged(base, patch):
    for key, value in patch.items():
        base[key] = merged(base.get(key, {}), value) if isinstance(value, dict) else value
    return {key: value for key, value in base.items() if value is not None}


def spec_of(name):
    """With what the spec is like put in its place."""
    path = os.path.join(DEVICES, name + ".json")
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    like = spec.pop("like", None)
    return merged(spec_of(os.path.relpath(os.path.join(os.path.dirname(path), like), DEVICES)[:-5]), spec) if like else spec


def slower(*way):
    """A plant: the rate at the end of this way falls by the share, a time rises by it."""
    def plant(spec, share):
        for key in way[:-1]:
            spec = spec[key]
        spec[way[-1]] *= 1 + share if way[-1].endswith("_us") else 1 - share
    return plant


def blocking(spec, share):
    spec["host"]["copy_us"] += 2 * share * spec["host"]["copy_us"]  # half of a small copy's time is the link's


def errors(spec, _):
    spec["counters"]["ecc_uncorrected_volatile"] = 3


def idle_sms(spec, share):
    spec["hardware"]["idle_sms"] = max(1, round(share * spec["hardware"]["sms"]))


# What is planted, and the words of its cause on the screen.
FAULTS = {"copies to the GPU": (slower("links", "h2d", "pinned", "rate_gb_s"), "bytes are slow"),
          "copies to the host": (slower("links", "d2h", "pinned", "rate_gb_s"), "bytes are slow"),
          "pageable copies": (slower("links", "h2d", "pageable", "rate_gb_s"), "pageable copies go through"),
          "memory": (slower("links", "d2d", "rate_gb_s"), "memory is slow"),
          "SM clock": (slower("hardware", "shader_clock_mhz"), "SM clock is capped"),
          "multiprocessors that take no work": (idle_sms, "multiprocessors do not work"),
          "launches": (slower("hardware", "call_launch_us"), "takes longer for its calls"),
          "blocking copies": (blocking, "takes longer for its calls")}
ERRORS = {"uncorrected errors": (errors, "memory failed")}
PAIRED = ["copies to the GPU", "uncorrected errors", "memory", "SM clock", "multiprocessors that take no work", "launches"]
SIZES = {"memory": 0.25, "launches": 0.5}  # of two at once; others 10 %


class Bench:
    def __init__(self, options, where):
        self.options, self.where, self.count = options, where, itertools.count(10000 * options.seed)

    def device(self, model, scatter=1.0, plants=()):
        """A spec with another seed; plants are pairs of one and its share."""
        spec, seed = spec_of(MODELS[model]), next(self.count)
        for key in ("sigma", "operation_sigma", "drift", "cost_drift"):
            spec["noise"][key] = scatter * spec["noise"].get(key, 0)
        spec["noise"]["seed"] = seed
        for plant, share in plants:
            plant(spec, share)
        return self.written(f"gpu{seed}", spec)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def written(self, name, spec):
        path = os.path.join(self.where, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        return path

    def node(self, model, gpus, scatter):
        gpu = self.device(model, scatter)
        rate = spec_of(MODELS[model])["links"]["h2d"]["pinned"]["rate_gb_s"]
        links = [{"between": "gpu*", "and": "socket0", "gb_s": rate, "latency_us": 1}]
        if model == "H200":  # the way that is listed first is taken
            links.insert(0, {"between": "gpu*", "and": "nvswitch", "gb_s": 450, "latency_us": 0.5, "nvlinks": 18, "nvlink_version": "4.0"})
        return self.written(f"node{next(self.count)}", {"name": f"{gpus} {model}", "source": "made by found_by_check.py", "gpu": gpu, "gpus": gpus,
                                                        "memory": [{"at": "socket0"}], "links": links})

    def run(self, *words):
        done = subprocess.run([self.options.program, *words], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
        return done.returncode, " ".join(done.stdout.split()) + done.stderr

    def check(self, device, *words):
        return self.run("check", "--device", "sim:" + device, "--output", device + ".h5", "--force", *words)


def said(code):
    return {0: "ok", 3: "slow", 8: "undecided", 4: "not judged", 6: "broken"}.get(code, f"exit code {code}")


def healthy(bench, pool, few):
    print("| judge | on | devices or nodes | runs | not ok |\n| --- | --- | --- | --- | --- |")
    level = lambda n: lambda path: bench.check(path, "--level", str(n))
    between = lambda command: lambda path: bench.run(command, "--device", "sim:" + path, "--output", path + ".h5", "--force", "--quiet")

    def compare(paths):
        for path in paths:
            bench.check(path, "--level", "2")
        return bench.run("compare", *(path + ".h5" for path in paths), "--other-hardware")

    def fleet(paths):
        return judged(bench.options.program, [traced(bench.options.program, bench.where, next(bench.count), bench.read(p)) for p in paths])[0], ""

    rows = [("check --level 1", level(1), 1, 40), ("check --level 2", level(2), 1, 20), ("check --level 3", level(3), 1, 1), ("check --soak 5s", lambda p: bench.check(p, "--soak", "5s"), 1, 2),
            ("check --level 1", level(1), 8, 2), ("check --level 2", level(2), 2, 2), ("matrix", between("matrix"), 2, 1), ("collectives", between("collectives"), 2, 2),
            ("compare of two", compare, (2,), 4), ("fleet of eight", fleet, (8,), 2)]
    for title, judge, gpus, runs in rows:
        runs = max(1, runs // few)
        for model in MODELS if few == 1 else list(MODELS)[:2]:
            jobs, bad = [], collections.Counter()
            for name, scatter in SCATTERS.items():
                for _ in range(runs):
                    what = [bench.device(model, scatter) for _ in range(gpus[0])] if isinstance(gpus, tuple) else bench.device(model, scatter) if gpus == 1 else bench.node(model, gpus, scatter)
                    jobs.append((name, what, pool.submit(judge, what)))
            for name, what, job in jobs:
                code, text = job.result()
                if code:
                    bad[f"{said(code)} at {name} scatter"] += 1
                    print(f"<!-- {title}, {what}: {text[:600]} -->", flush=True)
            print(f"| `{title}` | {model} | {gpus[0] if isinstance(gpus, tuple) else gpus} | {len(jobs)} | {', '.join(f'{n} {w}' for w, n in bad.items()) or 0} |", flush=True)


def faults(bench, pool, few):
    sizes = [float(s) for s in bench.options.sizes.split(",")]
    number = max(1, bench.options.of_each // few)
    for model in ("H200", "A100"):
        print(f"\n| {model}: below by | {' | '.join(f'{s:g} %' for s in sizes)} |\n| --- |{' --- |' * len(sizes)}")
        for name, (plant, _) in FAULTS.items():
            jobs = [[pool.submit(bench.check, bench.device(model, 1, [(plant, s / 100)]), "--level", str(bench.options.level)) for _ in range(number)] for s in sizes]
            cells = [collections.Counter(said(job.result()[0]) for job in of) for of in jobs]
            print(f"| {name} | {' | '.join(', '.join(f'{n} {w}' for w, n in sorted(cell.items(), reverse=True)) for cell in cells)} |", flush=True)


def pairs(bench, pool, few):
    both, all_faults = 0, {**FAULTS, **ERRORS}
    print("\n| two at once | named |\n| --- | --- |")
    for one, other in itertools.combinations(PAIRED, 2):
        path = bench.device("H200", 1, [(all_faults[name][0], SIZES.get(name, 0.1)) for name in (one, other)])
        _, text = pool.submit(bench.check, path, "--level", str(bench.options.level)).result()
        named = [name for name in (one, other) if all_faults[name][1] in text]
        both += len(named) == 2
        print(f"| {one}, {other} | {'both' if len(named) == 2 else ', '.join(named) or 'none'} |", flush=True)
    print(f"\nboth named in {both} of 15 pairs")


def node(bench, pool, few):
    found = collections.Counter()
    for i in range(max(2, bench.options.of_each // few)):
        with open(os.path.join(DEVICES, "nodes/node8.json"), encoding="utf-8") as file:
            node8 = json.load(file)
        first, second = 4 * (i % 2) + i % 4, 4 * (i % 2) + (i + 1 + i // 4 % 3) % 4
        node8["gpu"] = os.path.join(DEVICES, "plain.json")
        node8[("blind", "zeros")[i % 2]] = [{"between": f"gpu{first}", "and": f"gpu{second}"}]
        path = bench.written(f"bad{i}", node8)
        done = subprocess.run([bench.options.program, "matrix", "--device", "sim:" + path, "--json", "--quiet", "--output", path + ".h5", "--force"],
                              capture_output=True, text=True)
        found_pairs = {tuple(sorted(one["devices"])) for one in json.loads(done.stdout).get("matrix", {}).get("findings", []) if one.get("health") == "fail"}
        wanted = tuple(sorted((f"sim:{path}:{first}", f"sim:{path}:{second}")))
        found["the pair" if found_pairs == {wanted} and done.returncode in (3, 6) else f"{done.returncode} {sorted(found_pairs)}"] += 1
    print(f"\none bad pair of eight GPUs: {dict(found)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs, of two models")
    parser.add_argument("--parts", default="healthy,faults,pairs,node")
    parser.add_argument("--sizes", default="2,5,10,15,25,50")
    parser.add_argument("--of-each", type=int, default=10)
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as where, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for part in options.parts.split(","):
            {"healthy": healthy, "faults": faults, "pairs": pairs, "node": node}[part](Bench(options, where), pool, 10 if options.quick else 1)


main()
