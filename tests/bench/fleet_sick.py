#!/usr/bin/env python3
"""npgpu fleet over traces with sick GPUs and hosts of kinds that administrators report, written down before it was known
how fleet decides: what it finds, by kind, with which cause, and what it finds wrongly.

    fleet_sick.py PROGRAM [--traces 2400] [--of-each 3] [--folder FOLDER] [--seed 1] [--healthy]

Traces are those of fleet.py; in addition all GPUs of a host share what its processor does to calls and small copies
(4 % from host to host). The kinds, and how much slower they are:

    half-h2d       copies to the device at half the rate, back as ever; the link says x16
    memory-3%      all that streams memory, 3 %
    lost-sm        131 of 132 multiprocessors
    ecc-slow       3 of 10 visits to memory 8 %, corrected errors in one of three
    late-throttle  hot in the last 45 % of the run: computing 12 %, memory 2 %
    far-numa       large pinned copies 15 %, small ones and launches 0.6 us
    iommu          large pinned copies 8 %, small ones 1.0 us; the IOMMU translates
    base-clock     1590 of 1980 MHz in all visits: computing, launches 4 %
    power-cap      500 of 700 W: computing 9 %
    slow-host      calls 40 %, small copies timed by the host 25 %, on all GPUs of a host: no GPU is sick
    clones         the UUIDs of one host are those of another, too; one of them has half a link
    nvlink         of two GPUs of a node one direction at 17/18 (traces of npgpu matrix, in a fleet of their own)
"""
import io
import json
import os
import random
import sys

import fleet
import h5py
import numpy

OF_GPU = ("half-h2d", "memory-3%", "lost-sm", "ecc-slow", "late-throttle", "far-numa", "iommu", "base-clock", "power-cap")
OF_HOSTS = 0.04
MATRIX = os.path.join(fleet.SOURCE, "data/traces/h200x2_matrix.h5")
IS_MEMORY = "bandwidth"


def changed(facts):
    """An image with other facts: {group: {name: value}}."""
    image = fleet.Image()
    memory = io.BytesIO(image.bytes)
    with h5py.File(memory, "r+") as trace:
        for group, values in facts.items():
            for name, value in values.items():
                trace["provenance/" + group].attrs[name] = value
    image.set_bytes(memory.getvalue())
    return image


def images_of_kinds():
    count, watt = numpy.int64, numpy.float64
    return {"lost-sm": changed({"gpu0": {"multiprocessors": count(131)}}),
            "ecc-slow": changed({"gpu0_after": {"ecc_corrected_volatile": count(900), "remapped_rows_corrected": count(1)}}),
            "iommu": changed({"gpu0": {"iommu_domain": "DMA"}}), "power-cap": changed({"gpu0": {"power_limit_w": watt(500)}})}


def make_sick(trace, image, kind, noise, of_host):
    """Changes the numbers of a healthy trace, whose image is a bytearray."""
    for series in trace.series:
        visits, samples = series.visits.of(image), series.samples.of(image)
        factor, more_us = numpy.full(len(visits), of_host if series.time_class in ("calls", "host-copies") else 1.0), 0.0
        small = series.bytes < 1 << 20
        is_memory = series.probe == IS_MEMORY or series.direction == "d2d"
        is_pinned = series.memory == "pinned"
        by_size = series.bytes / (series.bytes + (256 << 10))
        if kind == "half-h2d" and series.direction == "h2d" and series.memory == "pinned":
            factor *= 1 + by_size
        if kind == "memory-3%" and is_memory:
            factor *= 1.03
        if kind == "lost-sm" and series.kind == "probes":
            samples["units"] = numpy.minimum(samples["units"], 131)
            if series.probe == "compute":
                factor *= 132 / 131
        if kind == "ecc-slow" and is_memory:
            factor *= numpy.where(noise.random(len(visits)) < 0.3, 1.08, 1)
        if kind == "late-throttle":
            late = visits["at_s"] > 0.55 * LAST_S
            visits["sm_clock_mhz"][late] *= 0.88
            visits["temperature_c"][late] = 91
            visits["throttle_reasons"][late] |= 0x40
            if series.probe == "compute" or is_memory:
                factor *= numpy.where(late, 1.12 if series.probe == "compute" else 1.02, 1)
        if kind == "far-numa" and is_pinned:
            factor *= 1 + 0.15 * by_size
            more_us = numpy.where(small, 0.6, 0)
        if kind == "far-numa" and series.kind == "calls":
            more_us = 0.6
        if kind == "iommu" and is_pinned:
            factor *= 1 + 0.08 * by_size
            more_us = numpy.where(small, 1.0, 0)
        if kind == "base-clock":
            visits["sm_clock_mhz"] = 1590
            factor *= 1980 / 1590 if series.probe == "compute" else 1.04 if series.kind == "calls" else 1
        if kind == "power-cap" and series.probe == "compute":
            visits["throttle_reasons"] |= 4
            visits["sm_clock_mhz"] /= 1.09
            factor *= 1.09
        by_host = series.time_class in ("calls", "host-copies", "pageable-copies")
        if kind == "slow-host" and by_host:
            factor *= 1.4 if series.kind == "calls" else 1.25
        more = numpy.broadcast_to(more_us, len(visits))
        for column in ("host_us", "device_us", "done_us"):
            if column in samples.dtype.names:
                samples[column] = samples[column] * factor[samples["visit"]] + more[samples["visit"]] * samples["repeats"]


def last_begin():
    with h5py.File(fleet.KEPT) as kept:
        return max(series["visits"]["at_s"].max() for kind in ("transfers", "probes", "calls") for series in kept[kind].values())


LAST_S = last_begin()


def make(folder, traces, of_each, seed, healthy):
    """Returns the kinds that are planted by (host, UUID), and by host."""
    plain, images, chosen = fleet.Image(), images_of_kinds(), random.Random(seed)
    sick_hosts = chosen.sample(range(traces // 8), 3 * of_each)
    of_host = dict.fromkeys(sick_hosts[:of_each], "slow-host")
    clones = list(zip(sick_hosts[of_each:2 * of_each], sick_hosts[2 * of_each:]))
    free = [number for number in range(traces) if number // 8 not in sick_hosts]
    of_gpu = dict(zip(chosen.sample(free, len(OF_GPU) * of_each), OF_GPU * of_each))
    if healthy:
        of_host, clones, of_gpu = {}, [], {}
    planted = {}
    for number in range(traces):
        host = number // 8
        kind = of_gpu.get(number) or of_host.get(host)
        like = next((8 * original + number % 8 for original, clone in clones if clone == host), number)
        is_half = like != number and number % 8 == 3
        kind = "half-h2d" if is_half else kind
        image = plain if kind == "ecc-slow" and number % 3 else images.get(kind, plain)
        bytes_ = image.trace(number, fleet.DRIVERS[0], None, seed)
        uuid = fleet.UUID.format(like + 1)
        if like != number:
            bytes_ = bytearray(bytes(bytes_).replace(fleet.UUID.format(number + 1).encode(), uuid.encode()))
        by_host = numpy.exp(numpy.random.default_rng((seed, 7, host)).normal(0, OF_HOSTS))
        make_sick(image, bytes_, kind, numpy.random.default_rng((seed, 8, number)), by_host)
        if number in of_gpu or is_half:
            planted[(fleet.HOST.format(host + 1), uuid)] = "clones" if is_half else kind
        with open(os.path.join(folder, f"{number:05d}.h5"), "wb") as out:
            out.write(bytes_)
    return planted, {fleet.HOST.format(host + 1): kind for host, kind in of_host.items()}


def make_matrices(folder, nodes, sick, seed):
    """Traces of npgpu matrix of nodes of two GPUs; on some one direction is slow."""
    with h5py.File(MATRIX) as kept:
        uuids = [kept["provenance/" + name].attrs["uuid"] for name in ("gpu0", "gpu1")]
        host, run = kept.attrs["hostname"], kept.attrs["run_uuid"]
    planted = set()
    for node in range(nodes):
        path = os.path.join(folder, f"matrix{node:03d}.h5")
        noise = numpy.random.default_rng((seed, 9, node))
        with h5py.File(MATRIX) as kept, h5py.File(path, "w", libver="earliest") as made:
            name = fleet.HOST.format(90000 + node)
            new = {uuid: fleet.UUID.format(0x90000 + 2 * node + i) for i, uuid in enumerate(uuids)}
            new.update({host: name, run: fleet.RUN.format(0x90000 + node)})

            def copy(group, into, at=""):
                for key, value in group.attrs.items():
                    into.attrs[key] = new.get(value, value) if isinstance(value, str) else value
                for key, one in group.items():
                    if not isinstance(one, h5py.Dataset):
                        copy(one, into.create_group(key), f"{at}{key}/")
                        continue
                    rows = one[:]
                    if key == "samples" and "device_us" in rows.dtype.names:
                        slow = node < sick and group.attrs.get("source") == "cuda:0" and group.attrs.get("target") == "cuda:1"
                        factor = numpy.exp(noise.normal(0, 0.002)) * (18 / 17 if slow else 1)
                        rows["device_us"] *= factor
                        rows["host_us"] *= factor
                    table = into.create_dataset(key, data=rows, maxshape=(None,), chunks=(max(1, len(rows)),))
                    table.attrs.update(one.attrs)
            copy(kept, made)
        if node < sick:
            planted |= {(name, new[uuid]) for uuid in uuids}
    return planted


def asked(program, folder):
    done = fleet.Watched(program, "fleet", folder, "--json")
    if done.code not in (0, 3):
        sys.exit(f"exit code {done.code}: {done.err}")
    print(f"{done.s:.1f} s ({done.cpu_s:.1f} s of processors), {done.mib:.0f} MiB {done.err.strip()}")
    return json.loads(done.out)


def suspects_of(report):
    return {(one["host"], one["uuid"]): one for group in report["groups"] for one in group["suspects"]}


def score(report, planted, hosts):
    """Prints a line a kind; returns how many were missed and how many found wrongly."""
    found = suspects_of(report)
    found_hosts = {host["host"]: host for group in report["groups"] for host in group["hosts"]}
    missed = 0
    for kind in dict.fromkeys(list(planted.values())):
        own = [key for key, its in planted.items() if its == kind]
        hits = [found[key] for key in own if key in found]
        missed += len(own) - len(hits)
        causes = sorted({cause["cause"] for one in hits for cause in one["causes"]})
        print(f"{kind:14} {len(hits)} of {len(own)} found, {sum(one['confirmed'] for one in hits)} confirmed; causes: {', '.join(causes)}")
    for kind in dict.fromkeys(hosts.values()):
        own = [host for host, its in hosts.items() if its == kind]
        hits = [host for host in own if host in found_hosts]
        blamed = [key for key in found if key[0] in own]
        missed += len(own) - len(hits)
        print(f"{kind:14} {len(hits)} of {len(own)} hosts found; {len(blamed)} of their GPUs were blamed")
    false = [key for key in found if key not in planted]
    false_hosts = [host for host in found_hosts if host not in hosts]
    for key in false:
        print("false:", key, [finding["what"] + " " + finding["text"] for finding in found[key]["findings"]][:2])
    for host in false_hosts:
        print("false host:", host, [finding["what"] + " " + finding["text"] for finding in found_hosts[host]["findings"]][:2])
    excluded = set(report["exclude"])
    wrongly = excluded - {key[0] for key in planted}
    print(f"{missed} missed, {len(false)} GPUs and {len(false_hosts)} hosts found wrongly, {len(wrongly)} excluded wrongly")
    return missed, len(false) + len(false_hosts) + len(wrongly)


def main():
    parser = fleet.parser_of(__doc__, traces=2400, of_each=3, seed=1)
    parser.add_argument("--healthy", action="store_true", help="nothing is planted")
    options = parser.parse_args()
    with fleet.folder_of(options) as folder:
        os.makedirs(os.path.join(folder, "checks"))
        os.makedirs(os.path.join(folder, "matrices"))
        planted, hosts = make(os.path.join(folder, "checks"), options.traces, options.of_each, options.seed, options.healthy)
        results = [score(asked(options.program, os.path.join(folder, "checks")), planted, hosts)]
        of_links = {} if options.healthy else make_matrices(os.path.join(folder, "matrices"), 12, 1, options.seed)
        if of_links:
            report = asked(options.program, os.path.join(folder, "matrices"))
            results.append(score(report, dict.fromkeys(of_links, "nvlink"), {}))
        return 1 if any(missed or false for missed, false in results) else 0


if __name__ == "__main__":
    sys.exit(main())
