"""What the scripts share that count npgpu fleet on simulated GPUs: a trace of a GPU by its spec, and whom a fleet names."""
import json
import os
import subprocess

import h5py

DEVICES = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../data/devices"))


def host_of(trace):
    return f"node{os.path.basename(trace)[:-3]}"


def traced(program, where, seed, spec):
    """The path of a trace of check --level 1, of a host of its own."""
    file, trace = os.path.join(where, f"{seed}.json"), os.path.join(where, f"{seed}.h5")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(spec, out)
    subprocess.run([program, "check", "--level", "1", "--device", "sim:" + file, "-o", trace], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with h5py.File(trace, "a") as written:
        written.attrs["hostname"] = host_of(trace)
    return trace


def judged(program, traces):
    """The exit code, and the hosts that are named."""
    done = subprocess.run([program, "fleet", *traces, "--json"], capture_output=True, text=True)
    return done.returncode, sorted(one["host"] for group in json.loads(done.stdout)["groups"] for one in group["suspects"])
