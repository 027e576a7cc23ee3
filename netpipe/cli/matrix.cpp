// npgpu matrix: every pair of a node's GPUs, each with the host, and many at once.
#include "netpipe/cli/matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <ranges>
#include <set>

#include "netpipe/cli/check_ending.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// ---- the plan ----

// A copy of so many bytes hides what a launch costs: 512 MiB take 1.4 ms over 18 NVLinks, 128 MiB 2.4 ms over PCIe.
constexpr std::uint64_t peer_size = 512 * MiB, host_size = 128 * MiB, simulated_size = MiB;
// Where there are more GPUs, some pairs of each are measured, so that the time grows with their number and not with its
// square.
constexpr std::size_t max_for_every_pair = 8;

class Planner {
 public:
  Planner(const std::vector<DeviceInfo>& gpus, const MatrixQuestions& questions) : gpus_(gpus), q_(questions) {}

  Plan plan() {
    for (const Executor executor : q_.executors) {
      if (executor == Executor::cpu)
        throw Error(ErrorKind::usage, "--executor cpu: a matrix is of copies by copy-engine or sm-kernel");
      executor_ = executor;
      if (asks(MatrixPart::host)) host();
      for (const Access access : q_.accesses) {
        access_ = access;
        if (asks(MatrixPart::pairs)) pairs();
        if (asks(MatrixPart::both)) both_ways();
        if (asks(MatrixPart::together)) peers_together();
      }
      if (asks(MatrixPart::together) && q_.host_at_once) host_together();
    }
    if (asks(MatrixPart::latency)) latency();
    if (asks(MatrixPart::numa)) numa();
    return std::move(plan_);
  }

 private:
  bool asks(MatrixPart part) const { return std::ranges::find(q_.parts, part) != q_.parts.end(); }
  bool is_first_access() const { return access_ == q_.accesses.front(); }
  const Module& module_of(const DeviceInfo& gpu) const { return default_module(gpu, executor_); }

  // Copies of a trial wait behind a gate, so that the time has no launch in it.
  TransferCase queued(TransferCase c) const {
    c.async = true;
    c.timing = Timing::gated;
    c.executor = executor_;
    return c;
  }
  // Between the host and a GPU, or within one.
  TransferCase on(const DeviceInfo& gpu, Direction direction) const {
    return queued(case_on(std::string(module_of(gpu).name()), gpu.id, direction));
  }
  // Through the host where one does not see the other: once, by copy engines.
  std::optional<TransferCase> between(const DeviceInfo& source, const DeviceInfo& target) const {
    TransferCase c = queued(peer_case(std::string(module_of(source).name()), source.id, target.id, access_));
    const bool sees = access_ != Access::staged && !module_of(source).refuses_case(c);
    if (sees) return c;
    if (!is_first_access() || executor_ != Executor::copy_engine) return std::nullopt;
    c.access = Access::staged;
    c.timing = Timing::event;
    return c;
  }

  std::vector<TransferSize> sizes(const DeviceInfo& gpu, std::uint64_t usual, std::size_t lanes_of_a_gpu) const {
    if (!q_.sizes.empty()) return axes_of(q_.sizes);
    if (gpu.simulated) return {{simulated_size}};
    // A quarter of the memory is enough for all ends of all lanes.
    const std::uint64_t fits = gpu.memory_bytes / (8 * std::max<std::size_t>(lanes_of_a_gpu, 1)) / MiB * MiB;
    return {{std::clamp(fits, MiB, usual)}};
  }
  void add_case(const DeviceInfo& gpu, const TransferCase& c, const std::vector<TransferSize>& axes) {
    add<Transfers>(plan_, module_of(gpu), gpu, steps_of<Transfers>(c, axes));
  }
  std::size_t lanes_of_a_gpu(const TransferCase& c) const {
    const auto all = lanes(c);
    std::size_t most = 0;
    for (const DeviceInfo& gpu : gpus_)
      most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(all, [&](const Lane& lane) {
                        return lane.source == gpu.id || lane.target == gpu.id;
                      })));
    return most;
  }
  void add_lanes(const DeviceInfo& gpu, const TransferCase& c, std::uint64_t usual) {
    add_case(gpu, c, sizes(gpu, usual, lanes_of_a_gpu(c)));
  }

  void host() {
    for (const DeviceInfo& gpu : gpus_) {
      for (const Direction direction : {Direction::h2d, Direction::d2h}) add_lanes(gpu, on(gpu, direction), host_size);
      add_lanes(gpu, on(gpu, Direction::d2d), peer_size);
      TransferCase both = on(gpu, Direction::h2d);
      both.more_lanes = {reversed(lanes(both).front())};
      if (asks(MatrixPart::both)) add_lanes(gpu, both, host_size);
    }
  }

  void pairs() {
    for (const auto& [a, b] : pairs_of(gpus_.size(), q_.every_pair))
      if (const auto c = between(gpus_[a], gpus_[b])) add_lanes(gpus_[a], *c, peer_size);
  }

  // Each pair once.
  void both_ways() {
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (const auto& pair : pairs_of(gpus_.size(), q_.every_pair)) {
      const auto [a, b] = std::minmax(pair.first, pair.second);
      if (!seen.emplace(a, b).second) continue;
      auto c = between(gpus_[a], gpus_[b]);
      if (!c || c->access == Access::staged) continue;
      c->more_lanes = {reversed(lanes(*c).front())};
      add_lanes(gpus_[a], *c, peer_size);
    }
  }

  // One case of several, a lane each.
  static TransferCase at_once(const std::vector<TransferCase>& set) {
    TransferCase c = set.front();
    for (const TransferCase& other : set | std::views::drop(1)) c.more_lanes.push_back(lanes(other).front());
    return c;
  }

  // With two GPUs, each of these would be a pair.
  void peers_together() {
    const std::size_t n = gpus_.size();
    if (n < 3) return;
    std::vector<std::pair<std::size_t, std::size_t>> one_to_all, all_to_one, all, ring;
    for (std::size_t i = 1; i < n; ++i) {
      one_to_all.emplace_back(0, i);
      all_to_one.emplace_back(i, 0);
    }
    for (std::size_t i = 0; i < n; ++i) {
      ring.emplace_back(i, (i + 1) % n);
      for (std::size_t j = 0; j < n; ++j)
        if (i != j) all.emplace_back(i, j);
    }
    add_set("one to all", one_to_all);
    add_set("all to one", all_to_one);
    add_set("ring", ring);
    // Its lanes share what fits behind a gate.
    constexpr std::size_t max_for_all_to_all = 16;
    if (n <= max_for_all_to_all) add_set("all to all", all);
  }
  void add_set(const char* what, const std::vector<std::pair<std::size_t, std::size_t>>& set) {
    std::vector<TransferCase> copies;
    for (const auto& [a, b] : set) {
      const auto lane = between(gpus_[a], gpus_[b]);
      if (!lane || lane->access == Access::staged) {  // copies through the host wait for it, and for each other
        auto why = fmt::format("{}, {}: {} and {} do not see each other's memory", what, name(access_), gpus_[a].id,
                               gpus_[b].id);
        if (std::ranges::find(plan_.left_out, why) == plan_.left_out.end())  // each executor asks
          plan_.left_out.push_back(std::move(why));
        return;
      }
      copies.push_back(*lane);
    }
    add_lanes(gpus_[set.front().first], at_once(copies), peer_size);
  }

  void host_together() {
    if (gpus_.size() < 2) return;
    for (const auto& directions : {std::vector{Direction::h2d}, {Direction::d2h}, {Direction::h2d, Direction::d2h}}) {
      std::vector<TransferCase> set;
      for (const DeviceInfo& gpu : gpus_)
        for (const Direction direction : directions) set.push_back(on(gpu, direction));
      add_lanes(gpus_.front(), at_once(set), host_size);
    }
  }

  // The latency of loads, atomic additions and flags: on the host's memory, the GPU's own and every other one's, as far
  // as the links have them.
  void latency() {
    executor_ = Executor::sm_kernel;
    const auto add_words = [&](const DeviceInfo& gpu, TransferCase c, Pattern pattern) {
      c.pattern = pattern;
      if (!module_of(gpu).refuses_case(c)) add_case(gpu, c, {{single_word_bytes}});
    };
    for (const Pattern pattern : {Pattern::chase, Pattern::atomic, Pattern::flag}) {
      for (const DeviceInfo& gpu : gpus_)
        for (const Direction direction : {Direction::h2d, Direction::d2d}) add_words(gpu, on(gpu, direction), pattern);
      for (const auto& [a, b] : pairs_of(gpus_.size(), q_.every_pair)) {
        const bool writes = pattern == Pattern::flag;
        if (writes && a > b) continue;  // there and back is one figure
        const DeviceInfo &one = gpus_[writes ? a : b], &other = gpus_[writes ? b : a];
        add_words(one,
                  queued(peer_case(std::string(module_of(one).name()), one.id, other.id,
                                   writes ? Access::write : Access::read)),
                  pattern);
      }
    }
  }

  // A GPU's nodes one right after the other, so that what changes with time is the same for all.
  void numa() {
    executor_ = Executor::copy_engine;
    bool has_several = false;
    std::set<std::string> refused;  // the same for all GPUs
    for (const DeviceInfo& gpu : gpus_) {
      if (gpu.host_nodes.size() < 2) continue;
      has_several = true;
      for (const Direction direction : {Direction::h2d, Direction::d2h})
        for (const int node : gpu.host_nodes) {
          TransferCase c = on(gpu, direction);
          c.host_node = node;
          if (const auto why = module_of(gpu).refuses_case(c)) refused.insert("numa: " + *why);
          else add_lanes(gpu, c, host_size);
        }
    }
    plan_.left_out.insert(plan_.left_out.end(), refused.begin(), refused.end());
    if (has_several) return;
    const bool is_known = std::ranges::none_of(gpus_, [](const DeviceInfo& gpu) { return gpu.host_nodes.empty(); });
    const std::string why = is_known ? "numa: the host has one NUMA node, and no other that could be slower"
                                     : "numa: it is not known which NUMA nodes the host has";
    if (q_.parts.size() == 1) throw Error(ErrorKind::nothing, why);
    plan_.left_out.push_back(why);
  }

  const std::vector<DeviceInfo>& gpus_;
  const MatrixQuestions& q_;
  Plan plan_;
  Executor executor_ = Executor::copy_engine;
  Access access_ = Access::write;
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t gpus, bool every_pair) {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  const bool sampled = gpus > max_for_every_pair && !every_pair;
  for (std::size_t i = 0; i < gpus; ++i) {
    std::set<std::size_t> steps;
    if (sampled) steps = {1, gpus / 4, gpus / 2};
    else
      for (std::size_t step = 1; step < gpus; ++step) steps.insert(step);
    for (const std::size_t step : steps) all.emplace_back(i, (i + step) % gpus);
  }
  std::ranges::sort(all);
  return all;
}

std::vector<DeviceInfo> node_gpus(const Options& options, const std::string& need) {
  const auto given = options.maybe("device");
  const std::vector<DeviceInfo> all = given ? devices_named(*given) : devices::gpus();
  if (all.empty()) throw Error(ErrorKind::nothing, need + ": " + devices::why_no_gpu());
  for (const DeviceInfo& one : all)
    if (one.id == "host") throw Error(ErrorKind::usage, "--device host: " + need + ", and the host is none");
  return all;
}

Plan matrix_plan(const std::vector<DeviceInfo>& gpus, const MatrixQuestions& questions) {
  return Planner(gpus, questions).plan();
}

// ---- the command ----

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
  matrix_findings_text(std::cout, verdict, terminal_style());
  if (verdict.verdict != CheckVerdict::broken) matrix_text(std::cout, node, terminal_style());
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
  if (options.json) {
    report_json(std::cout, results);
    for (const NodeFinding& finding : judged.findings)
      if (is_bad(finding))
        std::cerr << "npgpu: " << (finding.health == Health::fail ? name(finding.if_failed) : name(finding.health))
                  << ": " << printable(what_is_wrong(finding)) << '\n';
  } else if (!options.quiet && !campaign.stopped) {
    print_matrix(node, judged);
  }
  return end_with_verdict(campaign, options, trace, judged.verdict,
                          fmt::format(", {}{}", counted(node.devices.size(), "GPU"),
                                      options.quiet ? printable(most_serious(judged, campaign)) : ""));
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
  return fmt::format("{} GPU{}: {}; {}, about {}", plan.devices().size(), plan.devices().size() == 1 ? "" : "s",
                     fmt::join(parts, ", "), counted(options.rounds(), "round"), clock_text(guess(plan, options)));
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
  return measure(options, measure_options(options), announced_plan, end_matrix, settle);
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
       "npgpu matrix --device sim:node8-sick", "npgpu matrix --only numa"},
      with_measure_options(
          {{"What is measured (lists: a,b,c)",
            {Option("device", {}, "A list, or sim:NODE. Default: all GPUs."),
             Option("only", "pairs,both,host,latency,together,numa"), Option("access", "write,read"),
             Option("executor", "copy-engine,sm-kernel"),
             Option("sizes", {}, "Default: 512 MiB between GPUs, 128 MiB with the host, 1 MiB with simulated ones."),
             "every-pair"}}}),
      run_matrix};
}

const Joined<ListedCommand> listed_matrix({Asks::healthy, 2, matrix});

}  // namespace npgpu::cli
