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

std::string predicted_text(const CollectiveStudy& study, const CollectiveFigure& f, std::uint64_t bytes) {
  const std::uint64_t least = f.points.front().axes.bytes, most = f.points.back().axes.bytes;
  const auto us = time_of(f, bytes);
  if (!us || bytes > far_beyond * most)
    throw Error(ErrorKind::usage, fmt::format("--all-reduce: {} is too far from what was measured: {} to {}",
                                              typed_size_text(bytes), size_text(least), size_text(most)));
  const double bus = bus_factor(f.question) * static_cast<double>(bytes) / us->value * 1e6;
  std::string text =
      fmt::format("{}all-reduce of {} of {} on {} GPUs ({}): {}, {} of bus bandwidth; {}",
                  study.simulated ? "SIMULATED " : "", size_text(bytes), name(f.question.type), study.gpus.size(),
                  study.device_name, time_text(us->value), rate_text(bus), us->method);
  if (us->high > us->low) text += fmt::format("; 95 % interval {} to {}", time_text(us->low), time_text(us->high));
  return text;
}

}  // namespace

int predict_all_reduce(const Options& options, const Trace& trace) {
  if (options.on("json")) throw Error(ErrorKind::usage, "--all-reduce prints a line for people: leave --json out");
  const std::uint64_t bytes = parse_size("all-reduce", *options.maybe("all-reduce"), 1);
  bool is_any = false;
  for (const CollectiveStudy& study : collective_studies(trace, node_matrix(trace)))
    for (const CollectiveFigure& f : study.figures) {
      if (f.question.operation != CollectiveOperation::all_reduce || f.points.empty() || f.question.in_place) continue;
      std::cout << printable(predicted_text(study, f, bytes)) << '\n';
      is_any = true;
    }
  if (!is_any)
    throw Error(ErrorKind::usage,
                "--all-reduce: this trace has none: npgpu collectives --collective all-reduce measures it");
  return exit_code::done;
}

}  // namespace npgpu::cli
