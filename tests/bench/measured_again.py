#!/usr/bin/env python3
"""What is lost by choosing the number of streams by measuring a job, where it is measured again: the least that any
prediction can lose.

    measured_again.py build/default/npgpu COSTS FIRST SECOND

FIRST and SECOND are traces of the same jobs (npgpu streams --experiment design, with one seed). Of each job the best
number of streams in one of them is taken in the other; its regret is that time over the least one there. COSTS is a
trace that npgpu predict takes costs from: its choices are shown beside.
"""
import os
import statistics
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "plots"))
from npgpu.study import scores  # noqa: E402

MIB = 1 << 20


def jobs_of(costs, trace):
    found = {}
    for w in scores.of_trace(costs, trace)["workloads"]:
        times = {p["streams"]: p["measured_us"] for p in w["points"]}
        job = (w["workload"], w["bytes_in"], w["bytes_out"], w["kernel_bytes"])
        found[job] = (times, w["regret"])
    return found


def p95(values):
    return sorted(values)[-(-95 * len(values) // 100) - 1]


def line(name, regrets):
    small = [r for (_, bytes_in, bytes_out, _), r in regrets.items() if bytes_in + bytes_out < MIB]
    text = "  ".join(f"{100 * statistics.median(values):5.2f} {100 * p95(values):6.2f}" for values in (list(regrets.values()), small))
    print(f"{name:32} {len(regrets):4}  {text}")


def main():
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    os.environ["NPGPU"] = sys.argv[1]
    first, second = (jobs_of(sys.argv[2], trace) for trace in sys.argv[3:])
    print(f"{'regret in %':32} jobs  all: median, p95  under 1 MiB")
    for name, chooses, pays in (("FIRST chooses, SECOND pays", first, second), ("SECOND chooses, FIRST pays", second, first)):
        regrets = {}
        for job in chooses.keys() & pays.keys():
            one, other = chooses[job][0], pays[job][0]
            both = one.keys() & other.keys()
            regrets[job] = other[min(both, key=one.get)] / min(other[n] for n in both) - 1
        line(name, regrets)
    for name, jobs in (("npgpu predict chooses, FIRST", first), ("npgpu predict chooses, SECOND", second)):
        line(name, {job: regret for job, (_, regret) in jobs.items()})
    apart = [abs(first[job][0][n] / second[job][0][n] - 1) for job in first.keys() & second.keys()
             for n in first[job][0].keys() & second[job][0].keys() if n > 1]
    print(f"times in two and more streams differ by {100 * statistics.median(apart):.1f} % (median) and "
          f"{100 * p95(apart):.1f} % (95 % below)")


main()
