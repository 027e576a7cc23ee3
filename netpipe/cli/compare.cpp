// npgpu compare: two traces, point by point.
#include <algorithm>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

int run_compare(const Options& options) {
  const double threshold = parse_fraction("threshold", options.text("threshold"));
  const Trace a = read_trace(options.place("A"), Guard::child);
  const Trace b = read_trace(options.place("B"), Guard::child);
  const ComparisonOf of{options.place("A"), options.place("B"), &a, &b, compare(a, b, threshold), threshold};
  const auto alone = [](Verdict v) { return v == Verdict::only_a || v == Verdict::only_b; };
  if (std::ranges::all_of(of.points, alone, &PointComparison::verdict))
    throw Error(ErrorKind::usage, of.a_name + " and " + of.b_name + " have no point in common");
  if (options.on("json")) compare_json(std::cout, of);
  else compare_text(std::cout, of, terminal_style());
  const bool failed = std::ranges::any_of(of.points, is_failure, &PointComparison::verdict);
  return failed ? exit_code::threshold : exit_code::done;
}

}  // namespace

Command compare_traces() {
  return {"compare",
          "compare two traces, point by point",
          "Compares trace B with trace A. A point is slower or faster if the medians differ by more than the threshold "
          "and their intervals do not overlap. It is broken if one of the two traces has wrong results or no time for "
          "it. The exit code is 3 if any point is slower or broken.",
          {"A", "B"},
          {"npgpu compare last_month.h5 today.h5", "npgpu compare a.h5 b.h5 --threshold 10%"},
          {{"What is compared", {Option("threshold", "5%")}}, {"Output", {"json"}}},
          run_compare};
}

}  // namespace npgpu::cli
