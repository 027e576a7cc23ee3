#!/usr/bin/env python3
"""npgpu fleet over many traces with planted outliers: what it finds, what it finds wrongly, how long and how much memory
it takes.

    fleet.py PROGRAM [--traces 10000] [--outliers 20] [--folder FOLDER] [--seed 1]

Each trace is a whole one: the kept trace of npgpu check on an H200, with a host, a GPU and a run of its own, and with
times that scatter as those of runs of npgpu characterize on one H200 did (npgpu f36379f, three runs). How GPUs
of one model differ is not known from one GPU: kernels get 0.5 %. Two groups differ in their drivers; a third one has
three GPUs. The outliers are of four kinds: a PCIe link of half the lanes, a lower clock, three multiprocessors less, and a
case without figures.

The traces are made by writing numbers into copies of one uncompressed trace, which takes milliseconds.
"""
import argparse
import contextlib
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time

import h5py
import numpy

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
KEPT = os.path.join(SOURCE, "data/traces/h200_check.h5")

UUID, HOST, RUN, DATE = "GPU-{:08x}-0000-0000-0000-000000000000", "node{:05d}", "{:08x}-feed-4fee-8fee-000000000000", \
    "2026-11-{:02d}T{:02d}:{:02d}:00Z"
DRIVERS = "580.159.04", "570.211.01", "550.163.01"  # of seven tenths, three tenths, and three GPUs
KINDS = "link", "clock", "multiprocessors", "missing"
LEFT_OUT = "transfers/0003", "transfers/0004"  # pageable copies: 10,000 traces are to have less than 3 GB
MISSING = "transfers/0003"  # what planted outliers lack: copies within the device, as they are numbered here

# Standard deviations from run to run of the median over a third of a curve (copies: small and large ones), and within
# a run from visit to visit: of three runs of one H200, npgpu f36379f.
RUNS = {"device-copies": (0.013, 0.003), "host-copies": (0.019, 0.002), "pageable-copies": (0.034, 0.045),
        "kernels": (0.0005, 0.0005), "calls": (0.038, 0.044)}
VISITS = {"device-copies": 0.013, "host-copies": 0.019, "pageable-copies": 0.032, "kernels": 0.002, "calls": 0.048}
OF_GPUS = 0.005  # kernels, from GPU to GPU
LARGE = 8 << 20


class Table:
    """One dataset of the image: its rows can be written."""

    def __init__(self, dataset):
        info = dataset.id.get_chunk_info(0)
        self.at, self.rows, self.dtype = info.byte_offset, len(dataset), dataset.dtype

    def of(self, image):
        return numpy.frombuffer(image, self.dtype, self.rows, self.at)


class Series:
    def __init__(self, name, group):
        self.name, self.kind = name, name.split("/")[0]
        attributes = {key: str(value) for key, value in group.attrs.items()}
        self.memory, self.timing = attributes.get("memory"), attributes.get("timing")
        self.direction, self.probe = attributes.get("direction"), attributes.get("probe")
        self.visits, self.samples = Table(group["visits"]), Table(group["samples"])
        rows = group["visits"][:]
        self.bytes = rows["bytes"].astype(float) if self.kind == "transfers" else numpy.zeros(len(rows))

    @property
    def time_class(self):
        if self.kind == "transfers":
            if self.memory == "pageable":
                return "pageable-copies"
            return "host-copies" if self.timing == "host" else "device-copies"
        return "kernels" if self.kind == "probes" else self.kind


class Image:
    """A trace whose tables lie uncompressed in its bytes; `without`: a series that has no rows."""

    def __init__(self, without=None):
        self.without = without
        memory = io.BytesIO()
        with h5py.File(KEPT) as kept, h5py.File(memory, "w", libver="earliest") as made:
            self.copy(kept, made, "")
            made.attrs.update(run_uuid=RUN.format(0), hostname=HOST.format(0), start_time_utc=DATE.format(1, 0, 0))
            gpu = made["provenance/gpu0"]
            gpu.attrs["uuid"], gpu.attrs["driver_version"] = UUID.format(0), DRIVERS[0]
        self.set_bytes(memory.getvalue())

    def set_bytes(self, bytes_):
        self.bytes = bytes_
        with h5py.File(io.BytesIO(bytes_)) as made:
            self.series = [Series(f"{kind}/{number}", group) for kind in ("transfers", "probes", "calls")
                           for number, group in made[kind].items() if f"{kind}/{number}" != self.without]

    def copy(self, kept, made, at):
        made.attrs.update(kept.attrs)
        names = [name for name in kept if f"{at}{name}" not in LEFT_OUT]
        for number, name in enumerate(names):
            one = kept[name]
            if isinstance(one, h5py.Dataset):
                rows = one[:0] if at == f"{self.without}/" else one[:]
                copied = made.create_dataset(name, data=rows, maxshape=(None,), chunks=(max(1, len(rows)),))
                copied.attrs.update(one.attrs)
                continue
            new = f"{number:04d}" if name.isdigit() else name
            copied = made.create_group(new)
            self.copy(one, copied, f"{at}{new}/")
            if "device_uuid" in copied.attrs:
                copied.attrs["device_uuid"] = UUID.format(0)
            if f"{at}{new}" == self.without:
                copied.attrs["error"] = "out of memory"

    def trace(self, number, driver, planted, seed):
        """The bytes of trace `number`."""
        host, slot = divmod(number, 8)
        bytes_ = self.bytes
        for old, new in ((RUN.format(0), RUN.format(number + 1)), (UUID.format(0), UUID.format(number + 1)),
                         (HOST.format(0), HOST.format(host + 1)), ("cuda:0", f"cuda:{slot}"),
                         (DRIVERS[0], driver),
                         (DATE.format(1, 0, 0), DATE.format(number % 28 + 1, number % 24, number % 60))):
            assert len(old) == len(new)
            bytes_ = bytes_.replace(old.encode(), new.encode())
        image = bytearray(bytes_)
        noise = numpy.random.default_rng((seed, number))
        silicon = noise.normal(0, OF_GPUS)
        for series in self.series:
            self.measure(series, image, noise, silicon, planted)
        return image

    def measure(self, series, image, noise, silicon, planted):
        visits, samples = series.visits.of(image), series.samples.of(image)
        small, large = RUNS[series.time_class]
        of_run = numpy.where(series.bytes < LARGE, noise.normal(0, small), noise.normal(0, large))
        factor = of_run + noise.normal(0, VISITS[series.time_class], len(visits))
        if series.kind == "probes":
            factor += silicon
        factor = numpy.exp(factor)
        if planted == "link" and series.direction in ("h2d", "d2h"):
            factor *= 1 + series.bytes / (series.bytes + (256 << 10))  # half the rate, and as soon
        if planted == "clock":
            visits["sm_clock_mhz"] = 1755
            if series.probe == "compute":
                factor *= 1980 / 1755
        if planted == "multiprocessors" and series.probe == "compute":
            factor *= 132 / 129
        if planted == "multiprocessors" and series.kind == "probes":
            samples["units"] = numpy.minimum(samples["units"], 129)
        for column in ("host_us", "device_us", "done_us"):
            if column in samples.dtype.names:
                samples[column] *= factor[samples["visit"]]


class Images:
    """By what is planted. A link of half the lanes is also in the provenance, which has other bytes."""

    def __init__(self):
        self.of = {None: Image(), "missing": Image(without=MISSING)}
        self.of["link"] = self.narrow()

    @staticmethod
    def narrow():
        image = Image()
        memory = io.BytesIO(image.bytes)
        with h5py.File(memory, "r+") as trace:
            trace["provenance/gpu0_after"].attrs["pcie_lanes_copying"] = numpy.int64(8)
        image.set_bytes(memory.getvalue())
        return image

    def __getitem__(self, planted):
        return self.of.get(planted, self.of[None])


def make(folder, traces, outliers, seed):
    """Returns what is planted, by UUID. Three GPUs are of a third driver."""
    images = Images()
    chosen = random.Random(seed)
    numbers = chosen.sample(range(3, traces), outliers)
    planted = {number: KINDS[i % len(KINDS)] for i, number in enumerate(numbers)}
    for number in range(traces):
        driver = DRIVERS[2] if number < 3 else DRIVERS[chosen.random() < 0.3]
        kind = planted.get(number)
        if number % 1000 == 0:
            os.makedirs(os.path.join(folder, f"{number // 1000:02d}"), exist_ok=True)
        path = os.path.join(folder, f"{number // 1000:02d}", f"{HOST.format(number // 8 + 1)}-{number % 8}.h5")
        with open(path, "wb") as out:
            out.write(images[kind].trace(number, driver, kind, seed))
    return {UUID.format(number + 1): kind for number, kind in planted.items()}


class Watched:
    """A program's output, its time, that of the processors, and the most memory that it and its children had together."""

    def __init__(self, *command):
        begin, processors = time.time(), self.processor_s()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.mib, self.ended = 0.0, False
            watch = threading.Thread(target=self.watch, args=(process.pid,))
            watch.start()
            self.out, self.err = process.communicate()
            self.ended = True
            watch.join()
        self.code, self.s, self.cpu_s = process.returncode, time.time() - begin, self.processor_s() - processors

    @staticmethod
    def processor_s():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def watch(self, pid):
        while not self.ended:
            try:
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                    pids = [pid] + [int(child) for child in file.read().split()]
                self.mib = max(self.mib, sum(self.own_mib(one) for one in pids))
            except (OSError, ValueError):
                pass
            time.sleep(0.05)

    @staticmethod
    def own_mib(pid):
        """Shared pages count for each process by its part."""
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024


def suspects_of(report):
    """Findings and causes, by UUID."""
    return {one["uuid"]: one for group in report["groups"] for one in group["suspects"]}


# What npgpu check calls the cause of what was planted.
CAUSES = {"link": "link_lanes", "clock": "clock_cap", "multiprocessors": "sms_missing"}


def judge(report, planted):
    """UUIDs that were found, that were missed, that were found wrongly, and those with another cause than planted."""
    found = suspects_of(report)
    hits = {uuid for uuid in planted if uuid in found}
    other = {uuid: [cause["cause"] for cause in found[uuid]["causes"]] for uuid in hits
             if CAUSES.get(planted[uuid], planted[uuid]) not in [cause["cause"] for cause in found[uuid]["causes"]]}
    return hits, set(planted) - hits, set(found) - set(planted), other


def parser_of(description, **numbers):
    """A program, a folder where the traces stay, and numbers with their defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--folder")
    for name, usual in numbers.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=usual)
    return parser


def folder_of(options):
    return contextlib.nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory(prefix="npgpu-fleet-")


def main():
    options = parser_of(__doc__, traces=10000, outliers=20, seed=1).parse_args()
    with folder_of(options) as folder:
        begin = time.time()
        planted = make(folder, options.traces, options.outliers, options.seed)
        size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)
        print(f"{options.traces} traces made in {time.time() - begin:.0f} s, {size / 1e9:.2f} GB")
        done = Watched(options.program, "fleet", folder, "--json")
        print(f"{done.s:.1f} s ({done.cpu_s:.1f} s of processors), {done.mib:.0f} MiB, exit code {done.code} {done.err.strip()}")
        report = json.loads(done.out)
        hits, missed, false, other = judge(report, planted)
        print(f"found {len(hits)} of {len(planted)}, {len(false)} false, {len(other)} with another cause")
        for uuid in sorted(missed):
            print("missed:", uuid, planted[uuid])
        for uuid in sorted(false):
            one = suspects_of(report)[uuid]
            print("false:", uuid, one["findings"][0]["what"], one["findings"][0]["text"])
        for uuid, causes in sorted(other.items()):
            print("another cause:", uuid, planted[uuid], causes)
        return 1 if missed or other or len(false) > 5 else 0


if __name__ == "__main__":
    sys.exit(main())
