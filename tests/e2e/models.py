"""npgpu check on simulated GPUs of other models, made from published figures (data/devices/models): a healthy one is ok,
and half a link, a multiprocessor that is missing or takes no block, memory that lost a fifth, and copies that deliver zeros
are found on each.

--times N: how often each is looked for, each time with other noise."""
import argparse
import glob
import json
import os

from npgpu_run import SOURCE, Checks, folder, run, written

arguments = argparse.ArgumentParser()
arguments.add_argument("program")
arguments.add_argument("--times", type=int, default=1)
TIMES = arguments.parse_args().times
check = Checks()
MODELS = sorted(glob.glob(os.path.join(SOURCE, "data/devices/models/*.json")))


def half_a_link(spec):
    for way in ("h2d", "d2h"):
        spec["links"][way]["pinned"]["rate_gb_s"] /= 2


def lost_multiprocessor(spec):
    spec["hardware"]["sms"] -= 1


def idle_multiprocessor(spec):
    spec["hardware"]["idle_sms"] = 1


def slow_memory(spec):
    spec["links"]["d2d"]["rate_gb_s"] *= 0.8


def zeros(spec):
    spec["faults"] = [{"call": 1, "every": 1, "kind": "zeros"}]


# What is planted: the verdict, its exit code, and findings of which one must fail.
PLANTS = {None: ("ok", 0, set()), half_a_link: ("slow", 3, {"h2d_rate", "d2h_rate"}), lost_multiprocessor: ("broken", 6, {"sms"}),
          idle_multiprocessor: ("broken", 6, {"sms"}), slow_memory: ("slow", 3, {"memory_rmw_rate", "memory_copy_rate"}),
          zeros: ("broken", 6, {"results"})}

with folder() as at:
    check(len(MODELS) >= 10, f"models: {MODELS}")
    for path in MODELS:
        name = os.path.basename(path)[:-5]
        with open(path, encoding="utf-8") as file:
            model = json.load(file)
        check(model["source"].startswith("Published: "), f"{name} says where its figures come from")
        for plant, (verdict, code, metrics) in PLANTS.items():
            for i in range(TIMES):
                spec = json.loads(json.dumps(model)) | {"like": os.path.join(SOURCE, "data/devices/h200-node.json")}
                spec["noise"] = spec["noise"] | {"seed": 5000 + i}
                if plant:
                    plant(spec)
                device = written(os.path.join(at, f"{name}.json"), spec)
                level = 2 if plant in (None, slow_memory) else 1  # level 1 sees the others as well
                done = run("check", "--json", "--level", level, "--device", f"sim:{device}", timeout=600)
                found = json.loads(done.out)
                failed = {one["metric"] for one in found["findings"] if one["health"] == "fail"}
                check((found["verdict"], done.code) == (verdict, code) and (failed & metrics or not metrics),
                      f"{name}, {plant.__name__ if plant else 'healthy'} {i}: {found['verdict']} {done.code} "
                      f"{[one['text'] for one in found['findings'] if one['health'] not in ('pass', 'skip')]}")
check.finish()
