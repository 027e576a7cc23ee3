"""Probes and what is derived from them, as a user runs them: on simulated devices, whose spec is the truth, and on the
host."""
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time

from npgpu_run import PROGRAM, SOURCE, Checks, folder, library, needs, run, written

h5py, pandas = needs("h5py"), library("pandas")
check = Checks()


def spec(name):
    return json.load(open(os.path.join(SOURCE, f"data/devices/{name}.json")))


def derived(trace):
    result = run("derive", trace, "--json")
    check(result.code == 0 and not result.err, f"derive {trace}: {result.code} {result.err}")
    document = json.loads(result.out)
    check(document["document"] == "npgpu-parameters", "the document says what it is")
    return document["devices"]


def by_name(device):
    return {p["name"]: p for p in device["parameters"]}


def visits(trace):
    """Every visit's probe, shape and round. Cases are numbered as the first round came to them."""
    columns = ("blocks", "threads", "ilp", "access_bytes", "bytes", "one_block_per_sm", "stride", "offset_bytes", "ways", "rung", "m", "n", "k", "panels", "round")
    with h5py.File(trace) as f:
        return [(*(probe.attrs[a] for a in ("probe", "type", "form")), *(int(row[c]) for c in columns))
                for probe in f["probes"].values() for row in probe["visits"][:]]


def shapes_of(visits):
    return {visit[:-1] for visit in visits}


def shapes(trace):
    return shapes_of(visits(trace))


def simulated(where):
    """The spec's numbers come back out; tests/derive_simulated_test.cpp has each of them."""
    for name in ("gts250", "h200"):
        trace = os.path.join(where, name + ".h5")
        made = run("probe", "compute,bandwidth", "--device", "sim:" + name, "--quiet", "--output", trace)
        check(made.code == 0 and not made.err and made.out.startswith("done: "), f"{name}: {made.code} {made.err}")
        (device,) = derived(trace)
        check(device["device"] == "sim:" + name and device["simulated"] and device["missing"] == [], f"{name}: {device['missing']}")
        truth, p = spec(name)["hardware"], by_name(device)
        check(abs(p["SM"]["estimate"]["value"] / truth["sms"] - 1) < 0.01, f"{name}: {p['SM']}")
        check(not [one for one in p.values() if one["verdict"] == "disagrees"], f"{name}: {p}")
        check(p["SM"]["verdict"] == "agrees" and p["SM"]["reference"] == truth["sms"], f"{name}: SM is compared with the spec")
        table = run("derive", trace)
        built = table.out.splitlines()[0]
        check(built.startswith(f"SIMULATED sim:{name} (") and f": {truth['sms']} multiprocessors of " in built and "FMA " in built, f"{name}: {built}")
        full = run("derive", trace, "--all")
        check("Cp_AA / Cp_OA" in full.out and "Cp_AA / Cp_OA" not in table.out and "by time" not in table.out, f"{name}: formulas behind --all")
        check(built in run("report", trace, "--all").out, f"{name}: the report derives as well")
    every = run("probe", "all", "--device", "sim:gts250", "--dry-run")
    check(every.code == 0 and "compute sim:gts250 fma fp32" in every.out, f"all are those that the device has: {every.err}")


def patterns(where):
    """What has a law, and how the report says where it holds; tests/patterns_simulated_test.cpp has each law."""
    trace = os.path.join(where, "patterns.h5")
    quick = ["--quiet"]
    made = run("probe", "onchip,access,atomics,divergence,reduction,product,occupancy", "--device", "sim:h200", *quick, "--output", trace, "--json")
    check(made.code == 0, made.err)
    laws = {(p["case"]["probe"], p["case"]["space"]): p for p in json.loads(made.out)["probes"] if p["law"]}
    check(set(laws) == {("onchip", "shared"), ("onchip", "constant"), ("access", "l2"), ("access", "l1"), ("atomics", "shared"),
                        ("divergence", "registers"), ("product", "global"), ("occupancy", "l2")}, f"what has a law: {set(laws)}")
    for named, series in laws.items():
        for p in series["points"]:
            check(p["law"]["verdict"] == "agrees" and abs(p["law"]["times"]["value"] / p["law"]["times_by_law"] - 1) < 0.03,
                  f"{named}: {p}")
    occupancy = {(p["registers"], p["shared_bytes"]): p["law"] for p in laws["occupancy", "l2"]["points"]}
    check(occupancy[32, 0]["passes"] == 3 and occupancy[255, 0]["passes"] == 24 and occupancy[32, 227 * 1024]["passes"] == 48,
          f"waves of 16, 2 and 1 blocks: {occupancy}")
    table = run("report", trace, "--all")
    words = " ".join(table.out.split())
    check("agrees (within 5 %) at 12 of 12 shapes" in words and "stride GB/s" in words, f"the table says so: {table.out[:2000]}")

    wide = spec("h200")
    wide["hardware"]["bank_bytes"] = 8
    path = written(os.path.join(where, "wide-banks.json"), wide)
    made = run("probe", "onchip", "--device", "sim:" + path, *quick, "--output", os.path.join(where, "wide.h5"))
    check(made.code == 0, made.err)
    table = run("report", os.path.join(where, "wide.h5")).out
    check("; farthest off: " in " ".join(table.split()) and re.search(r"-(49\.[5-9]|50\.[0-4])", table), f"and the law says where it does not hold, and by how much: {table}")

    usual, every = (run("probe", "all", *more, "--device", "sim:h200", "--dry-run").out for more in ([], ["--thorough"]))
    check("onchip sim:h200 read fp32 shared" in usual and "divergence" not in usual, f"all is what characterize measures: {usual}")
    check("divergence sim:h200 branch int32" in every and "access sim:h200 read fp32 l1" in every, "--thorough is everything")
    refused = run("probe", "compute", "--device", "sim:h200", "--shape", "stride=2")
    check(refused.code == 2 and "probe compute has no stride" in refused.err, refused.err)


def products(where):
    """Table III of Allada et al. 2009 is put into a simulated device, and comes out as classes. A BLAS that is not there
    is a sentence; one that is there computes, and every element is right."""
    trace = os.path.join(where, "gemm.h5")
    made = run("probe", "gemm", "--device", "sim:tesla-s1070", "--space", "global", "--shape", "square=8128..8184:8", "--quiet",
               "--output", trace, "--json")
    check(made.code == 0 and not made.err, made.err)
    expected = {"fp32": [(8, 16, 167.08), (32, 32, 245.67), (64, 64, 344.32)], "fp64": [(8, 8, 48.46), (16, 32, 62.11), (64, 64, 69.96)]}
    for series in json.loads(made.out)["probes"]:
        found = [(c["least_divisor"], c["largest_divisor"], c["rate_per_s"] * 1e-9) for c in series["classes"]]
        wanted = expected.pop(series["case"]["type"])
        check(len(found) == 3 and all(f[:2] == w[:2] and abs(f[2] / w[2] - 1) < 0.003 for f, w in zip(found, wanted)), f"classes: {found}")
        check(len(series["points"]) == 8 and series["library"].startswith("simulated"), f"{series['library']}")
    check(not expected, "both types")
    table = " ".join(run("report", trace, "--all").out.split())
    check("8, 16: 0.48" in table and "64: 1.00 times, 344.3 GFLOP/s (1 size)" in table, f"the report says so: {table}")

    copied = run("probe", "gemm", "--device", "sim:h200", "--type", "fp32", "--shape", "square=2048,panels=0", "--shape",
                 "square=2048,panels=0", "--quiet", "--output", os.path.join(where, "panels.h5"), "--json")
    check(copied.code == 2 and "--shape" in copied.err, f"one --shape: {copied.err}")
    copied = run("probe", "gemm", "--device", "sim:h200", "--type", "fp32", "--space", "host", "--shape", "square=2048,panels=0..1",
                 "--quiet", "--output", os.path.join(where, "panels.h5"), "--json")
    check(copied.code == 0, copied.err)
    rates = {p["panels"]: p["rate_per_s"]["value"] for p in json.loads(copied.out)["probes"][0]["points"]}
    check(len(rates) == 2 and 0 not in rates and rates[max(rates)] > 1.2 * rates[1], f"panels that are advised gain: {rates}")

    # Transposed, with C read, by operands: axes of the trace; the host's part as the spec's rates advise.
    ways = os.path.join(where, "ways.h5")
    made = run("probe", "gemm", "--device", "sim:h200", "--type", "fp32", "--space", "global", "--shape", "m=64,n=128,k=256,ops=tn,alpha=-2,beta=1",
               "--operands", "zeros,random", "--quiet", "--output", ways, "--json")
    check(made.code == 0, made.err)
    points = json.loads(made.out)["probes"][0]["points"]
    check([(p["ops"], p["alpha"], p["beta"], p["operands"]) for p in points] == [("tn", -2, 1, "zeros"), ("tn", -2, 1, "random")], f"{points}")
    table = " ".join(run("report", ways, "--all").out.split())
    check("ops alpha beta operands" in table and "tn -2 1 zeros" in table, f"the report says so: {table}")
    both = run("probe", "tensor,gemm", "--device", "sim:h200", "--operation", "wgmma,fma", "--type", "fp16,fp8", "--space", "shared,global",
               "--operands", "zeros,random", "--quiet", "--output", os.path.join(where, "library.h5"), "--json")
    check(both.code == 0, both.err)
    names = {p["name"] for d in json.loads(run("derive", os.path.join(where, "library.h5"), "--json").out)["devices"] for p in d["parameters"]}
    check({"gemm fp16 over wgmma, zeros", "gemm fp8 over wgmma, random", "gemm fp8, zeros"} <= names, f"{names}")
    shared = run("probe", "gemm", "--device", "sim:h200", "--type", "fp32", "--space", "host", "--shape", "square=2048,panels=0,host_columns=advised",
                 "--quiet", "--output", os.path.join(where, "shared.h5"), "--json")
    check(shared.code == 0, shared.err)
    point, = json.loads(shared.out)["probes"][0]["points"]
    check(0 < point["host_columns"] < 1024 and point["panels"] > 1, f"the host's part is settled: {point}")

    for shape, words in (("square=64,panels=2", "panels=1"), ("square=64,beta=2", "beta is -1, 0 or 1"), ("square=64,ops=xx", "nn, nt, tn, tt"),
                         ("square=64,host_columns=8", "--space host"), ("square=64..128:0", "shape: square"), ("m=64", "needs m, n and k"),
                         ("square=1..100000", "at most 4096"), ("square=64,bytes=8", "no threads, ilp, access or bytes")):
        refused = run("probe", "gemm", "--device", "sim:h200", "--space", "global", "--shape", shape)
        check(refused.code != 0 and words in refused.err, f"{shape}: {refused.code} {refused.err}")
    refused = run("probe", "compute", "--device", "sim:h200", "--shape", "square=64")
    check(refused.code == 2 and "no m, n, k or panels" in refused.err, refused.err)
    refused = run("probe", "compute", "--device", "sim:h200", "--shape", "beta=1")
    check(refused.code == 2 and "no ops, alpha or beta" in refused.err, refused.err)

    # Where nobody asks for products, their library is not even looked for.
    for command in (["probe", "all", "--device", "host"], ["characterize", "--quick", "--device", "host"]):
        usual = run(*command, "--dry-run", env={**os.environ, "NPGPU_BLAS": "/no/such/library.so"})
        check(usual.code == 0 and "gemm" not in usual.out + usual.err and "BLAS" not in usual.err, f"{command}: {usual.out}{usual.err}")
    every = run("probe", "all", "--thorough", "--device", "sim:h200", "--dry-run").out
    check("gemm sim:h200 fma fp64" in every and "gemm sim:h200 fma fp64 host" in every, f"--thorough has products: {every}")
    absent = run("probe", "gemm", "--device", "host", env={**os.environ, "NPGPU_BLAS": "/no/such/library.so"})
    check(absent.code != 0 and "NPGPU_BLAS names '/no/such/library.so'" in absent.err, f"{absent.code} {absent.err}")
    trace = os.path.join(where, "blas.h5")
    made = run("probe", "gemm", "--device", "host", "--shape", "m=64..65,n=33,k=7", "--schedule", "classic", "--repeats", "3", "--trials", "2",
               "--quiet", "--output", trace, "--json")
    if "no BLAS is there" in made.err or "its number of threads cannot be set" in made.err:  # or the reference BLAS alone
        print("skipped: products on the host:", made.err.strip())
        return
    check(made.code == 0, made.err)
    for series in json.loads(made.out)["probes"]:
        check(series["library"].endswith(")") and len(series["points"]) == 2, f"which BLAS: {series['library']}")
    with h5py.File(trace) as f:
        check(all((probe["samples"]["intact"][:] != 0).all() and (probe["samples"]["intact"][:] == 1).any() for probe in f["probes"].values()),
              "every result was compared, and right")


def a_part(where):
    """Without all corners what there is is derived, and what lacks is said."""
    trace = os.path.join(where, "one.h5")
    only = ["probe", "compute", "--device", "sim:gts250", "--type", "fp32", "--quiet", "--output", trace]
    check(run(*only, "--shape", "blocks=1,threads=1,ilp=1").code == 0, "one shape")
    (device,) = derived(trace)
    p = by_name(device)
    check(abs(p["FMA latency"]["estimate"]["value"] - 20) < 0.05, "One-One alone tells the latency")
    for name in ("SM", "Sigma", "L_Pipe"):
        check(p[name]["estimate"]["value"] is None and p[name]["verdict"] == "undecided", f"{name} has no value: {p[name]}")
        check("no such point was measured" in p[name]["note"], f"{name}: the note says why: {p[name]['note']}")
    check(any("need probe bandwidth" in m for m in device["missing"]), f"what lacks is said: {device['missing']}")
    check("nan" not in run("derive", trace).out.lower(), "no nan in the table")
    check(len(shapes(trace)) == 1, "one shape in the trace")
    check(run(*only, "--shape", "blocks=16,threads=512,ilp=1", "--resume").code == 2, "another plan is no continuation")
    check(run(*only, "--shape", "blocks=16,threads=512,ilp=1", "--append").code == 0, "another shape joins")
    check(len(shapes(trace)) == 2, "now two")

    transfers = os.path.join(where, "transfers.h5")
    run("transfer", "--device", "sim:plain", "--sizes", "64", "--quiet", "--output", transfers)
    none = run("derive", transfers)
    check(none.code == 2 and none.err.startswith(f"npgpu: {transfers} holds no probes") and none.err.count("\n") == 1, none.err)


def on_the_host(where):
    """Few shapes; times are whatever they are."""
    trace = os.path.join(where, "host.h5")
    made = run("probe", "compute", "--device", "host", "--type", "fp32", "--shape", "blocks=1,threads=1,ilp=1", "--json", "--output", trace)
    check(made.code == 0, made.err)
    report = json.loads(made.out)
    check([len(p["points"]) for p in report["probes"]] == [1] and report["transfers"] == [], "one probe of one point")
    check(report["probes"][0]["points"][0]["rate_per_s"]["value"] > 0, "with a rate")
    (device,) = report["derived"]
    check(device["device"] == "host" and not device["simulated"], "the host is no simulation")
    latency = by_name(device)["FMA latency"]["estimate"]["value"]
    check(latency is not None and latency > 1, f"an FMA takes more than a cycle: {latency}")
    made = run("probe", "bandwidth", "--device", "host", "--operation", "read", "--shape", "blocks=1,access=8,bytes=1MiB", "--output",
               os.path.join(where, "read.h5"), env={"NO_COLOR": "1"})
    check(made.code == 0 and "bandwidth host read" in made.out and "\x1b" not in made.out + made.err, made.err)
    check("\n1/1 bandwidth host read" in made.err, f"a line for the case: {made.err}")

    dry = run("probe", "all", "--device", "host", "--dry-run", "--output", os.path.join(where, "dry.h5"))
    check(dry.code == 0 and "compute host fma fp32" in dry.out and not os.path.exists(os.path.join(where, "dry.h5")), "a dry run only says")
    plan = json.loads(run("probe", "compute", "--device", "host", "--type", "fp32,fp64", "--dry-run", "--json").out)
    check([p["title"] for p in plan["probes"]] == ["compute host fma fp32", "compute host fma fp64"], "also in JSON")
    check(plan["about_s"] > 0 and plan["transfers"] == [], "with the time it takes")
    mixed = run("probe", "compute", "--device", "sim:gts250", "--type", "fp32", "--quiet", "--output", os.path.join(where, "env.h5"),
                env={"NPGPU_SHAPE": "blocks=1,threads=1"})
    check(mixed.code == 0 and len(shapes(os.path.join(where, "env.h5"))) == 1, f"options from the environment: {mixed.err}")
    two = os.path.join(where, "two.h5")
    partly = run("probe", "compute", "--device", "sim:gts250,sim:h200", "--type", "fp32", "--shape", "blocks=1,threads=1024", "--output", two)
    check(partly.code == 0 and "left out: compute sim:gts250 fma fp32: --shape: no block of 1024 threads" in partly.err, partly.err)
    check(len(shapes(two)) == 1, "the device that takes the shape is probed")


def stopped(where):
    """SIGTERM and SIGINT in the middle: exit 75; resumed until the end: the same shapes in the same rounds, none twice."""
    what = ["probe", "compute", "--device", "host", "--type", "fp32,fp64"]
    quick = ["--schedule", "classic", "--target-time", "1ms", "--trials", "3", "--rounds", "2"]  # exactly two visits each
    whole = os.path.join(where, "whole.h5")
    check(run(*what, *quick, "--quiet", "--output", whole).code == 0, "an uninterrupted run")
    expected = visits(whole)
    check(len(shapes(whole)) > 30 and len(set(expected)) == len(expected), f"{len(shapes(whole))} shapes")
    check(set(expected) == {(*shape, number) for shape in shapes(whole) for number in range(2)}, "each in every round")
    for number, name in ((signal.SIGTERM, "term"), (signal.SIGINT, "int")):
        path, stops = os.path.join(where, name + ".h5"), 0
        for attempt in range(60):
            before = visits(path) if os.path.exists(path) else []
            process = subprocess.Popen([PROGRAM, *what, *quick, "--resume", "--output", path], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            time.sleep(0.15 + 0.04 * attempt)
            process.send_signal(number)
            asked = time.monotonic()
            out, err = process.communicate(timeout=60)
            took = time.monotonic() - asked
            some = visits(path) if os.path.exists(path) else []
            if process.returncode == -number and not err and some == before:
                continue  # before the handlers were there
            check(set(before) <= set(some), f"{name}: nothing measured before was lost")
            check(len(set(some)) == len(some), f"{name}: no shape twice in a round")
            kept = len(shapes_of(before) - shapes_of(set(some) - set(before)))
            if kept and process.returncode == 0:
                check(f"{kept} kept from before" in out, f"{name}: what was there was not measured again: {out[-200:]}")
            if process.returncode == 0:
                break
            stops += 1
            check(process.returncode == 75, f"{name}: exit {process.returncode}: {err[-200:]}")
            check("--resume" in err and took < 30, f"{name}: says how to go on, after {took:.2f} s")
            with h5py.File(path) as f:
                check(int(f.attrs["complete"]) == 0, f"{name}: an unfinished trace says so")
        check(stops >= 1, f"{name}: was interrupted {stops} times")
        check(sorted(visits(path)) == sorted(expected), f"{name}: the same shapes and rounds at last")
        with h5py.File(path) as f:
            check(int(f.attrs["complete"]) == 1, f"{name}: complete at last")
            for probe in f["probes"].values():
                check(sum(int(p["samples"]) for p in probe["visits"][:]) == len(probe["samples"]), f"{name}: every sample has its visit")


def other_readers(where):
    """h5dump, h5py, pandas, csv and json count the same rows."""
    trace = os.path.join(where, "gts250.h5")
    with h5py.File(trace) as f:
        samples = {name: len(p["samples"]) for name, p in f["probes"].items()}
        rows_of_visits = {name: len(p["visits"]) for name, p in f["probes"].items()}
        compute = next(p for p in f["probes"].values() if p.attrs["probe"] == "compute")
        check(compute.attrs["units"] == 16, "the case and the layout are attributes")
        for table in ("visits", "samples"):
            units = {k for k in compute[table].attrs if k.startswith("units.")}
            check(units == {"units." + c for c in compute[table].dtype.names}, f"a unit for every column of {table}")
        if not pandas:
            return print("not tried: other readers, as Python has no pandas")
        frame = pandas.DataFrame(compute["samples"][:]).join(pandas.DataFrame(compute["visits"][:]), on="visit", lsuffix="_of_sample")
        one = frame[(frame.blocks == 1) & (frame.threads == 1) & (frame.ilp == 1)]
        cycles = (one.cycles / (one.repeats * one.work / 2)).median()
        check(abs(cycles - 20) < 0.01, f"One-One by pandas alone: {cycles} cycles an FMA, 20 by the spec")
    rows = pandas.read_csv(io.StringIO(run("export", trace, "--table", "probes").out))
    check(len(rows) == sum(samples.values()), f"csv: {len(rows)} rows, {sum(samples.values())} samples")
    check(rows.groupby("series").size().tolist() == list(samples.values()), "csv: each probe's")
    whole = json.loads(run("export", trace, "--format", "json").out)
    check([len(p["samples"]["visit"]) for p in whole["probes"]] == list(samples.values()), "json holds every sample")
    check([len(p["visits"]["blocks"]) for p in whole["probes"]] == list(rows_of_visits.values()), "and every visit")
    check("derived" not in whole, "and nothing derived")
    none = run("export", trace, "--format", "csv")
    check(none.code == 2 and "probes" in none.err, f"a table that is not there is refused with those that are: {none.err}")
    if shutil.which("h5dump"):
        dumped = subprocess.run(["h5dump", "-H", "-g", "/probes", trace], capture_output=True, text=True)
        check(dumped.returncode == 0 and '"units.cycles"' in dumped.stdout and dumped.stdout.count("H5T_COMPOUND") == 2 * len(samples), "h5dump")
    else:
        print("skipped: h5dump is not installed")


with folder() as where:
    simulated(where)
    patterns(where)
    products(where)
    a_part(where)
    on_the_host(where)
    stopped(where)
    other_readers(where)
check.finish()
