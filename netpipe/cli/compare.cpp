// npgpu compare: two traces, point by point.
#include <algorithm>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

int compare_traces(const Arguments& arguments) {
  Options options("compare", "npgpu compare A B [options]",
                  "Compares trace B with trace A. A point is slower or faster when the medians differ by more than the\n"
                  "tolerance and their intervals do not overlap. Exit code 3 if any point is slower.",
                  {"A", "B"});
  options.group("How").add_options()
      ("tolerance", word("5%"), "difference of the medians that does not count")
      ("json", po::bool_switch(), "as JSON");
  if (!options.read(arguments)) return exit_code::done;
  const double tolerance = parse_fraction("tolerance", options.text("tolerance"));
  const Trace a = read_trace(options.place("A"));
  const Trace b = read_trace(options.place("B"));
  const std::vector<PointComparison> points = compare(a, b, tolerance);
  const auto both = [](const PointComparison& p) { return p.verdict != Verdict::only_a && p.verdict != Verdict::only_b; };
  if (std::none_of(points.begin(), points.end(), both))
    throw Error(ErrorKind::usage, options.place("A") + " and " + options.place("B") + " have no point in common");
  if (options.on("json"))
    compare_json(std::cout, points, tolerance);
  else
    compare_text(std::cout, points, tolerance, terminal_style());
  const auto slower = [](const PointComparison& p) { return p.verdict == Verdict::slower; };
  return std::any_of(points.begin(), points.end(), slower) ? exit_code::threshold : exit_code::done;
}

}  // namespace npgpu::cli
