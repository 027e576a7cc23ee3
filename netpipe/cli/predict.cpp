// npgpu predict: how long a job takes in n streams on a measured device, which n is best, and how far such predictions
// are from jobs that were measured.
#include <fmt/format.h>

#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/job_options.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

constexpr std::uint64_t max_streams = 256;
// The last curve's slope holds beyond the longest measured copy; so far beyond, nobody knows.
constexpr std::uint64_t beyond = 16;
// A chunk is whole lines of memory.
constexpr std::uint64_t line = 128;

Job read_job(const Options& options, const MeasuredCosts& costs) {
  for (const char* option : {"bytes-in", "kernel-ms", "bytes-out"})
    if (!options.has(option))
      throw Error(ErrorKind::usage, fmt::format("--{} is missing: a job has all three of --bytes-in, --kernel-ms and "
                                                "--bytes-out; give 0 for a part that it has not",
                                                option));
  Job job = parse_job(options);
  if (job.in_bytes == 0 && job.out_bytes == 0)
    throw Error(ErrorKind::usage, "--bytes-in, --bytes-out: a job that copies nothing has nothing to overlap");
  for (const auto& [option, bytes] : {std::pair{"bytes-in", job.in_bytes}, {"bytes-out", job.out_bytes}})
    if (bytes > beyond * costs.max_copy)
      throw Error(ErrorKind::usage,
                  fmt::format("--{}: {} is too far beyond what was measured on {}: copies of {} to {} allow up to {}",
                              option, size_text(bytes), costs.device, size_text(costs.min_copy),
                              size_text(costs.max_copy), size_text(beyond * costs.max_copy)));
  const auto threads = static_cast<std::uint32_t>(parse_count("threads", options.text("threads"), 1, 1024));
  if (job.blocks) describe_kernel(job, costs, threads);
  return job;
}

// As many streams as leave each of them a line of both copies.
std::vector<std::uint32_t> candidates_for(const Job& job, std::uint32_t most) {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t n : stream_counts(most)) {
    const bool too_small = (job.in_bytes && job.in_bytes / n < line) || (job.out_bytes && job.out_bytes / n < line);
    if (n == 1 || !too_small) all.push_back(n);
  }
  return all;
}

int print_evaluation(const Options& options, const Trace& trace, const MeasuredCosts& costs) {
  const auto path = options.maybe("measured");
  const Trace measured = path ? read_trace(*path, Guard::child) : trace;
  const auto workloads = workloads_of(measured);
  // As JSON, figures want those, too, that score no model.
  const auto others = options.on("json") ? other_workloads_of(measured) : std::vector<MeasuredWorkload>{};
  if (workloads.empty() && others.empty())
    throw Error(ErrorKind::usage, path.value_or(options.place("TRACE")) +
                                      " holds no jobs to compare predictions with: npgpu streams --experiment design "
                                      "measures some, and --measured names their trace");
  const Evaluation evaluation = evaluate(workloads, costs, others);
  if (options.on("json")) evaluation_json(std::cout, evaluation);
  else evaluation_text(std::cout, evaluation, options.on("every-job") ? Detail::full : Detail::brief, terminal_style());
  return exit_code::done;
}

int run_predict(const Options& options) {
  const Trace trace = read_trace(options.place("TRACE"), Guard::child);
  MeasuredCosts costs = costs_of_trace(trace, options.place("TRACE"), options.maybe("device"));
  if (options.on("evaluate")) return print_evaluation(options, trace, costs);

  ForecastOf of;
  of.costs = &costs;
  of.job = read_job(options, costs);
  of.order = parse_name<Order>("order", options.text("order"));
  if (of.order == Order::independent)
    throw Error(ErrorKind::usage,
                "--order: independent copies and kernels are no job, whose kernel needs its copy in; "
                "choose breadth-first or depth-first");
  if (parse_name<StreamPool>("pool", options.text("pool")) == StreamPool::fresh)
    costs.costs.stream_create = costs.create;
  const auto most = static_cast<std::uint32_t>(parse_count("max-streams", options.text("max-streams"), 1, max_streams));
  of.forecast = forecast(of.job, costs, of.order, candidates_for(of.job, most));
  if (options.on("json")) {
    forecast_json(std::cout, of);
    return exit_code::done;
  }
  forecast_text(std::cout, of, terminal_style());
  const std::uint32_t best = of.forecast.prediction.streams;
  const auto small = [&](std::uint64_t bytes) { return bytes && bytes / best < costs.min_copy; };
  if (small(of.job.in_bytes) || small(of.job.out_bytes))
    std::cout << fmt::format("copies below {} were not measured; each is taken to last as long as one of {}\n",
                             size_text(costs.min_copy), size_text(costs.min_copy));
  if (options.on("draw")) {
    std::cout << '\n';
    simulation_text(std::cout,
                    {costs.device, of.job, of.order, best, costs.costs, simulate(of.job, best, costs.costs, of.order),
                     of.forecast.prediction},
                    terminal_style());
  }
  return exit_code::done;
}

}  // namespace

Command predict() {
  return {
      "predict",
      "predict a job's time in n streams, and the best n, from a trace",
      "Predicts how long a job takes in n streams on a device whose costs are in a trace (npgpu characterize, or npgpu "
      "streams --experiment overheads), and which n is best. Needs no device.",
      {"TRACE"},
      {"npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB",
       "npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 0 --draw",
       "npgpu predict node.h5 --evaluate --measured design.h5"},
      {{"Job", {"bytes-in", "kernel-ms", "bytes-out", "blocks", Option("threads", "512")}},
       {"Streams", {Option("order", "breadth-first"), Option("pool", "pooled"), Option("max-streams", "64")}},
       {"Evaluation", {"evaluate", Option("measured", {}, "Default: TRACE."), "every-job"}},
       {"Output", {Option("device", {}, "Needed where the trace has several."), "draw", "json"}}},
      run_predict};
}

}  // namespace npgpu::cli
