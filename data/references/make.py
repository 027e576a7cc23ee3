#!/usr/bin/env python3
"""Makes the reference of a model of GPUs from traces of healthy ones:

    make.py PROGRAM MODEL TRACES.. >data/references/MODEL.json

TRACES are of `npgpu check -o` or `npgpu characterize`, some of each of several cards, which their UUIDs tell apart, or
files of `npgpu report --share`, whose GPUs are a card each. A figure's value is the median over cards of the median over a card's runs; figures that passed count. Its tolerance is the
least that is of use for its kind, or one and a half times what a run in ten falls short by, if that is more; and no
limit is within what its own healthy runs reached."""
import collections
import json
import math
import statistics
import subprocess
import sys

import h5py

# Metric: least tolerance, whether the host takes part in it.
FIGURES = {
    "sm_clock": (0.025, False), "memory_clock": (0.01, False),
    "h2d_rate": (0.045, False), "h2d_rate_1mib": (0.045, False), "h2d_time": (0.3, True),
    "d2h_rate": (0.045, False), "d2h_rate_1mib": (0.045, False), "d2h_time": (0.3, True),
    "h2d_rate_duplex": (0.15, False), "d2h_rate_duplex": (0.15, False),
    "copy_time": (0.3, True), "d2d_rate": (0.035, False),
    "memory_rmw_rate": (0.035, False), "memory_read_rate": (0.035, False), "memory_write_rate": (0.035, False),
    "memory_copy_rate": (0.035, False), "memory_triad_rate": (0.035, False),
    "compute_fp32_rate": (0.025, False), "compute_fp64_rate": (0.025, False), "compute_int32_rate": (0.025, False),
    "compute_fp16_rate": (0.025, False), "compute_bf16_rate": (0.025, False),
    "launch_time": (0.22, True), "launch_done_time": (0.3, True),
    "h2d_pageable_rate": (0.3, True), "d2h_pageable_rate": (0.3, True), "memory_latency": (0.1, False), "l2_rate": (0.12, False),
    **{f"tensor_{kind}_rate": (0.08, False) for kind in ("wgmma_fp16", "wgmma_bf16", "wgmma_tf32", "wgmma_fp8", "wgmma_int8", "mma_fp64")},
}


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def card_of(path, names):
    with h5py.File(path) as file:
        uuids = {text(series.attrs["device_uuid"]) for kind in ("transfers", "probes", "calls") for series in file.get(kind, {}).values()
                 if series.attrs["device_uuid"]}
        host = file["provenance/host"].attrs
        names.update(text(series.attrs["device_name"]) for kind in ("transfers", "probes", "calls") for series in file.get(kind, {}).values()
                     if series.attrs["device_uuid"])
        return uuids.pop() if len(uuids) == 1 else None, text(host.get("cpu_model", host.get("name", ""))), text(file.attrs["start_time_utc"])[:10]


def shared_in(path):
    """The document of `npgpu report --share`; None where the file is a trace."""
    with open(path, "rb") as file:
        if file.read(1) != b"{":
            return None
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if document.get("document") != "npgpu-shared" or document.get("version") != 1:
        sys.exit(f"{path}: is no trace, and npgpu report --share did not write it")
    return document


def short_by(values, typical, more_is_worse):
    """What a run in ten falls short by, as a share."""
    shares = sorted((value / typical if more_is_worse else typical / value) - 1 for value in values)
    return max(0.0, shares[math.ceil(0.9 * len(shares)) - 1])


def main(program, model, *traces):
    found = collections.defaultdict(lambda: collections.defaultdict(list))  # by metric, by card
    units, cards, hosts, days, names = {}, set(), collections.Counter(), [], set()
    for path in traces:
        if shared := shared_in(path):
            for number, gpu in enumerate(gpu for gpu in shared["gpus"] if gpu["health"] == "pass"):
                cards.add((path, number))
                names.add(gpu["name"])
                for figure in gpu["figures"]:
                    if figure["metric"] in FIGURES:
                        found[figure["metric"]][path, number].append(figure["value"])
                        units[figure["metric"]] = figure["unit"]
            hosts[shared["host_cpu"]] += 1
            days.append(shared["month"])
            continue
        card, host, day = card_of(path, names)
        if not card:
            sys.exit(f"{path}: is not of one GPU")
        done = subprocess.run([program, "check", "--trace", path, "--json"], capture_output=True, text=True)
        for finding in json.loads(done.stdout)["findings"]:
            # Of one without a limit so far the value.
            if finding["metric"] in FIGURES and (finding["health"] == "pass" or finding["health"] == "skip" and finding.get("value")):
                found[finding["metric"]][card].append(finding["value"])
                units[finding["metric"]] = finding["unit"]
        cards.add(card)
        hosts[host] += 1
        days.append(day)
    if len(names) != 1:
        sys.exit(f"GPUs of several names: {sorted(names)}")
    figures = []
    for metric, (least, of_host) in FIGURES.items():
        if metric not in found:
            continue
        typical = statistics.median(statistics.median(runs) for runs in found[metric].values())
        every = [value for runs in found[metric].values() for value in runs]
        is_time = units[metric] == "us"
        worst = short_by(every, typical, is_time)
        farthest = max(every) / typical - 1 if is_time else 1 - min(every) / typical
        figure = {"metric": metric, "value": float(f"{typical:.5g}"), "unit": units[metric],
                  "tolerance": max(least, math.ceil(300 * worst) / 200, math.ceil(200 * farthest) / 200), "lowest": float(f"{min(every):.5g}"), "highest": float(f"{max(every):.5g}")}
        figures.append(figure | ({"depends_on_host": True} if of_host else {}))
    lines = ",\n".join("  " + json.dumps(figure) for figure in figures)
    when = min(days) if min(days) == max(days) else f"{min(days)} to {max(days)}"
    source = f"npgpu check and characterize, {len(traces)} runs of {len(cards)} cards (by UUID), {when}"
    head = {"document": "npgpu-reference", "version": 1, "model": model, "name": names.pop(), "cards": len(cards), "runs": len(traces),
            "host_cpu": hosts.most_common(1)[0][0], "source": source}
    print("{" + "".join(f"\n {json.dumps(k)}: {json.dumps(v)}," for k, v in head.items()) + '\n "figures": [\n' + lines + "\n ]\n}")


main(*sys.argv[1:])
