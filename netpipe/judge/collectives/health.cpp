#include "netpipe/judge/collectives/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/health/findings.hpp"
#include "netpipe/judge/judge.hpp"
#include "netpipe/judge/matrix/rulings.hpp"

namespace npgpu::model {

std::vector<SlowLink> slow_links_of(const std::vector<MatrixCell>& ring, const Links& links) {
  std::map<std::string, std::vector<double>> alike;  // rates by kind of link
  for (const MatrixCell& cell : ring)
    if (is_figure(cell.value.value)) alike[links.kind(cell.source, cell.target)].push_back(cell.value.value);
  struct Slow {
    const MatrixCell* cell;
    double share;
    std::string by;
  };
  std::map<std::string, Slow> from;  // by the GPU that writes
  std::set<std::string> to;
  for (const MatrixCell& cell : ring) {
    const RingLimit limit = ring_limit(cell, alike[links.kind(cell.source, cell.target)], links);
    if (rule(cell.value, Allowed::at_least, limit.per_s(), cell.by_visit) != Ruling::slow) continue;
    from.emplace(cell.source, Slow{&cell, cell.value.value / limit.reached, limit.by});
    to.insert(cell.target);
  }
  std::vector<SlowLink> all;
  const auto take_row = [&](const std::string& first) {
    std::vector<std::string> row{first};
    Slow slowest{nullptr, not_measured, {}};
    double least = not_measured, most = not_measured;  // bytes per second
    for (auto next = from.find(first); next != from.end(); next = from.find(row.back())) {
      if (!(next->second.share >= slowest.share)) slowest = next->second;
      least = std::fmin(least, next->second.cell->value.value);
      most = std::fmax(most, next->second.cell->value.value);
      row.push_back(next->second.cell->target);
      from.erase(next);
    }
    SlowLink& link = all.emplace_back();
    link.share = slowest.share;
    const std::size_t copies = row.size() - 1;
    const bool are_all = copies == ring.size();
    if (are_all) row.pop_back();  // the first one again
    const std::string what = are_all       ? "all copies of the ring"
                             : copies == 1 ? fmt::format("copies from {} to {}", row[0], row[1])
                             : copies == 2
                                 ? fmt::format("copies to and from {}", row[1])
                                 : fmt::format("{} copies in a row, from {} to {},", copies, row[0], row.back());
    const bool are_alike = most <= (1 + outlier_share) * least;
    link.text = fmt::format("{} run at {:.4g}{} GB/s, {}{:.0f} % of {}{}", what, least * 1e-9,
                            are_alike ? "" : fmt::format(" to {:.4g}", most * 1e-9), are_alike ? "" : "the slowest at ",
                            100 * slowest.share, slowest.by,
                            copies > 2 && !are_all ? "; npgpu matrix shows which of these GPUs it is" : "");
    link.devices = copies == 2 && !are_all ? std::vector{row[1]} : row;
  };
  while (!from.empty()) {
    auto first = std::ranges::find_if(from, [&](const auto& one) { return !to.contains(one.first); });
    if (first == from.end()) first = from.begin();  // all of the ring
    take_row(std::string(first->first));
  }
  sort_stably(all, {}, &SlowLink::share);
  return all;
}

std::vector<SlowLink> blind_pairs(const std::vector<NodeFinding>& findings, const std::vector<std::string>& gpus) {
  std::vector<SlowLink> all;
  for (const NodeFinding& one : findings) {
    const bool is_of_these =
        std::ranges::any_of(one.devices, [&](const auto& gpu) { return std::ranges::count(gpus, gpu) > 0; });
    if (one.metric == "peer_access" && one.health == Health::fail && is_of_these)
      all.push_back({one.devices, one.value / one.limit, one.text});
  }
  return all;
}

namespace {

// "all_reduce"
std::string metric_of(const CollectiveFigure& f) {
  std::string metric(name(f.question.operation));
  std::ranges::replace(metric, '-', '_');
  return metric;
}

class CollectiveJudge {
 public:
  explicit CollectiveJudge(const CollectiveStudy& study) : study_(study) {}

  std::vector<HealthFinding> judge(const std::vector<NodeFinding>& between_gpus) {
    for (const CollectiveFigure& f : study_.figures) {
      if (f.points.empty() || f.verdict == CheckVerdict::broken || f.verdict == CheckVerdict::failed_to_run) {
        failed(f);
        continue;
      }
      if (f.points.back().axes.bytes >= least_judged_bytes(f.question.operation)) rate(f);
      const CollectiveResult& small = f.points.front();
      const bool is_on_device = !is_host_timed(f.question);
      if (f.question.operation == CollectiveOperation::all_reduce && is_on_device &&
          small.axes.bytes <= most_small_bytes)
        time(f, small);
    }
    const auto is_said = [&](const SlowLink& link) {
      return std::ranges::any_of(between_gpus, [&](const NodeFinding& one) {
        return one.health == Health::fail && (one.metric == "peer_rate" || one.text == link.text);
      });
    };
    for (const SlowLink& link : study_.slow_links)
      if (!is_said(link)) slow(link);
    return std::move(all_);
  }

 private:
  HealthFinding& add(std::string metric, Health health, std::string text) {
    return all_.emplace_back(finding_of("", std::move(metric), health, std::move(text)));
  }
  std::string named(const CollectiveFigure& f, const CollectiveResult& r) const {
    return fmt::format("{} of {} on {} GPUs", npgpu::name(f.question.operation), size_text(r.axes.bytes),
                       study_.gpus.size());
  }

  void failed(const CollectiveFigure& f) {
    HealthFinding& finding = add("collective_results", Health::fail,
                                 fmt::format("{} on {} GPUs: {}", npgpu::name(f.question.operation), study_.gpus.size(),
                                             f.why.empty() ? f.error : f.why));
    finding.if_failed = f.verdict == CheckVerdict::broken ? CheckVerdict::broken : CheckVerdict::failed_to_run;
    finding.of_case = title(f.question);
    for (const CollectiveResult& r : f.points)
      if (r.wrong_lanes.size() == 1) finding.device = study_.gpus.at(r.wrong_lanes.front());
    finding.explanations.push_back(
        finding.if_failed == CheckVerdict::broken
            ? Explanation{"corrupt", "bytes changed on a GPU or between GPUs", finding.text,
                          "drain the node; npgpu matrix compares the copies between each pair"}
            : Explanation{"errors", "NCCL or the driver refused or failed", finding.text,
                          "look at the message, at NCCL_DEBUG=INFO, and at dmesg"});
  }

  void held(const CollectiveFigure& f, const CollectiveResult& r, std::string metric, const Estimate& is,
            const char* unit, Allowed allowed, double limit, std::string basis) {
    const Ruling ruling = rule(is, allowed, limit);
    const std::string text =
        fmt::format("{}: {}, {} {}", named(f, r), figure_text(is.value, unit),
                    allowed == Allowed::at_least ? "at least" : "at most", figure_text(limit, unit));
    Health health = Health::pass;
    if (ruling == Ruling::no_limit) health = Health::unjudged;
    else if (ruling != Ruling::ok && (r.causes & ~own_causes)) health = Health::unjudged;
    else if (ruling == Ruling::slow) health = Health::fail;
    else if (ruling == Ruling::undecided) health = Health::undecided;
    HealthFinding& finding = add(std::move(metric), health, text);
    if (ruling == Ruling::no_limit)
      finding.text = fmt::format("{}: {}; not judged: {}", named(f, r), figure_text(is.value, unit), basis);
    else if (health == Health::unjudged) finding.text += "; not judged: " + r.disturbed;
    with_value(finding, is, limit, unit).basis = std::move(basis);
    finding.of_case = title(f.question);
    finding.of_point = text_of(r.axes);
    if (health == Health::pass || health == Health::unjudged) return;
    if (!f.cause.empty())
      finding.explanations.push_back({"collective_path", f.cause, study_.library,
                                      "look at nvidia-smi topo -m and at NCCL's settings (NCCL_P2P_*, NCCL_MIN_CTAS)"});
    else
      finding.explanations.push_back({"collective", "NCCL reaches less than the links between the GPUs carry",
                                      fmt::format("{}; {}", f.limit_source, study_.library),
                                      "look at NCCL's settings in the environment and at NCCL_DEBUG=INFO"});
  }

  void rate(const CollectiveFigure& f) {
    const CollectiveResult& r = f.points.back();
    const double limit = least_collective_share * f.limit;
    held(f, r, metric_of(f) + "_rate", r.bus_rate, "B/s", Allowed::at_least, limit,
         f.limit > 0 ? fmt::format("{:.3g} % of {}, {}", 100 * least_collective_share, figure_text(f.limit, "B/s"),
                                   f.limit_source)
                     : f.limit_source);
  }
  void time(const CollectiveFigure& f, const CollectiveResult& r) {
    const auto steps = 2 * (study_.gpus.size() - 1);
    held(f, r, metric_of(f) + "_time", r.time_us, "us", Allowed::at_most,
         most_start_us + static_cast<double>(steps) * most_step_us,
         fmt::format("{:g} us, and {:g} us for each of a ring's {} steps", most_start_us, most_step_us, steps));
  }

  void slow(const SlowLink& link) {
    HealthFinding& finding = add("ring_rate", Health::fail, link.text);
    if (link.devices.size() == 1) finding.device = link.devices.front();
    finding.explanations.push_back({"slow_link", "a link between the GPUs is slow", link.text,
                                    "npgpu matrix names the link and its cause; look at nvidia-smi nvlink -s and -e"});
  }

  const CollectiveStudy& study_;
  std::vector<HealthFinding> all_;
};

}  // namespace

std::vector<HealthFinding> findings_of_collectives(const Trace& trace, const std::vector<NodeFinding>& between_gpus) {
  std::vector<HealthFinding> all;
  if (trace.of<Collectives>().empty()) return all;
  for (const CollectiveStudy& study : collective_studies(trace, node_matrix(trace)))
    std::ranges::move(CollectiveJudge(study).judge(between_gpus), std::back_inserter(all));
  return all;
}

}  // namespace npgpu::model
