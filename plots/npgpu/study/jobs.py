"""Measured jobs with npgpu's own predictions, as the program writes them (npgpu-predicted-jobs)."""
import collections
import json
import math

from npgpu import program
from npgpu.program import BadTrace

DOCUMENT, VERSION = "npgpu-predicted-jobs", 1
FIELDS = ("workload", "order", "pool", "bytes_in", "bytes_out", "kernel_bytes", "iterations", "threads")

Stages = collections.namedtuple("Stages", "h2d kernel d2h")  # us
Estimate = collections.namedtuple("Estimate", "value low high")


def number(value):
    return math.nan if value is None else float(value)


def estimate(told):
    return Estimate(*(number(told[key]) for key in Estimate._fields))


class Job:
    """A job over the numbers of streams that it was split into, the unsplit first; lists are as long as `streams`."""

    def __init__(self, told):
        points = told["points"]
        self.fields = {name: told[name] for name in FIELDS}
        self.bytes = told["bytes_in"] + told["bytes_out"]
        self.kernel_us = number(told["kernel_us"])
        self.streams = [p["streams"] for p in points]
        self.measured = [Estimate(*(number(p[key]) for key in ("measured_us", "low_us", "high_us"))) for p in points]
        self.times = [t.value for t in self.measured]
        self.simulator_us, self.as_host_was_us = ([number(p[key]) for p in points] for key in ("predicted_us", "as_host_was_us"))
        self.chunks = [Stages(**{stage: number(us) for stage, us in p["chunk_us"].items()}) for p in points]
        self.regrets = [estimate(p["regret"]) for p in points]  # cross-validated, of choosing this number
        self.measuring = [number(r) for r in told["measuring"]]

    @property
    def whole(self):
        """One after the other and alone, unsplit, gaps included."""
        return self.chunks[0]

    @property
    def unsplit_us(self):
        return self.times[0]


class Costs:
    """What the device charges, whatever the job, in us."""

    def __init__(self, told):
        self.create, self.submit, self.duplex_extra_gap = (number(told[key]) for key in ("stream_create", "submit", "duplex_extra_gap"))
        self.gap, self.latency, self.issue = (Stages(**{stage: number(us) for stage, us in told[key].items()})
                                              for key in ("gap", "latency", "issue"))

    def gap_of_longest(self, whole):
        """What one more chunk adds to the engine of the longest stage."""
        if whole.kernel >= whole.h2d and whole.kernel >= whole.d2h:
            return self.gap.kernel
        return (self.gap.h2d if whole.h2d >= whole.d2h else self.gap.d2h) + self.duplex_extra_gap


def predicted(trace, measured=None, device=None):
    """The program's document of a trace of costs, and of the jobs that it, or another trace, holds."""
    document = json.loads(program.run("predict", trace, f"--measured={measured or trace}", *([f"--device={device}"] if device else []), "--json"))
    if (document["document"], document["version"]) != (DOCUMENT, VERSION):
        raise BadTrace(f"{program.path()} writes {document['document']} {document['version']}, and this reads {DOCUMENT} {VERSION}")
    return document
