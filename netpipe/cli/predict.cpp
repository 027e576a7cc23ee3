// npgpu predict: how long a job takes in n streams on a measured device, which n is best, and how far such predictions
// are from jobs that were measured.
#include <fmt/format.h>

#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

constexpr double day_ms = 86400e3;
constexpr std::uint64_t max_streams = 256;
// The last curve's slope holds beyond the longest measured copy; so far beyond, nobody knows.
constexpr std::uint64_t beyond = 16;

const MeasuredCosts& costs_of(const std::vector<MeasuredCosts>& all, const Options& options) {
  const std::string trace = options.place("TRACE");
  if (all.empty())
    throw Error(ErrorKind::usage, trace + " holds no streams: npgpu streams --experiment overheads measures what they cost");
  const auto wanted = options.maybe("device");
  std::string ids;
  const MeasuredCosts* only = nullptr;
  for (const MeasuredCosts& one : all) {
    if (wanted && one.device == *wanted) return one;
    ids += (ids.empty() ? "" : ", ") + one.device;
    only = &one;
  }
  if (wanted) throw Error(ErrorKind::usage, fmt::format("--device: {} has no streams of '{}'; it has {}", trace, *wanted, ids));
  if (all.size() > 1) throw Error(ErrorKind::usage, fmt::format("--device: {} has streams of {}: say of which", trace, ids));
  return *only;
}

void must_be_usable(const MeasuredCosts& costs, const std::string& trace) {
  if (!costs.usable)
    throw Error(ErrorKind::usage, fmt::format("{} does not say what streams cost on {}: it lacks {}", trace, costs.device,
                                              costs.missing.empty() ? "everything" : costs.missing.front()));
}

Job read_job(const Options& options, const MeasuredCosts& costs) {
  Job job;
  if (const auto text = options.maybe("bytes-in")) job.in_bytes = parse_size("bytes-in", *text);
  if (const auto text = options.maybe("bytes-out")) job.out_bytes = parse_size("bytes-out", *text);
  if (job.in_bytes == 0 && job.out_bytes == 0)
    throw Error(ErrorKind::usage, "--bytes-in, --bytes-out: a job that copies nothing has nothing to overlap; give one of them");
  for (const auto& [option, bytes] : {std::pair{"bytes-in", job.in_bytes}, {"bytes-out", job.out_bytes}})
    if (bytes && (bytes < costs.min_copy || bytes > beyond * costs.max_copy))
      throw Error(ErrorKind::usage,
                  fmt::format("--{}: {} B is outside what was measured on {}: copies of {} to {}, which tell of up to {}",
                              option, bytes, costs.device, size_text(costs.min_copy), size_text(costs.max_copy),
                              size_text(beyond * costs.max_copy)));
  if (const auto text = options.maybe("kernel-ms"))
    job.kernel = Seconds{parse_number("kernel-ms", *text, 0, day_ms) * 1e-3};
  const auto threads = static_cast<std::uint32_t>(parse_count("threads", options.text("threads"), 1, 1024));
  if (const auto text = options.maybe("blocks")) {
    job.blocks = parse_count("blocks", *text, 1, 1ull << 40);
    describe_kernel(job, costs, threads);
  }
  return job;
}

std::vector<std::uint32_t> candidates_for(const Job& job, const MeasuredCosts& costs, std::uint32_t most) {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t n : stream_counts(most)) {
    const bool small = (job.in_bytes && job.in_bytes / n < costs.min_copy) ||
                       (job.out_bytes && job.out_bytes / n < costs.min_copy);
    if (n == 1 || !small) all.push_back(n);
  }
  return all;
}

}  // namespace

int predict(const Arguments& arguments) {
  Options options("predict", "npgpu predict TRACE --bytes-in SIZE --kernel-ms T --bytes-out SIZE [options]",
                  "How long a job takes in n streams on a device whose costs are in a trace (npgpu streams --experiment\n"
                  "overheads), and which n is best. Needs no device.",
                  {"TRACE"});
  options.group("Job").add_options()
      ("bytes-in", word(), "copied to the device: 64MiB")
      ("kernel-ms", word(), "time of the whole kernel, alone, in milliseconds")
      ("bytes-out", word(), "copied from the device")
      ("blocks", word(), "the kernel's blocks: chunks are then as many waves as theirs need")
      ("threads", word("512"), "of a block");
  options.group("Streams").add_options()
      ("order", word("breadth-first"), choices<Order>().c_str())
      ("most", word("64"), "streams to try for the best")
      ("fresh", po::bool_switch(), "streams are created for the job, which is counted");
  options.group("Evaluation").add_options()
      ("evaluate", po::bool_switch(), "hold predictions against measured jobs, beside the models of the literature")
      ("jobs", word(), "with --evaluate: trace that holds the jobs, if not the same")
      ("every-job", po::bool_switch(), "with --evaluate: times of every job, too");
  options.group("How").add_options()
      ("device", word(), "which of the trace's devices")
      ("json", po::bool_switch(), "as JSON");
  if (!options.read(arguments)) return exit_code::done;

  const Trace trace = read_trace(options.place("TRACE"));
  const auto all = stream_costs(trace);
  MeasuredCosts costs = costs_of(all, options);
  must_be_usable(costs, options.place("TRACE"));

  if (options.on("evaluate")) {
    const auto jobs = options.maybe("jobs");
    const Trace& measured = jobs ? read_trace(*jobs) : trace;
    const auto workloads = workloads_of(measured);
    // As JSON, figures want those, too, that score no model.
    const auto others = options.on("json") ? other_workloads_of(measured) : std::vector<MeasuredWorkload>{};
    if (workloads.empty() && others.empty())
      throw Error(ErrorKind::usage, jobs.value_or(options.place("TRACE")) +
                                        " holds no jobs to hold predictions against: npgpu streams --experiment design "
                                        "measures some, and --jobs names their trace");
    const Evaluation evaluation = evaluate(workloads, costs, others);
    if (options.on("json"))
      evaluation_json(std::cout, evaluation);
    else
      evaluation_text(std::cout, evaluation, options.on("every-job") ? Detail::full : Detail::brief, terminal_style());
    return exit_code::done;
  }

  ForecastOf of;
  of.costs = &costs;
  of.job = read_job(options, costs);
  const auto order = named<Order>(options.text("order"));
  if (!order)
    throw Error(ErrorKind::usage,
                fmt::format("--order: '{}' is none of {}", options.text("order"), choices<Order>()));
  of.order = *order;
  if (options.on("fresh")) costs.costs.stream_create = costs.create;
  const auto most = static_cast<std::uint32_t>(parse_count("most", options.text("most"), 1, max_streams));
  of.forecast = forecast(of.job, costs, of.order, candidates_for(of.job, costs, most));
  if (options.on("json"))
    forecast_json(std::cout, of);
  else
    forecast_text(std::cout, of, terminal_style());
  return exit_code::done;
}

}  // namespace npgpu::cli
