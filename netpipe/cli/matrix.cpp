// npgpu matrix: every pair of a node's GPUs, each with the host, and many at once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "netpipe/cli/check_ending.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/matrix_plan.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

Plan asked_plan(const Options& options) {
  MatrixQuestions q;
  q.parts = parse_names<MatrixPart>("only", options.text("only"));
  q.accesses = parse_names<Access>("access", options.text("access"));
  q.executors = parse_names<Executor>("executor", options.text("executor"));
  if (const auto sizes = options.maybe("sizes")) q.sizes = parse_sizes("sizes", *sizes);
  q.every_pair = options.on("every-pair");
  return matrix_plan(node_gpus(options, "a matrix needs GPUs"), q);
}

// Where copies deliver wrong bytes, their rates say nothing.
void print_matrix(const NodeMatrix& node, const MatrixVerdict& verdict) {
  const bool simulated = std::ranges::any_of(node.devices, &NodeMatrix::Device::simulated);
  if (verdict.verdict == CheckVerdict::broken)
    std::cout << fmt::format("{}matrix of {} GPUs: copies are wrong; npgpu report shows the tables\n",
                             simulated ? "SIMULATED " : "", node.devices.size());
  else matrix_text(std::cout, node, terminal_style());
  matrix_findings_text(std::cout, verdict, terminal_style());
}

bool is_bad(const NodeFinding& finding) { return finding.health != Health::pass && finding.health != Health::skip; }

std::string what_is_wrong(const NodeFinding& finding) {
  std::string text = finding.text;
  if (finding.explanations.empty()) return text;
  const Explanation& first = finding.explanations.front();
  text += ": " + first.what;
  return first.remedy.empty() ? text : text + "; " + first.remedy;
}

// ": copies between cuda:0 and cuda:1 deliver zeros ...: an IOMMU or ACS ...; boot with ... (and 2 more)"
std::string most_serious(const MatrixVerdict& node, const CampaignResult& campaign) {
  const auto all = std::ranges::count_if(node.findings, is_bad);
  if (all == 0) return campaign.failures.empty() ? "" : ": " + campaign.failures.front();
  // The most serious comes first.
  return ": " + what_is_wrong(node.findings.front()) + (all > 1 ? fmt::format(" (and {} more)", all - 1) : "");
}

int end_matrix(const CampaignResult& campaign, const MeasureOptions& options) {
  const Trace trace = read_trace(options.output);
  const TraceResults results(trace);
  const NodeMatrix& node = results.matrix;
  const MatrixVerdict& judged = results.verdict;
  CheckVerdict verdict = judged.verdict;
  if (verdict == CheckVerdict::ok && !campaign.failures.empty()) verdict = CheckVerdict::failed_to_run;
  const int code = campaign.stopped ? exit_code_of(campaign) : exit_code_of_verdict(verdict);
  if (options.json) {
    report_json(std::cout, results);
    for (const NodeFinding& finding : judged.findings)
      if (is_bad(finding))
        std::cerr << "npgpu: " << (finding.health == Health::fail ? name(finding.if_failed) : name(finding.health))
                  << ": " << printable(what_is_wrong(finding)) << '\n';
  } else {
    if (!options.quiet && !campaign.stopped) print_matrix(node, judged);
    std::cout << fmt::format(
        "{}: {}, {} GPU{}{}; {} in {}{}; trace: {}\n", printable(trace.root.hostname),
        campaign.stopped ? "stopped" : name(verdict), node.devices.size(), node.devices.size() == 1 ? "" : "s",
        options.quiet ? printable(most_serious(judged, campaign)) : "", counted(campaign.measured, "point"),
        clock_text(campaign.wall), rest_of(campaign), options.output);
  }
  if (campaign.stopped)
    std::cerr << "npgpu: stopped by a signal, trace saved; continue with: " << resuming(options.output) << '\n';
  return code;
}

// "56 copies between GPUs, 28 of both ways at once, ..."
std::string summary_of(const Plan& plan, const MeasureOptions& options) {
  std::size_t pairs = 0, both = 0, host = 0, latencies = 0, many = 0, numa = 0;
  for (const Batch<Transfers>& batch : plan.of<Transfers>())
    for (const TransferCase& c : batch.cases()) {
      if (is_of_words(c.pattern)) ++latencies;
      else if (c.host_node >= 0) ++numa;
      else if (c.more_lanes.size() > 1) ++many;
      else if (!c.more_lanes.empty()) ++both;
      else if (c.direction == Direction::peer) ++pairs;
      else ++host;
    }
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(pairs, "copies between GPUs");
  add(host, "with the host or within a GPU");
  add(both, "both ways at once");
  add(many, "of many GPUs at once");
  add(latencies, "latencies");
  add(numa, "with NUMA nodes of the host");
  return fmt::format("{} GPU{}: {}; {} rounds, about {}", plan.devices().size(), plan.devices().size() == 1 ? "" : "s",
                     fmt::join(parts, ", "), options.rounds(), clock_text(guess(plan, options)));
}

Plan announced_plan(const Options& options) {
  const Plan plan = asked_plan(options);
  const MeasureOptions how = measure_options(options);
  if (how.progress == ProgressForm::cases && !how.dry_run && plan.points() > 0)
    std::cerr << summary_of(plan, how) << '\n';
  return plan;
}

int run_matrix(const Options& options) {
  // Each lane has a stream of its own; with fewer hardware queues than streams, lanes would wait for each other.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  return measure(options, measure_options(options), announced_plan, end_matrix);
}

}  // namespace

Command matrix() {
  return {
      "matrix",
      "every pair of GPUs, each with the host, and many copies at once",
      "Measures copies between all GPUs of the node and between each and the host: writes and reads, by copy engines "
      "and by kernels, one way and both ways at once, the latency of loads, atomic additions and flags, and many "
      "copies at once. On a host with several NUMA nodes also copies between each of them and each GPU. Prints tables "
      "with a row for each source and a column for each target, and a verdict: which GPU, pair, bridge or NUMA node is "
      "wrong, the likely cause first, and what would fix it. Verdicts and exit codes are those of npgpu check: ok 0; "
      "slow 3; broken 6, copies deliver wrong bytes; failed to run 1, something has no figure; undecided 8, an "
      "interval holds its limit; not judged 4, others used the GPUs; 77, there is no GPU.",
      {},
      {"npgpu matrix", "npgpu matrix --only pairs,latency --executor copy-engine --output node.h5",
       "npgpu matrix --device sim:node8-sick", "npgpu matrix --only numa", "npgpu matrix --only processes"},
      with_measure_options(
          {{"What is measured (lists: a,b,c)",
            {Option("device", {}, "A list, or sim:NODE. Default: all GPUs."),
             Option("only", "pairs,both,host,latency,together,numa"), Option("access", "write,read"),
             Option("executor", "copy-engine,sm-kernel"),
             Option("sizes", {},
                    "Default: 512 MiB between GPUs, 128 MiB with the host, 64 MiB of processes, of simulated ones 1 "
                    "MiB."),
             "every-pair"}}}),
      run_matrix};
}

const Joined<ListedCommand> listed_matrix({4, matrix});

}  // namespace npgpu::cli
