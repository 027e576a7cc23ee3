"""npgpu as a ReFrame test: judges the GPUs of a node, and takes the figures of the judgement as performance variables.

    npgpu check --level 2 --json > good_node.json               on a node that is known to be good
    reframe -c contrib/reframe -r -S NodeCheck.level=2 -S NodeCheck.good_node=$PWD/good_node.json

README.md in this folder says more."""
import json
import os
import re

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable

# Figures, and whether more of them is better; other findings of the judgement are counts and settings.
MORE_IS_BETTER = {"B/s": True, "FLOP/s": True, "OP/s": True, "us": False, "ns": False}


def figures_of(report):
    """{name of the performance variable: (value, unit)}, such as h2d_rate_cuda_0 in B/s."""
    return {re.sub(r"\W+", "_", f"{one['metric']}_{one['device']}"): (one["value"], one["unit"])
            for one in report["findings"] if one["unit"] in MORE_IS_BETTER and one["value"] is not None}


@rfm.simple_test
class NodeCheck(rfm.RunOnlyRegressionTest):
    """One job on one exclusive node."""
    descr = "npgpu check: link, clocks, counters, copies, memory and arithmetic of each GPU"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    maintainers = ["npgpu"]
    tags = {"npgpu", "health"}
    num_tasks = 1
    exclusive_access = True
    time_limit = "10m"

    npgpu = variable(str, value="npgpu")      # the program, or its path
    device = variable(str, value="")          # as npgpu check takes it; empty: all GPUs
    level = variable(int, value=1)            # 1: seconds, 2: some ten seconds, 3: minutes
    good_node = variable(str, value="")       # what npgpu check --json printed on a good node: references
    tolerance = variable(float, value=0.05)   # of a figure against its reference, in the worse direction

    @run_after("init")
    def command(self):
        self.executable = self.npgpu
        self.executable_opts = ["check", "--level", str(self.level), "--json"]
        if self.device:
            self.executable_opts += ["--device", f"'{self.device}'"]

    def report(self):
        with open(os.path.join(self.stagedir, sn.evaluate(self.stdout)), encoding="utf-8") as file:
            return json.load(file)

    @sanity_function
    def is_judged_ok(self):
        try:
            report = self.report()
        except ValueError:
            with open(os.path.join(self.stagedir, sn.evaluate(self.stderr)), encoding="utf-8") as file:
                said = file.read().strip().splitlines()[-1:] or ["nothing was printed"]
            return sn.assert_true(False, msg=said[0])
        failed = [f"{one['device']}: {one['text']}" for one in report["findings"] if one["health"] == "fail"]
        self.skip_if(report["verdict"] == "not judged", report["not_judged_because"])
        return sn.assert_eq(report["verdict"], "ok", msg=f"the node is {report['verdict']}: {'; '.join(failed)}")

    @run_before("performance")
    def figures(self):
        self.perf_variables = {name: sn.make_performance_function(sn.defer(value), unit)
                               for name, (value, unit) in figures_of(self.report()).items()}

    @run_before("performance")
    def references(self):
        if not self.good_node:
            return
        with open(self.good_node, encoding="utf-8") as file:
            good = figures_of(json.load(file))
        self.reference = {"*": {name: (value, -self.tolerance, None, unit) if MORE_IS_BETTER[unit] else
                                (value, None, self.tolerance, unit) for name, (value, unit) in good.items()}}
