#include "npgpu/matrix_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/health/device_health.hpp"
#include "netpipe/model/health/findings.hpp"
#include "netpipe/model/matrix/copy_results.hpp"
#include "netpipe/model/matrix/links.hpp"
#include "netpipe/model/matrix/matrix_findings.hpp"
#include "npgpu/model.hpp"

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
    finding.devices = {one.device};
    finding.text = one.device + ": " + one.text;
  }
  for (NodeFinding& finding : more)
    if (const std::size_t others = finding.devices.size() - 1; others > 0)
      finding.text += fmt::format(" (and so of {} more)", others);
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
