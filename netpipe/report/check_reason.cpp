// What is wrong with a node, for places that show few characters: sinfo shows twenty of a node's reason, a pager a
// line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/model/health/metrics.hpp"
#include "npgpu/check.hpp"

namespace npgpu {

namespace {

// "memory read" of memory_read_rate, "fp32" of compute_fp32_rate, "copy engines" of copy_engines.
std::string brief_name(const std::string& metric) {
  if (const model::Metric* const row = model::metric_row(metric); row && !row->brief.empty())
    return std::string(row->brief);
  std::string words = metric;
  if (words.ends_with("_rate")) words.resize(words.size() - 5);
  if (words.starts_with("compute_")) words.erase(0, 8);
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string three_digits(double value) { return fmt::format(fmt::runtime(value < 999.5 ? "{:.3g}" : "{:.0f}"), value); }

// "28/51 GB/s": what is, and what should be.
std::string is_of(double is, double limit, std::string_view unit) {
  struct Scale {
    std::string_view unit;
    double by;
    std::string_view shown;
  };
  static constexpr Scale scales[] = {{"B/s", 1e12, "TB/s"},       {"B/s", 1e9, "GB/s"},       {"B/s", 1e6, "MB/s"},
                                     {"FLOP/s", 1e12, "TFLOP/s"}, {"FLOP/s", 1e9, "GFLOP/s"}, {"OP/s", 1e12, "TOP/s"},
                                     {"OP/s", 1e9, "GOP/s"},      {"us", 1000, "ms"},         {"us", 1, "us"}};
  for (const Scale& scale : scales)
    if (scale.unit == unit && (limit >= scale.by || (scale.unit == "us" && scale.by == 1)))
      return fmt::format("{}/{} {}", three_digits(is / scale.by), three_digits(limit / scale.by), scale.shown);
  return fmt::format("{:.4g}/{:.4g}", is, limit);
}

// "cuda:0 and cuda:1 deliver zeros" of "copies between cuda:0 and cuda:1 deliver zeros (12 of 12 compared were wrong)".
std::string brief_of_copies(std::string text) {
  text.resize(std::min({text.size(), text.find(" ("), text.find(": ")}));
  for (const std::string_view begin : {"copies between ", "copies "})
    if (text.starts_with(begin)) return text.substr(begin.size());
  return text;
}

std::string brief_text(const HealthFinding& finding) {
  if (finding.metric.starts_with("peer_")) return brief_of_copies(finding.text);
  if (finding.metric == "results" && !(finding.value > 0)) return "no results";  // of a GPU that was lost
  const std::string name = brief_name(finding.metric);
  const bool has_both = std::isfinite(finding.value) && std::isfinite(finding.limit);
  if (finding.metric == "pcie_link" && has_both)
    return finding.unit == "lanes" ? fmt::format("PCIe x{:g}/x{:g}", finding.value, finding.limit)
                                   : fmt::format("PCIe Gen{:g}/Gen{:g}", finding.value, finding.limit);
  if (finding.metric == "throttle") {  // "throttled in 5 of 9 visits: too hot"
    const std::size_t at = finding.text.rfind(": ");
    return at == std::string::npos ? finding.text : finding.text.substr(at + 2);
  }
  if (finding.unit == "MHz" && has_both) return fmt::format("{} {:.0f} MHz", name, finding.value);
  if (has_both && finding.limit > 0)
    return fmt::format("{} {}", name, is_of(finding.value, finding.limit, finding.unit));
  if (finding.value > 0 && finding.metric != "results" && !finding.metric.starts_with("remapped"))
    return fmt::format("{:g} {}", finding.value, name);
  // "expected_link: link gen5x8, expected gen5x16" says best itself what is wrong.
  return finding.metric.starts_with("expected_") || finding.metric == "errors" ? finding.text : name;
}

}  // namespace

std::string check_reason(const CheckOf& of) {
  constexpr std::size_t most = 5;  // of a GPU whose link is bad all copies are slow, too
  std::vector<const HealthFinding*> all;
  for (const bool decides : {true, false})
    for (const HealthFinding& finding : of.findings)
      if (finding.health == Health::fail && (finding.if_failed == of.verdict) == decides) all.push_back(&finding);
  std::string text;
  std::string before;
  std::set<std::string> said;
  std::size_t left = 0;
  for (const HealthFinding* finding : all) {
    if (said.size() == most) {
      ++left;
      continue;
    }
    std::string brief = printable(brief_text(*finding));
    std::ranges::replace(brief, '\n', ' ');
    if (!said.insert(finding->device + ' ' + brief).second) continue;
    const bool is_same = said.size() > 1 && finding->device == before;
    text += text.empty() ? "" : is_same ? ", " : "; ";
    text += is_same || finding->device.empty() ? brief : finding->device + ' ' + brief;
    before = finding->device;
  }
  if (left) text += fmt::format(" and {} more", left);
  return text;
}

}  // namespace npgpu
