// npgpu collectives: what GPUs do together, by size, and what the links between them allow.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string_view>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/check_ending.hpp"
#include "netpipe/cli/check_plan.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/matrix.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// What the links allow, by copies of kernels, which is what NCCL's are.
Plan copies_at_once(const std::vector<DeviceInfo>& gpus) {
  constexpr std::uint64_t simulated_copy = 16 * MiB;  // so large that latencies are small
  return matrix_plan(gpus,
                     {.parts = {gpus.size() == 2 ? MatrixPart::both : MatrixPart::together},
                      .accesses = {Access::write},
                      .executors = {Executor::sm_kernel},
                      .sizes = gpus.front().simulated ? std::vector{simulated_copy} : std::vector<std::uint64_t>{},
                      .host_at_once = false});
}

// The case over these sizes, or the next larger ones that it has.
std::vector<Step<Collectives>> fitting_steps(const CollectiveCase& c, const std::vector<std::uint64_t>& sizes) {
  std::vector<CollectiveSize> all;
  for (const std::uint64_t bytes : sizes)
    all.push_back({fitting_size(c.operation, c.type, devices_of(c).size(), bytes)});
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return steps_of<Collectives>(c, all);
}

// These, and copies at once; empty where none of them can be measured.
Plan collectives_plan(const std::vector<DeviceInfo>& gpus, const std::vector<Step<Collectives>>& steps) {
  const std::string& first = gpus.front().id;
  const auto some = reaching(backends<Collectives>(), devices::kind_of(first));
  if (some.empty())
    throw Error(ErrorKind::usage,
                "--device: '" + first + "' does nothing together with others: name GPUs, or sim:NODE");
  Plan collectives;
  add<Collectives>(collectives, *some.front(), gpus.front(), steps);
  for (auto& batch : collectives.of<Collectives>()) batch.more_devices.assign(gpus.begin() + 1, gpus.end());
  if (collectives.of<Collectives>().empty()) return collectives;
  Plan plan = copies_at_once(gpus);
  plan.of<Collectives>() = std::move(collectives.of<Collectives>());
  std::ranges::move(collectives.left_out, std::back_inserter(plan.left_out));
  return plan;
}

}  // namespace

Plan all_reduce_plan(const std::vector<DeviceInfo>& gpus) {
  std::vector<std::string> ids;
  for (const DeviceInfo& gpu : gpus) ids.push_back(gpu.id);
  const CollectiveCase large = collective_on(ids, CollectiveOperation::all_reduce);
  CollectiveCase small = large;
  small.timing = Timing::gated;
  constexpr std::uint64_t word = 8;
  auto steps = fitting_steps(small, {word});
  std::ranges::move(fitting_steps(large, {least_judged_bytes(large.operation)}), std::back_inserter(steps));
  return collectives_plan(gpus, steps);
}

}  // namespace npgpu::cli

namespace npgpu {

namespace cli {

enum class ResultPlace { out, in };

}  // namespace cli

template <> inline constexpr std::array<std::string_view, 2> names_of<cli::ResultPlace>{"out", "in"};

}  // namespace npgpu

namespace npgpu::cli {

namespace {

// Powers of four from --start on, and --end; and each minus and plus --perturbation.
std::vector<std::uint64_t> collective_sizes(const Options& options) {
  if (const auto sizes = options.maybe("sizes")) return parse_sizes("sizes", *sizes);
  const std::uint64_t apart = parse_size("perturbation", options.text("perturbation"), 0);
  const std::uint64_t start = parse_size("start", options.text("start"), 1);
  const std::uint64_t end = parse_size("end", options.text("end"), 1);
  if (start > end) throw Error(ErrorKind::usage, "--start: it is larger than --end");
  std::vector<std::uint64_t> all;
  for (std::uint64_t bytes = start; bytes < end; bytes *= 4) {
    all.push_back(bytes);
    if (bytes > end / 4) break;  // the next one may be more than 64 bits hold
  }
  all.push_back(end);
  if (apart == 0) return all;
  std::vector<std::uint64_t> perturbed;
  for (const std::uint64_t bytes : all) {
    if (bytes > apart) perturbed.push_back(bytes - apart);
    perturbed.push_back(bytes);
    if (bytes <= UINT64_MAX - apart) perturbed.push_back(bytes + apart);
  }
  return perturbed;
}

std::vector<CollectiveCase> collective_cases(const Options& options, const std::vector<std::string>& ids) {
  const auto types = parse_names<DataType>("type", options.text("type"));
  for (const DataType type : types)
    if (element_bytes(type) == 0)
      throw Error(ErrorKind::usage, fmt::format("--type {}: collectives are of fp32, bf16, fp16 and int8", name(type)));
  std::vector<CollectiveCase> all;
  for (const auto operation : parse_names<CollectiveOperation>("collective", options.text("collective")))
    for (const DataType type : types) all.push_back(collective_on(ids, operation, type));
  // Each of the values of an option, for each case so far.
  const auto times = [&]<class E>(const char* option, E, auto&& set) {
    std::vector<CollectiveCase> more;
    for (const CollectiveCase& c : all)
      for (const E one : parse_names<E>(option, options.text(option))) set(more.emplace_back(c), one);
    all = std::move(more);
  };
  times("place", ResultPlace::out, [](CollectiveCase& c, ResultPlace one) { c.in_place = one == ResultPlace::in; });
  times("timing", Timing::host, [](CollectiveCase& c, Timing one) { c.timing = one; });
  times("launch", CollectiveLaunch::eager, [](CollectiveCase& c, CollectiveLaunch one) { c.launch = one; });
  return all;
}

Plan plan_of_collectives(const Options& options) {
  const std::vector<DeviceInfo> gpus = node_gpus(options, "collectives need GPUs");
  if (gpus.size() < 2)
    throw Error(ErrorKind::nothing, fmt::format("collectives need two GPUs, and there is only {}", gpus.front().id));
  std::vector<std::string> ids;
  for (const DeviceInfo& gpu : gpus) ids.push_back(gpu.id);
  const auto sizes = collective_sizes(options);
  std::vector<Step<Collectives>> steps;
  for (const CollectiveCase& c : collective_cases(options, ids))
    std::ranges::move(fitting_steps(c, sizes), std::back_inserter(steps));
  Plan plan = collectives_plan(gpus, steps);
  if (plan.of<Collectives>().empty())
    throw Error(ErrorKind::nothing, plan.left_out.empty() ? "there is nothing to measure" : plan.left_out.front());
  if (are_peers_mixed(gpus)) add_peer_copies(plan, gpus);
  return plan;
}

// ": all-reduce, fp32 is slow: ..."
std::string first_reason(const std::vector<CollectiveStudy>& all) {
  for (const CollectiveStudy& study : all) {
    if (study.verdict == CheckVerdict::slow && !study.slow_links.empty()) return ": " + study.slow_links.front().text;
    for (const CollectiveFigure& f : study.figures)
      if (f.verdict == study.verdict && !f.why.empty())
        return fmt::format(": {} {}: {}", name(f.question.operation), name(f.question.type), f.why);
  }
  return "";
}

int end_collectives(const CampaignResult& campaign, const MeasureOptions& options) {
  const Trace trace = read_trace(options.output);
  const TraceResults results(trace);
  const CheckVerdict verdict =
      results.collectives.empty() ? CheckVerdict::failed_to_run : results.collectives.front().verdict;
  if (options.json) report_json(std::cout, results);
  else if (!options.quiet && !campaign.stopped) collectives_text(std::cout, results, terminal_style());
  const bool is_well = verdict == CheckVerdict::ok && campaign.failures.empty();
  const int code =
      end_with_verdict(campaign, options, trace, verdict, is_well ? "" : printable(first_reason(results.collectives)));
  // Small sizes have no limit to be compared with: to have measured them is all that was asked.
  return verdict == CheckVerdict::not_judged ? exit_code_of(campaign) : code;
}

int run_collectives(const Options& options) {
  // Each copy at once has a stream of its own; with fewer hardware queues than streams, copies would wait for each
  // other.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  return measure(options, measure_options(options), plan_of_collectives, end_collectives, settle);
}

}  // namespace

Command collectives() {
  return {
      "collectives",
      "what GPUs do together: all-reduce and its like, and what the links allow",
      "Measures operations that all GPUs of a node do together, by NCCL, which is found at run time: all-reduce, "
      "reduce-scatter, all-gather, all-to-all and others, by size. Every result is compared. The table has the time, "
      "the algorithm bandwidth and the bus bandwidth as nccl-tests defines them, and the share of what the links "
      "between the GPUs allow, which copies at once by kernels measure in the same run. A link that is slower than the "
      "others is named. Exit codes are those of npgpu check: ok 0; slow 3, a link is slow or a large size reaches less "
      "than half of the limit; broken 6, results are wrong; failed to run 1; undecided 8; 77, there are no two GPUs, "
      "or NCCL is not there.",
      {},
      {"npgpu collectives", "npgpu collectives --collective all-reduce --type bf16,fp32 --output node.h5",
       "npgpu collectives --timing gated --end 1MiB", "npgpu collectives --device sim:node8"},
      with_measure_options({{"What is measured (lists: a,b,c)",
                             {Option("device", {}, "A list, or sim:NODE. Default: all GPUs."),
                              Option("collective", "all-reduce,reduce-scatter,all-gather,all-to-all,send-receive"),
                              Option("type", "fp32", "Collectives have fp32, bf16, fp16 and int8."),
                              Option("place", "out"), Option("timing", "host"), Option("launch", "eager")}},
                            {"Sizes, of the larger buffer of a GPU",
                             {Option("start", "8"), Option("end", "1GiB", "Powers of four from --start on, and this."),
                              Option("perturbation", "0", "Sizes with whole elements alone: 4, 16."), "sizes"}}}),
      run_collectives};
}

const Joined<ListedCommand> listed_collectives({Asks::healthy, 3, collectives});

}  // namespace npgpu::cli
