// npgpu predict --all-reduce: the time of an all-reduce of a size that need not have been measured.
#include "netpipe/cli/predict_collective.hpp"

#include <fmt/format.h>

#include <iostream>

#include "netpipe/cli/quantity.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/collective_figures.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

constexpr std::uint64_t far_beyond = 16;  // times the largest measured size: so far its rate holds

CollectiveForecast forecast_of(const CollectiveStudy& study, const CollectiveFigure& f, std::uint64_t bytes) {
  const std::uint64_t least = f.points.front().axes.bytes, most = f.points.back().axes.bytes;
  const auto us = time_of(f, bytes);
  if (!us || bytes > far_beyond * most)
    throw Error(ErrorKind::usage, fmt::format("--all-reduce: {} is too far from what was measured: {} to {}",
                                              typed_size_text(bytes), size_text(least), size_text(most)));
  return {&study, &f, bytes, *us};
}

}  // namespace

int predict_all_reduce(const Options& options, const Trace& trace) {
  const std::uint64_t bytes = parse_size("all-reduce", *options.maybe("all-reduce"), 1);
  const auto studies = collective_studies(trace, node_matrix(trace));
  std::vector<CollectiveForecast> all;
  for (const CollectiveStudy& study : studies)
    for (const CollectiveFigure& f : study.figures) {
      const CollectiveCase& c = f.question;
      if (c.operation == CollectiveOperation::all_reduce && !f.points.empty() && !c.in_place)
        all.push_back(forecast_of(study, f, bytes));
    }
  if (all.empty())
    throw Error(ErrorKind::usage,
                "--all-reduce: this trace has none: npgpu collectives --collective all-reduce measures it");
  if (options.on("json")) collective_forecast_json(std::cout, all);
  else collective_forecast_text(std::cout, all);
  return exit_code::done;
}

}  // namespace npgpu::cli
