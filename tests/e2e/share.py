"""Figures to share: what is in the file, and what is not; a node among those that others shared; hostile files of theirs."""
import json
import os
import shutil
import subprocess
import sys

from npgpu_run import PROGRAM, SOURCE, Checks, below, folder, needs, run, written

h5py = needs("h5py")
KEPT = os.path.join(SOURCE, "data", "traces")
RUNS = [os.path.join(KEPT, f"h200_run_{run}.h5") for run in "abc"]
check = Checks()


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


with folder() as where:
    at = below(where)
    # A host, a user and a path as people have them.
    own = at("own.h5")
    shutil.copy(RUNS[0], own)
    with h5py.File(own, "r+") as file:
        file.attrs["hostname"] = "gpu-node-0815"
        file.attrs["argv"] = "/home/ada.lovelace/bin/npgpu characterize -o /scratch/secret-project/x.h5"
        file["provenance/host"].attrs["hostname"] = "gpu-node-0815"
        private = [text(file["provenance/gpu0"].attrs[name]) for name in ("uuid", "pci_bus_id")] + [text(file.attrs["run_uuid"])]
    made = run("report", own, "--share", at("own.json"))
    check(made.code == 0 and made.out == "", f"a file is written, and nothing else: {made.out}{made.err}")
    with open(at("own.json"), encoding="utf-8") as file:
        whole = file.read()
    for word in ("gpu-node-0815", "lovelace", "secret-project", "characterize", *private):
        check(word and word not in whole, f"'{word}' is in what is shared")
    check(len(whole) < 8192, f"it is small: {len(whole)} bytes")
    shared = json.loads(whole)
    check(shared["document"] == "npgpu-shared" and shared["version"] == 1 and shared["month"] == "2026-11", f"{whole[:200]}")
    gpu = shared["gpus"][0]
    check((gpu["name"], gpu["multiprocessors"], gpu["health"]) == ("NVIDIA H200", 132, "pass"), f"{gpu}")
    figures = {f["metric"]: f for f in gpu["figures"]}
    judged = {f["metric"]: f for f in json.loads(run("check", "--trace", own, "--json").out)["findings"] if f["device"] == "cuda:0"}
    for metric, figure in figures.items():
        for key in ("value", "low", "high", "unit"):
            check(figure[key] == judged[metric][key], f"{metric}: {key}: {figure[key]}, and check says {judged[metric][key]}")
    check(len(figures) >= 20, f"{len(figures)} figures")
    check(run("report", own, "--share", at("own.json")).code == 2, "a file that is there stays without --force")

    # Texts are shared by pattern: whatever else stands in them is left out.
    odd = at("odd.h5")
    shutil.copy(RUNS[0], odd)
    with h5py.File(odd, "r+") as file:
        file.attrs["tool_version"] = "0.2.0 for ada.lovelace@example.org"
        file.attrs["start_time_utc"] = "Lovelace-2026"
        file["provenance/gpu0"].attrs["driver_version"] = "580.159.04-lovelace 10.1.2.3"
        file["provenance/host"].attrs["cpu_model"] = "AMD EPYC 9654 lovelace GPU-0a1b2c3d-4e5f 10.1.2.3 ada@example.org 4711"
        for kind in ("transfers", "probes", "jobs", "calls"):
            for series in file[kind].values():
                if text(series.attrs["device_name"]):
                    series.attrs["device_name"] = "NVIDIA H200 of lovelace"
        file["provenance/gpu0"].attrs["name"] = "NVIDIA H200 of lovelace"
    check(run("report", odd, "--share", at("odd.json")).code == 0, "it is shared all the same")
    with open(at("odd.json"), encoding="utf-8") as file:
        whole = file.read()
    for word in ("lovelace", "example", "10.1.2", "0a1b2c3d"):
        check(word not in whole, f"'{word}' is in what is shared: {whole[:600]}")
    shared = json.loads(whole)
    check((shared["npgpu"], shared["month"], shared["host_cpu"]) == ("0.2.0", "", "AMD EPYC 9654 4711"), f"{whole[:300]}")
    check((shared["gpus"][0]["name"], shared["gpus"][0].get("driver")) == ("NVIDIA H200", "580.159.04"), f"{whole[:600]}")

    # One datum at a time: each text of the file, of one series of each kind, is somebody's name. STRIDE=1: all of them.
    secret = "Ada-Lovelace_10.1.2.3 ada@example.org GPU-0a1b2c3d-4e5f"

    def texts(group):
        yield from ((group, name, None) for name, value in group.attrs.items() if isinstance(value, (bytes, str)))
        for table in (one for one in group.values() if isinstance(one, h5py.Dataset)):
            yield from ((table, name, None) for name, value in table.attrs.items() if isinstance(value, (bytes, str)) and not name.startswith("units."))
            yield from ((table, None, column) for column in table.dtype.names or () if table.dtype[column].kind == "S" and len(table))

    def places(file):
        groups = [file, *file["provenance"].values()]
        groups += [next(iter(file[kind].values())) for kind in file if kind != "provenance" and len(file[kind])]
        return [place for group in groups for place in texts(group)]

    with h5py.File(RUNS[0]) as file:
        number = len(places(file))
    told = 0
    for i in range(0, number, int(os.environ.get("STRIDE", "9"))):
        shutil.copy(RUNS[0], odd)
        with h5py.File(odd, "r+") as file:
            node, name, column = places(file)[i]
            where_it_is = f"{node.name} {name or column}"
            if name:
                node.attrs[name] = secret
            else:
                rows = node[:]
                rows[column] = secret.encode()
                node[:] = rows
        done = run("report", odd, "--share", at("odd.json"), "--force")
        check(done.code in (0, 1, 2), f"{where_it_is}: {done}")
        if done.code == 0:
            told += 1
            with open(at("odd.json"), encoding="utf-8") as file:
                whole = file.read()
            for word in ("Lovelace", "Ada", "10.1.2.3", "example", "0a1b2c3d"):
                check(word not in whole, f"'{word}' of {where_it_is} is in what is shared: {whole[:400]}")
    check(number > 50 and told > 5, f"{told} of {number} were shared")

    # Where a name would be in it all the same, nothing is written.
    with h5py.File(own, "r+") as file:
        file.attrs["hostname"] = "NVIDIA"
    refused = run("report", own, "--share", at("named.json"))
    check(refused.code == 1 and "'NVIDIA' would be in what is shared" in refused.err and not os.path.exists(at("named.json")), f"{refused}")
    nothing = run("report", os.path.join(KEPT, "host.h5"), "--share", at("host.json"))
    check(nothing.code == 2 and "no figure of a GPU that was measured" in nothing.err, f"{nothing}")

    # Among others.
    os.mkdir(at("shared"))
    for i, trace in enumerate(RUNS):
        check(run("report", trace, "--share", at(f"shared/{i}.json")).code == 0, trace)
    check(run("report", os.path.join(KEPT, "h100_quick_a.h5"), "--share", at("shared/h100.json")).code == 0, "an H100")
    values = sorted(f["value"] for i in range(3) for f in json.load(open(at(f"shared/{i}.json")))["gpus"][0]["figures"]
                    if f["metric"] == "memory_read_rate")
    among = run("report", RUNS[0], "--among", at("shared"), env={"COLUMNS": "120"})
    row = next((line for line in among.out.splitlines() if "memory read " in line), "")
    check("among 3 NVIDIA H200s" in among.out, among.out)
    check(f"{values[1] / 1e9:.0f} GB/s" in row and f"{values[0] / 1e9:.0f} GB/s" in row, f"{values}: {row}")
    check(run("report", RUNS[0], "--among", "shared", cwd=where, env={"COLUMNS": "120"}).out == among.out, "a folder by its name")
    page = at("among.html")
    check(run("report", RUNS[0], "--among", at("shared"), "--html", page).code == 0 and "among 3 NVIDIA H200s" in open(page).read(), "a page")
    alone = run("report", RUNS[0], "--among", at("shared/h100.json"))
    check("no shared file has figures of a NVIDIA H200" in alone.out and alone.code == 0, alone.out)

    # What strangers send may be anything.
    good = json.load(open(at("shared/0.json")))

    def hostile(**changes):
        return run("report", RUNS[0], "--among", written(at("hostile.json"), {**good, **changes}))

    for value in (float("nan"), -1, 0, "1e9", None, [], 1e400):
        bad = [{**good["gpus"][0], "figures": [{"metric": "memory_read_rate", "unit": "B/s", "value": value}]}]
        said = hostile(gpus=bad)
        check(said.code in (0, 2) and "memory read" not in said.out, f"{value}: {said}")
    for gpus in ([], [1], [None], [{"name": 3, "figures": [[]]}], [{"figures": [{"metric": "no such", "unit": "B/s", "value": 1}]}]):
        check(hostile(gpus=gpus).code in (0, 2), f"{gpus}")
    check(hostile(version=2).code == 2 and hostile(document="other").code == 2, "another document or version")
    check("<script" not in hostile(gpus=[{**good["gpus"][0], "name": "<script>"}]).out, "a name is text")
    none = run("report", RUNS[0], "--among", at("nowhere"))
    check(none.code == 2 and "--among" in none.err, f"{none}")
    os.mkdir(at("empty"))
    check(run("report", RUNS[0], "--among", at("empty")).code == 2, "a folder without one")

    # They make references, as traces do.
    made = subprocess.run([sys.executable, os.path.join(SOURCE, "data/references/make.py"), PROGRAM, "H200",
                           *(at(f"shared/{i}.json") for i in range(3))], capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    if made.returncode == 0:
        reference = json.loads(made.stdout)
        typical = {f["metric"]: f["value"] for f in reference["figures"]}
        check(reference["cards"] == 3 and abs(typical["memory_read_rate"] / values[1] - 1) < 1e-4, f"{reference}")
check.finish()
