// npgpu predict: how long a job takes in n streams on a measured device, which n is best, and how far such predictions
// are from jobs that were measured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <span>
#include <tuple>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/job_list.hpp"
#include "netpipe/cli/job_options.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/drift.hpp"
#include "npgpu/error.hpp"
#include "npgpu/messages.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

constexpr std::uint64_t max_streams = 256;
// The last curve's slope holds beyond the longest measured copy; so far beyond, nobody knows.
constexpr std::uint64_t beyond = 16;
// A chunk is whole lines of memory.
constexpr std::uint64_t line_bytes = 128;

std::uint32_t parse_threads(const Options& options) {
  return static_cast<std::uint32_t>(parse_count("threads", options.text("threads"), 1, 1024));
}

void refuse_far_beyond(const Job& job, const MeasuredCosts& costs, const std::string& in, const std::string& out) {
  for (const auto& [option, bytes] : {std::pair{in, job.in_bytes}, {out, job.out_bytes}})
    if (bytes > beyond * costs.max_copy)
      throw Error(ErrorKind::usage,
                  fmt::format("--{}: {} is too far beyond what was measured on {}: copies of {} to {} allow up to {}",
                              option, typed_size_text(bytes), costs.device, size_text(costs.min_copy),
                              size_text(costs.max_copy), size_text(beyond * costs.max_copy)));
}

Job read_job(const Options& options, const MeasuredCosts& costs) {
  for (const char* option : {"bytes-in", "kernel-ms", "bytes-out"})
    if (!options.has(option))
      throw Error(ErrorKind::usage, fmt::format("--{} is missing: a job has all three of --bytes-in, --kernel-ms and "
                                                "--bytes-out; give 0 for a part that it has not",
                                                option));
  Job job = parse_job(options);
  if (job.in_bytes == 0 && job.out_bytes == 0)
    throw Error(ErrorKind::usage, "--bytes-in, --bytes-out: a job that copies nothing has nothing to overlap");
  refuse_far_beyond(job, costs, "bytes-in", "bytes-out");
  if (job.blocks) describe_kernel(job, costs, parse_threads(options));
  return job;
}

// As many streams as leave each of them a line of both copies.
std::vector<std::uint32_t> candidates_for(const Job& job, std::uint32_t most) {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t n : stream_counts(most)) {
    const bool too_small =
        (job.in_bytes && job.in_bytes / n < line_bytes) || (job.out_bytes && job.out_bytes / n < line_bytes);
    if (n == 1 || !too_small) all.push_back(n);
  }
  return all;
}

// The measured jobs that predictions are compared with: of --measured, else of TRACE itself. Which of a job's numbers
// of streams are equally good is asked within their run.
Trace measured_jobs(const Options& options, const Trace& trace) {
  const auto path = options.maybe("measured");
  Trace measured = path ? read_trace(*path, Guard::child) : trace;
  set_drifts(measured, RunToRun::left_out);
  return measured;
}

Evaluation evaluation_of(const Options& options, const Trace& measured, std::span<const MeasuredWorkload> workloads,
                         const MeasuredCosts& costs, bool with_others) {
  // Figures want those, too, that score no model.
  const auto others = with_others ? other_workloads_of(measured) : std::vector<MeasuredWorkload>{};
  const std::size_t disturbed = disturbed_times(measured);
  if (workloads.empty() && others.empty())
    throw Error(ErrorKind::usage,
                options.maybe("measured").value_or(options.place("TRACE")) +
                    (disturbed ? fmt::format(" holds no job that others left undisturbed, unsplit and split: they "
                                             "disturbed {} of its times. Measure again: ",
                                             disturbed)
                               : " holds no jobs to compare predictions with: ") +
                    "npgpu streams --experiment design measures some, and --measured names their trace");
  Evaluation evaluation = evaluate(workloads, costs, others);
  evaluation.disturbed = disturbed;
  return evaluation;
}

int print_evaluation(const Options& options, const Trace& trace, const MeasuredCosts& costs) {
  const Trace measured = measured_jobs(options, trace);
  const InTurnErrors in_turn = errors_in_turn(measured, costs);
  const auto workloads = workloads_of(measured);
  // A file of nothing but chunks in turn scores no model.
  const bool scores = !in_turn.splits || !workloads.empty();
  const Evaluation evaluation = scores ? evaluation_of(options, measured, workloads, costs, options.on("json"))
                                       : Evaluation{costs.device_name, costs.simulated, {}, {}, {}};
  const auto as_graphs = graph_workloads_of(measured);
  const auto graphs =
      costs.graph && !as_graphs.empty() ? compare_graphs(workloads, as_graphs, costs) : std::vector<GraphComparison>{};
  if (options.on("json")) {
    evaluation_json(std::cout, evaluation, graphs, in_turn);
    return exit_code::done;
  }
  if (scores)
    evaluation_text(std::cout, evaluation, options.on("every-job") ? Detail::full : Detail::brief, terminal_style());
  if (scores && in_turn.splits) std::cout << '\n';
  in_turn_text(std::cout, in_turn, terminal_style());
  if (!graphs.empty()) std::cout << '\n';
  graphs_text(std::cout, graphs, terminal_style());
  if (!as_graphs.empty() && !costs.graph)
    std::cout
        << "\njobs were measured as graphs, too, but the costs have no calls: npgpu calls --append measures them\n";
  return exit_code::done;
}

ModelErrors errors_for(const Options& options, const Trace& trace, const MeasuredCosts& costs) {
  const auto path = options.maybe("measured");
  if (!path) return known_errors();
  const Trace measured = measured_jobs(options, trace);
  const Evaluation e = evaluation_of(options, measured, workloads_of(measured), costs, false);
  return errors_by_length(
      e, fmt::format("among {} measured on {}, {}", counted(e.workloads.size(), "job"), e.device_name, *path));
}

void add_notes(ForecastReport& of) {
  const SplitTime& a = of.advice.advised;
  const auto small = [&](std::uint64_t bytes) { return bytes && bytes / a.chunks < of.costs->min_copy; };
  if (small(of.job.in_bytes) || small(of.job.out_bytes))
    of.notes.push_back(fmt::format("copies below {0} were not measured; each is taken to last as long as one of {0}",
                                   size_text(of.costs->min_copy)));
}

std::uint32_t most_streams(const Options& options) {
  return static_cast<std::uint32_t>(parse_count("max-streams", options.text("max-streams"), 1, max_streams));
}

Order order_of_job(const Options& options) {
  const Order order = parse_name<Order>("order", options.text("order"));
  if (order == Order::independent)
    throw Error(ErrorKind::usage,
                "--order: in the order independent a kernel does not wait for its copy in, and a job's kernel must; "
                "choose breadth-first or depth-first");
  return order;
}

int predict_list(const Options& options, const std::string& path, const MeasuredCosts& costs) {
  for (const char* option :
       {"bytes-in", "kernel-ms", "bytes-out", "blocks", "max-memory", "chrome", "measured", "draw", "code"})
    if (std::string_view(option) == "draw" ? options.on(option) : options.has(option))
      throw Error(ErrorKind::usage, fmt::format("--{}: it is of one job, and --jobs lists several", option));
  SequenceReport of;
  of.costs = &costs;
  const Order order = order_of_job(options);
  // Of equal jobs, one is looked at.
  struct Chosen {
    std::uint32_t chunks = 1;
    Seconds total{0};
    Bound bound{};
  };
  std::map<std::tuple<std::uint64_t, double, std::uint64_t, std::uint64_t, std::uint32_t>, Chosen> chosen;
  for (ListedJob& one : read_job_list(path)) {
    refuse_far_beyond(one.job, costs, "jobs " + path + ", " + one.name + ", bytes_in",
                      "jobs " + path + ", " + one.name + ", bytes_out");
    if (one.job.blocks) describe_kernel(one.job, costs, one.threads ? one.threads : parse_threads(options));
    const auto [known, is_new] =
        chosen.try_emplace({one.job.in_bytes, one.job.kernel.count(), one.job.out_bytes, one.job.blocks, one.threads});
    if (is_new) {
      const Prediction p = choose_streams(one.job, costs.costs, order, candidates_for(one.job, most_streams(options)));
      const auto splits = one_chunk_a_stream(p, order);
      const SplitTime& advised = fewest_streams(splits);
      known->second = {advised.chunks, advised.run.total, p.bound};
    }
    const auto& [chunks, total, bound] = known->second;
    of.plans.push_back({one.name, one.job, chunks, order});
    of.times.push_back(total);
    of.bounds.push_back(bound);
  }
  of.advice = best_order(of.plans, costs.costs);
  if (options.on("json")) sequence_json(std::cout, of);
  else sequence_text(std::cout, of, terminal_style());
  return exit_code::done;
}

// Runs of the partition method are what a trace is asked about where no job is named.
bool names_no_job(const Options& options) {
  return !options.on("evaluate") && std::ranges::none_of(std::array{"bytes-in", "kernel-ms", "bytes-out", "jobs"},
                                                         [&](const char* option) { return options.has(option); });
}
bool asks_of_partitions(const Options& options, const Trace& trace) {
  return !trace.of<Partitions>().empty() && names_no_job(options);
}

int predict_partitions(const Options& options, const Trace& trace) {
  auto studies = partition_studies(trace);
  if (const auto device = options.maybe("device"))
    std::erase_if(studies, [&](const PartitionStudy& s) { return s.device != *device; });
  if (studies.empty())
    throw Error(ErrorKind::usage, options.place("TRACE") +
                                      " holds no size of the partition method in one stream and in "
                                      "more: npgpu partition --append measures some");
  if (options.on("json")) partition_json(std::cout, studies);
  else partition_text(std::cout, studies, terminal_style());
  return exit_code::done;
}

int run_predict(const Options& options) {
  const Trace trace = read_trace(options.place("TRACE"), Guard::child);
  if (const auto messages = staged_messages(trace); !messages.empty() && names_no_job(options)) {
    if (options.on("json")) messages_json(std::cout, messages);
    else messages_text(std::cout, messages, terminal_style());
    return exit_code::done;
  }
  if (asks_of_partitions(options, trace)) return predict_partitions(options, trace);
  MeasuredCosts costs = costs_of_trace(trace, options.place("TRACE"), options.maybe("device"));
  if (options.on("evaluate")) return print_evaluation(options, trace, costs);

  const ModelErrors errors = errors_for(options, trace, costs);
  if (parse_name<StreamPool>("pool", options.text("pool")) == StreamPool::fresh)
    costs.costs.stream_create = costs.create;
  if (const auto path = options.maybe("jobs")) return predict_list(options, *path, costs);

  ForecastReport of;
  of.costs = &costs;
  of.job = read_job(options, costs);
  of.order = order_of_job(options);
  const std::uint32_t most = most_streams(options);
  std::optional<std::uint64_t> max_memory;
  if (const auto text = options.maybe("max-memory")) max_memory = parse_size("max-memory", *text, 2 * line_bytes);
  of.forecast = forecast(of.job, costs, of.order, candidates_for(of.job, most), Parts::some);
  of.advice = advise(of.job, costs, of.order, of.forecast, errors, max_memory, most);
  add_notes(of);

  const SplitTime& a = of.advice.advised;
  const bool draws = options.on("draw") || options.has("chrome");
  const Simulation played{costs.device,
                          of.job,
                          a.order,
                          a.streams,
                          costs.costs,
                          draws ? simulate(of.job, a.chunks, costs.costs, a.order, a.streams) : Timeline{},
                          of.forecast.prediction,
                          a.chunks};
  if (const auto path = options.maybe("chrome"))
    write_file("chrome", *path, options.on("force"), [&](std::ostream& file) { simulation_chrome(file, played); });
  if (const auto code = options.maybe("code")) {
    if (options.on("json") || options.on("draw"))
      throw Error(ErrorKind::usage, "--code prints a program, and nothing else: leave --json and --draw out");
    const auto language = named<Language>(*code);
    if (!language)
      throw Error(ErrorKind::usage,
                  fmt::format("--code: '{}' is none of {}", *code, fmt::join(names_of<Language>, ", ")));
    forecast_code(std::cout, of, *language);
    return exit_code::done;
  }
  if (options.on("json")) {
    forecast_json(std::cout, of);
    return exit_code::done;
  }
  forecast_text(std::cout, of, terminal_style());
  if (options.on("draw")) {
    std::cout << '\n';
    simulation_text(std::cout, played, terminal_style());
  }
  return exit_code::done;
}

}  // namespace

Command predict() {
  return {
      "predict",
      "predict a job's time in n streams, and the best n, from a trace",
      "Predicts how long a job takes in n streams on a device whose costs are in a trace (npgpu characterize, or npgpu "
      "streams --experiment overheads), and which n is best. Advises the fewest streams within 1 % of that, with "
      "chunks, "
      "buffers, memory, and the model's own error. Of a trace with runs of npgpu partition, and without a job, it "
      "prints for each size the best number of streams and those that models choose. Of a trace with staged messages "
      "between ranks it prints for each size the chunk that their stages advise. Needs no device.",
      {"TRACE"},
      {"npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB",
       "npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB --code > overlap.cu",
       "npgpu predict node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 0 --draw",
       "npgpu predict node.h5 --bytes-in 1GiB --kernel-ms 40 --bytes-out 1GiB --max-memory 256MiB",
       "npgpu predict node.h5 --jobs jobs.csv", "npgpu predict partition.h5", "npgpu predict pair-rank0.h5",
       "npgpu predict node.h5 --evaluate --measured design.h5"},
      {{"Job", {"bytes-in", "kernel-ms", "bytes-out", "blocks", Option("threads", "512"), "jobs"}},
       {"Streams",
        {Option("order", "breadth-first", "One of these."), Option("pool", "pooled", "One of these."),
         Option("max-streams", "64"), "max-memory"}},
       {"Evaluation", {"evaluate", Option("measured", {}, "With --evaluate it is TRACE otherwise."), "every-job"}},
       {"Output",
        {Option("device", {}, "Needed where the trace has several."), "code", "draw", "chrome", "force", "json"}}},
      run_predict};
}

}  // namespace npgpu::cli
