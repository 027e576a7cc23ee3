"""python -m npgpu.study COSTS [--measured TRACE]: predictions compared with measured jobs; or, with --partitions, choices
compared with measured runs of the partition method."""
import argparse
import json
import sys

from npgpu.program import BadTrace
from npgpu.study import partitions, scores, text


def main():
    parser = argparse.ArgumentParser(
        prog="npgpu.study", description="Compares predictions of npgpu, and of the models of the literature, with measured jobs.")
    parser.add_argument("trace", help="the trace that holds what streams cost (npgpu characterize, or npgpu streams --experiment overheads)")
    parser.add_argument("--measured", metavar="TRACE", help="the trace of the measured jobs (npgpu streams --experiment design), if it is another one")
    parser.add_argument("--device", help="of those whose costs the trace holds")
    parser.add_argument("--every-job", action="store_true", help="also print the times of every job")
    parser.add_argument("--partitions", action="store_true", help="of the trace's runs of the partition method (npgpu partition) instead")
    parser.add_argument("--json", action="store_true", help="all of it as JSON, npgpu-evaluation or npgpu-partition-evaluation")
    how = parser.parse_args()
    try:
        if how.partitions:
            found, as_text = partitions.of_trace(how.trace), text.partitions_report
        else:
            found, as_text = scores.of_trace(how.trace, how.measured, how.device), lambda told: text.report(told, how.every_job)
        print(json.dumps(found, indent=1) if how.json else as_text(found))
    except BadTrace as error:
        print(f"npgpu.study: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
