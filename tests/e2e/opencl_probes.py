"""Probes of OpenCL on this machine's processor, by PoCL: as the processor that it is, and as a GPU, whose kernels are
others. What they leave is verified, and a wrong bit is found. Skipped, with the reason, where OpenCL has no processor."""
import json
import os
import sys

from npgpu_run import Checks, folder, run

AS_GPU = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 and os.path.exists(sys.argv[2]) else None
check = Checks()


def main(where):
    cache = {"POCL_CACHE_DIR": os.path.join(where, "cache")}
    trace = os.path.join(where, "t.h5")
    found = {id: facts for id, facts in json.loads(run("info", "--json", env=cache).out).items() if id.startswith("opencl:")}
    here = [id for id, facts in found.items() if facts["device_type"] == "CPU"]
    if not here:
        print("skipped: OpenCL has no device that is a processor:", run("info", "--device", "opencl:0", env=cache).err.strip())
        sys.exit(77)
    cpu, cores, lanes = here[0], found[here[0]]["compute_units"], found[here[0]]["vector_width_fp32"]
    short = ("--rounds", "1", "--trials", "6", "--budget", "2ms", "--trial-time", "300us", "--output", trace, "--force")

    def probe(name, shape, *words, env=None):
        """The series of a run, and what it printed."""
        done = run("probe", name, "--device", cpu, "--shape", shape, *words, *short, "--json", env={**cache, **(env or {})})
        return (json.loads(done.out)["probes"] if done.code in (0, 1) and done.out else []), done

    def right(series, done, titles, what):
        check(done.code == 0 and [s["title"] for s in series] == [f"{what} {t}" for t in titles], f"{what}: {done.code} {done.err}")
        for s in series:
            for point in s["points"]:
                check((point["rate_per_s"]["value"] or 0) > 0, f"{s['title']}: {point}")

    # The processor: cores and lanes of its vectors.
    series, done = probe("compute", f"blocks=1,threads={lanes},ilp=8")
    right(series[:1], done, ["fma fp32"], f"compute {cpu}")
    one, _ = probe("compute", "blocks=1,threads=1,ilp=1", "--type", "fp32")
    check(series[0]["points"][0]["rate_per_s"]["value"] > 2 * one[0]["points"][0]["rate_per_s"]["value"],
          "eight chains of vectors are no faster than one of single elements: work was left out, or is not what it says")
    for blocks in {1, cores}:
        right(*probe("bandwidth", f"blocks={blocks},threads=16,ilp=4,access=64,bytes=8MiB", "--form", "streaming"),
              [f"{o} fp32" for o in ("rmw", "read", "write", "copy", "triad")], f"bandwidth {cpu}")
    right(*probe("bandwidth", f"blocks={cores},threads=1,ilp=1,access=4,bytes=8MiB", "--form", "dependent"),
          ["rmw fp32 dependent", "read fp32 dependent"], f"bandwidth {cpu}")
    right(*probe("latency", "blocks=1,threads=1,ilp=1,access=8,bytes=64KiB"), ["chase fp64 dependent"], f"latency {cpu}")
    for name, why in (("onchip", "keeps local memory in its global memory"), ("atomics", "work-items are no lanes")):
        refused = run("probe", name, "--device", cpu, env=cache)
        check(refused.code == 2 and why in refused.err, f"{name}: {refused.code} {refused.err}")
    refusals = [("blocks=1,threads=3,ilp=8", "3 lanes"), (f"blocks={cores + 1},threads=1,ilp=1", "cores"),
                ("blocks=1,threads=1,ilp=1,one_block_per_sm=1", "which unit runs a work-group")]
    for shape, why in refusals + ([("blocks=1,threads=1,ilp=8", "one lane has one chain")] if lanes > 1 else []):
        refused = run("probe", "compute", "--device", cpu, "--type", "fp32", "--shape", shape, *short, env=cache)
        check(refused.code == 2 and why in refused.err, f"{shape}: {refused.code} {refused.err}")
    # What it means: a core runs one block, and its clock is the host's.
    derived = run("probe", "compute", "--device", cpu, "--type", "fp32", *short, "--json", env=cache)
    check(derived.code == 0, derived.err)
    told = json.loads(run("derive", trace, "--json").out)["devices"][0]
    by_name = {p["name"]: p for p in told["parameters"]}
    check("on a CPU" in by_name["N_PPipe"]["reference_source"] and "w*" not in by_name, by_name.keys())
    check(by_name["SM"]["reference"] == cores, by_name["SM"])
    if lanes > 1:  # neighbours come and go: only that vectors are wider than single elements is sure
        check(by_name["lanes"]["reference"] == lanes and by_name["lanes"]["estimate"]["value"] > 1.5, by_name["lanes"])

    # The same processor as a GPU.
    if not AS_GPU:
        print("OpenCL's library is not here to be linked with: kernels for GPUs are not tried")
        return
    gpu = {"NPGPU_OPENCL": AS_GPU}
    info = json.loads(run("info", "--device", cpu, "--json", env={**cache, **gpu}).out)[cpu]
    check(info["device_type"] == "GPU" and "same_as" not in info, info)
    right(*probe("compute", "blocks=3,threads=32,ilp=4", env=gpu), ["fma fp32", "fma fp64", "fma int32"], f"compute {cpu}")
    streaming = [f"{o} fp32" for o in ("rmw", "read", "write", "copy", "triad")]
    right(*probe("bandwidth", "blocks=4,threads=64,ilp=4,access=16,bytes=4MiB", "--form", "streaming", env=gpu), streaming,
          f"bandwidth {cpu}")
    right(*probe("bandwidth", "blocks=4096,threads=64,ilp=1,access=16,bytes=4MiB", "--form", "streaming", env=gpu), streaming,
          f"bandwidth {cpu}")  # a pass a launch
    right(*probe("bandwidth", "blocks=4,threads=64,ilp=1,access=4,bytes=4MiB", "--form", "dependent", env=gpu),
          ["rmw fp32 dependent", "read fp32 dependent"], f"bandwidth {cpu}")
    right(*probe("latency", "blocks=1,threads=1,ilp=1,access=8,bytes=64KiB", env=gpu),
          ["chase fp64 dependent", "rmw fp64 dependent"], f"latency {cpu}")
    right(*probe("latency", "blocks=1,threads=1,ilp=1,access=4,bytes=4KiB", env=gpu), ["chase fp32 dependent shared"],
          f"latency {cpu}")
    right(*probe("onchip", "blocks=4,threads=64,ilp=8,access=4,bytes=16KiB,stride=3", env=gpu), ["read fp32 shared"],
          f"onchip {cpu}")
    for stride in (0, 1):
        right(*probe("atomics", f"blocks=4,threads=64,ilp=8,access=4,stride={stride}", env=gpu),
              ["add int32", "fetch int32", "add int32 shared", "fetch int32 shared"], f"atomics {cpu}")

    # One wrong bit is found by each.
    wrong = {**gpu, "OPENCL_AS_GPU": "flip"}
    for name, shape, text in (("compute", "blocks=3,threads=32,ilp=4", "the chains of thread 0 of 96 are not what"),
                              ("bandwidth", "blocks=4,threads=64,ilp=1,access=4,bytes=4MiB", "read what was not in memory"),
                              ("latency", "blocks=1,threads=1,ilp=1,access=8,bytes=64KiB", "the chase is not at element"),
                              ("onchip", "blocks=4,threads=64,ilp=8,access=4,bytes=16KiB,stride=1", "thread 0 of block 0 left"),
                              ("atomics", "blocks=4,threads=64,ilp=8,access=4,stride=1", "additions of 1")):
        _, failed = probe(name, shape, env=wrong)
        check(failed.code == 1 and text in failed.err, f"{name}: {failed.code} {failed.err}")


with folder() as where:
    main(where)
check.finish()
