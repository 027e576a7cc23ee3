#include "netpipe/judge/matrix/rulings.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/health/findings.hpp"
#include "netpipe/judge/health/record.hpp"
#include "netpipe/judge/judge.hpp"
#include "netpipe/judge/matrix/findings.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu::model {

namespace {

std::string model_of(const std::vector<NodeMatrix::Device>& devices, const std::string& id) {
  const auto found = std::ranges::find(devices, id, &NodeMatrix::Device::id);
  return found == devices.end() ? std::string() : found->name;
}

// What can be compared with each other: copies from the host, to it, and between GPUs on one kind of link; of the same
// models. Empty: nothing.
std::string kind_of_cell(const MatrixCell& cell, const std::vector<NodeMatrix::Device>& devices, const Links& links) {
  if (cell.access == Access::staged || cell.source == cell.target) return {};
  const auto end = [&](const std::string& id) { return '|' + model_of(devices, id) + ' ' + links.widest_link(id); };
  const std::string ends = end(cell.source) + end(cell.target);
  if (cell.source == "host" || cell.target == "host") return (cell.source == "host" ? "from" : "to") + ends;
  return links.kind(cell.source, cell.target) + ends;
}

// Rates of one kind in one matrix.
struct OfKind {
  std::vector<double> rates;
  std::set<std::pair<std::string, std::string>> pairs;
};

void compare_with_kind(CellRuling& ruling, const OfKind& kind) {
  const MatrixCell& cell = *ruling.cell;
  if (kind.rates.size() < 2) return;
  constexpr std::size_t enough = 3;
  const bool with_host = cell.source == "host" || cell.target == "host";
  const bool several = kind.pairs.size() >= enough;
  ruling.reached = several ? upper_quartile(kind.rates) : std::ranges::max(kind.rates);
  ruling.share = 1 - outlier_share;
  ruling.by = several && with_host    ? "other GPUs reach"
              : several               ? "pairs on the same kind of link reach"
              : with_host             ? "the other GPU reaches"
              : kind.pairs.size() > 1 ? "the other pair on such a link reaches"
                                      : "the other direction reaches";
}

void compare_with_link(CellRuling& ruling, const Links& links) {
  const MatrixCell& cell = *ruling.cell;
  const Limit link = links.nvlink_limit(cell.source, cell.target);
  const double share =
      ruling.matrix->executor == Executor::sm_kernel ? least_share_of_nvlinks_by_kernel : least_share_of_nvlinks;
  if (!(link.per_s > 0) || cell.value.value > most_share_of_a_true_limit * link.per_s) return;
  if (share * link.per_s <= ruling.share * ruling.reached) return;
  ruling.reached = link.per_s;
  ruling.share = share;
  ruling.by = link.source + " carry";
}

CheckVerdict verdict_of_rate(const MatrixCell& cell, const CellVerdict& of) {
  switch (rule(cell.value, Allowed::at_least, of.limit, cell.by_visit)) {
    case Ruling::ok: return CheckVerdict::ok;
    case Ruling::slow: return of.disturbed.empty() ? CheckVerdict::slow : CheckVerdict::not_judged;
    case Ruling::undecided: return of.disturbed.empty() ? CheckVerdict::undecided : CheckVerdict::not_judged;
    case Ruling::no_limit:
    case Ruling::no_figure: break;
  }
  return CheckVerdict::not_judged;
}

}  // namespace

double upper_quartile(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.75);
}

std::vector<CellRuling> rule_on(const NodeMatrix& node, const Links& links,
                                std::vector<std::vector<CellVerdict>>& verdicts) {
  std::vector<CellRuling> all;
  for (std::size_t i = 0; i < node.matrices.size(); ++i) {
    const RateMatrix& matrix = node.matrices[i];
    if (matrix.is_latency()) continue;
    std::map<std::string, OfKind> kinds;
    std::map<std::string, std::uint64_t> largest;
    for (const MatrixCell& cell : matrix.cells) {
      std::uint64_t& bytes = largest[kind_of_cell(cell, node.devices, links)];
      bytes = std::max(bytes, cell.bytes);
    }
    // Where large copies of a GPU are missing, as its process ended before them, the rate of small ones says nothing.
    const auto is_large = [&](const MatrixCell& cell, const std::string& kind) {
      constexpr std::uint64_t least_share = 8;
      return cell.bytes >= largest[kind] / least_share;
    };
    for (const MatrixCell& cell : matrix.cells) {
      const std::string kind = kind_of_cell(cell, node.devices, links);
      if (kind.empty() || !is_figure(cell.value.value) || !is_large(cell, kind)) continue;
      kinds[kind].rates.push_back(cell.value.value);
      kinds[kind].pairs.insert(std::minmax(cell.source, cell.target));
    }
    for (std::size_t j = 0; j < matrix.cells.size(); ++j) {
      const MatrixCell& cell = matrix.cells[j];
      const std::string kind = kind_of_cell(cell, node.devices, links);
      if (kind.empty() || !is_figure(cell.value.value) || !is_large(cell, kind)) continue;
      CellVerdict& verdict = verdicts[i][j];
      CellRuling ruling{.cell = &cell, .matrix = &matrix, .verdict = &verdict, .kind = kind};
      compare_with_kind(ruling, kinds[kind]);
      compare_with_link(ruling, links);
      verdict.limit = ruling.reached * ruling.share;
      verdict.verdict = verdict_of_rate(cell, verdict);
      all.push_back(std::move(ruling));
    }
  }
  return all;
}

RingLimit ring_limit(const MatrixCell& cell, const std::vector<double>& alike, const Links& links) {
  constexpr std::size_t fewest = 3;
  RingLimit limit;
  if (alike.size() >= fewest) {
    const double least = upper_quartile(alike);
    for (const double rate : alike)  // one that is there
      if (rate >= least) limit.reached = std::fmin(limit.reached, rate);
    limit.share = 1 - outlier_share;
    limit.by = "the rate of other copies in the ring over the same kind of link";
  }
  const Limit nvlinks = links.nvlink_limit(cell.source, cell.target);
  constexpr double share = least_share_of_nvlinks_by_kernel;
  if (nvlinks.per_s > 0 && cell.value.value <= most_share_of_a_true_limit * nvlinks.per_s &&
      !(limit.per_s() >= share * nvlinks.per_s))
    limit = {nvlinks.per_s, share, "what " + nvlinks.source + " carry"};
  return limit;
}

std::string links_judged_by(const std::vector<MatrixCell>& ring, const Links& links) {
  if (ring.empty()) return {};
  std::set<std::string> nvlinks;
  bool are_all_known = true;
  for (const MatrixCell& cell : ring) {
    const Limit one = links.nvlink_limit(cell.source, cell.target);
    if (one.per_s > 0) nvlinks.insert(one.source);
    else are_all_known = false;
  }
  std::string text = ring.size() > 2 ? "compared with other copies in the ring over the same kind of link" : "";
  for (const std::string& one : nvlinks)
    text += (text.empty() ? "compared with what " : ", and with what ") + one + " carry";
  if (are_all_known) return text;
  if (!nvlinks.empty()) return text + "; what other links should carry is not known";
  return (text.empty() ? "compared with nothing" : text) +
         "; what they should carry is not known, so that it is not noticed if all are equally slow";
}

}  // namespace npgpu::model

namespace npgpu {

namespace {

// Who disturbed copies from one memory to another, both ways at once or not.
using DisturbedCopies = std::map<std::tuple<std::string, std::string, Executor, Access, bool>, std::string>;

DisturbedCopies disturbed_copies(const Trace& trace) {
  DisturbedCopies all;
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const TransferCase& c = series.question;
    if (is_beside(c) || is_of_words(c.pattern) || c.more_lanes.size() > 1) continue;
    std::string by;
    for (const TransferPoint& point : points_of(series))
      if (const std::string others = model::others_of(point); !others.empty()) by = others;
    if (by.empty()) continue;
    for (const Lane& lane : lanes(c))
      all[{lane.source, lane.target, c.executor, c.direction == Direction::peer ? c.access : Access::write,
           !c.more_lanes.empty()}] = by;
  }
  return all;
}

std::vector<std::vector<CellVerdict>> unjudged_cells(const NodeMatrix& node, const DisturbedCopies& disturbed) {
  std::vector<std::vector<CellVerdict>> all;
  for (const RateMatrix& matrix : node.matrices) {
    auto& cells = all.emplace_back();
    for (const MatrixCell& cell : matrix.cells) {
      const auto by = disturbed.find({cell.source, cell.target, matrix.executor, cell.access, matrix.both_ways});
      cells.push_back({.disturbed = by == disturbed.end() ? std::string() : by->second});
    }
  }
  return all;
}

std::vector<model::MissingLanes> missing_lanes(const Trace& trace) {
  std::vector<model::MissingLanes> all;
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const std::vector<Lane> lanes_of_case = lanes(series.question);
    constexpr std::size_t pair = 2;
    if (is_beside(series.question) || lanes_of_case.size() <= pair) continue;
    std::string why;
    for (std::uint32_t lane = 0; lane < lanes_of_case.size() && why.empty(); ++lane)
      if (lanes_of_case[lane].measured) why = model::failure_to_measure(series, lane);
    if (!why.empty()) all.push_back({model::name_of_lanes(lanes_of_case), why});
  }
  return all;
}

MatrixVerdict judged_matrix(const Trace& trace, const NodeMatrix& node, const std::vector<HealthFinding>& devices) {
  const model::Links links(trace);
  MatrixVerdict all;
  all.copies = model::copy_results(trace);
  all.cells = unjudged_cells(node, disturbed_copies(trace));
  const auto rulings = model::rule_on(node, links, all.cells);
  all.findings = model::findings_of_matrix({node, links, devices}, rulings, all.copies, missing_lanes(trace));
  return all;
}

// What is seen in a GPU's copies with the host.
bool is_of_copies(const std::string& metric) {
  return metric == "pcie_link" || metric == "results" || metric == "nvlink" || metric.starts_with("h2d_") ||
         metric.starts_with("d2h_");
}

// Adds what does not pass of one GPU alone, or of the host. Its slow or wrong copies are not said again where they are
// in a finding of that GPU.
void add_device_failures(std::vector<NodeFinding>& findings, const std::vector<HealthFinding>& of_devices) {
  std::vector<NodeFinding> more;
  for (const HealthFinding& one : of_devices) {
    if (one.health == Health::pass || one.health == Health::skip || one.health == Health::warn) continue;
    const bool is_said = std::ranges::any_of(findings, [&](const NodeFinding& known) {
      const auto has = [&](const std::string& end) {
        return std::ranges::find(known.devices, end) != known.devices.end();
      };
      if (known.health != one.health || (known.health == Health::fail && known.if_failed != one.if_failed))
        return false;
      if (one.metric == "peer_rate") return has(one.device);
      return is_of_copies(one.metric) && (known.device == one.device || (has(one.device) && has("host")));
    });
    if (is_said) continue;
    // What is not known of one GPU is mostly known of none: one line for all.
    const auto same = std::ranges::find_if(more, [&](const NodeFinding& known) {
      return known.health != Health::fail && known.health == one.health && known.metric == one.metric;
    });
    if (same != more.end()) {
      same->device.clear();
      same->devices.push_back(one.device);
      continue;
    }
    NodeFinding& finding = more.emplace_back();
    static_cast<HealthFinding&>(finding) = one;
    if (one.device.empty()) continue;  // of the whole trace
    finding.devices = {one.device};
    finding.text = one.device + ": " + one.text;
  }
  for (NodeFinding& finding : more)
    if (const std::size_t named = finding.devices.size(); named > 1)
      finding.text += fmt::format(" (and so of {} more)", named - 1);
  findings.insert(findings.end(), more.begin(), more.end());
  sort_stably(findings, {}, model::rank_of_finding);
}

}  // namespace

const CellVerdict* MatrixVerdict::of(std::size_t matrix, const MatrixCell* cell, const NodeMatrix& node) const {
  if (!cell || matrix >= cells.size()) return nullptr;
  const auto place = static_cast<std::size_t>(cell - node.matrices.at(matrix).cells.data());
  return place < cells[matrix].size() ? &cells[matrix][place] : nullptr;
}

MatrixVerdict verdict_of(const Trace& trace, const NodeMatrix& node) {
  const std::vector<HealthFinding> devices = model::health_of_devices(trace, {});
  MatrixVerdict all = judged_matrix(trace, node, devices);
  add_device_failures(all.findings, devices);
  all.verdict = verdict_of(std::vector<HealthFinding>(all.findings.begin(), all.findings.end()));
  return all;
}

std::vector<NodeFinding> model::findings_between_gpus(const Trace& trace) {
  const NodeMatrix node = matrix_of_copies(trace);
  if (node.devices.empty()) return {};
  return judged_matrix(trace, node, health_of_devices(trace, {})).findings;
}

}  // namespace npgpu
