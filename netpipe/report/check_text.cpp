// A check as a person reads it, and in few words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/model/health/metrics.hpp"
#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

namespace {

std::vector<const HealthFinding*> of_device(const CheckReport& of, const std::string& id) {
  std::vector<const HealthFinding*> all;
  for (const HealthFinding& finding : of.findings)
    if (finding.device == id) all.push_back(&finding);
  return all;
}

std::size_t count(const std::vector<const HealthFinding*>& all, Health health) {
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const HealthFinding* finding) { return finding->health == health; }));
}

// "PCIe Gen5 x16; H2D 55.33 GB/s, D2H 55.23 GB/s, ..." of what was measured, as a person asks for it first.
std::string figures_text(const std::vector<const HealthFinding*>& all) {
  struct Shown {
    const char *metric, *name;
  };
  static constexpr Shown shown[] = {
      {"h2d_rate", "H2D"},           {"d2h_rate", "D2H"},           {"memory_read_rate", "memory"},
      {"memory_rmw_rate", "memory"}, {"compute_fp32_rate", "FP32"}, {"launch_time", "launch"}};
  std::string text;
  std::set<std::string> names;
  for (const Shown& one : shown)
    for (const HealthFinding* finding : all) {
      if (finding->metric != one.metric || !(finding->value > 0) || !names.insert(one.name).second) continue;
      const bool is_time = finding->unit == "us";
      const std::string value = is_time                  ? time_text(finding->value)
                                : finding->unit == "B/s" ? rate_text(finding->value)
                                                         : fmt::format("{:.1f} TFLOP/s", finding->value / 1e12);
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.name, value);
    }
  return text;
}

// The smallest slow-down that each sort of figure would have been called slow for: "copies 7 %, memory 12 %".
std::string sensitivity_text(const std::vector<const HealthFinding*>& all) {
  static constexpr std::pair<std::string_view, const char*> sorts[] = {
      {"h2d_rate", "host to GPU"}, {"d2h_rate", "GPU to host"}, {"peer_rate", "GPU to GPU"},  {"memory_", "memory"},
      {"compute_", "computing"},   {"launch_time", "launches"}, {"copy_time", "small copies"}};
  std::string text;
  for (const auto& [sort, name] : sorts) {
    double most = not_measured;
    for (const HealthFinding* finding : all)
      if (finding->metric.starts_with(sort)) most = std::fmax(most, finding->would_see);
    if (std::isfinite(most))
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name, std::ceil(100 * most));
  }
  return text;
}

// `said`: what was explained above already.
void write_finding(Document& doc, const HealthFinding& finding, std::set<std::string>& said) {
  const bool is_bad = finding.health != Health::pass && finding.health != Health::skip;
  const std::string word = upper_case(name(finding.health));
  doc.add(Document::Marked{word, is_bad ? Document::Tone::alarm : Document::Tone::dim, finding.text, 2,
                           4 + display_width(word)});
  if (!finding.basis.empty() && is_bad)
    doc.note((std::isfinite(finding.limit) ? "limit: " : "") + finding.basis, false, 8);
  for (const Explanation& why : finding.explanations) {
    const bool is_known = !said.insert(finding.device + why.what).second;
    doc.note(fmt::format("why: {}{}", why.what, is_known ? " (see above)" : ""), false, 8);
    if (is_known) continue;
    if (why.evidence != finding.text && !why.evidence.empty()) doc.note("read: " + why.evidence, false, 11);
    if (!why.remedy.empty()) doc.note("do: " + why.remedy, false, 11);
  }
}

// What was skipped, in one paragraph: "ECC errors, NVLink: not in this trace".
void write_skipped(Document& doc, const std::vector<const HealthFinding*>& all) {
  std::vector<std::string> texts, said;
  for (const HealthFinding* finding : all)
    if (finding->health == Health::skip) texts.push_back(finding->text);
  for (const auto& [why, what] : by_reason(texts)) said.push_back(what + (why.empty() ? "" : ": " + why));
  if (!said.empty())
    doc.add(Document::Marked{"SKIP", Document::Tone::dim, fmt::format("{}", fmt::join(said, "; ")), 2, 8});
}

void write_device(Document& doc, const CheckReport& of, const std::string& id, const std::string& title,
                  bool every_finding) {
  const auto all = of_device(of, id);
  if (all.empty()) return;
  std::vector<HealthFinding> own;
  for (const HealthFinding* finding : all) own.push_back(*finding);
  const CheckVerdict verdict = verdict_of(own);
  std::string line =
      fmt::format("{}, {} passed", counted(count(all, Health::fail), "failure"), count(all, Health::pass));
  if (const std::size_t undecided = count(all, Health::undecided)) line += fmt::format(", {} undecided", undecided);
  if (const std::size_t unjudged = count(all, Health::unjudged)) line += fmt::format(", {} not judged", unjudged);
  if (const std::size_t warnings = count(all, Health::warn)) line += ", " + counted(warnings, "warning");
  if (const std::size_t skips = count(all, Health::skip)) line += fmt::format(", {} skipped", skips);
  if (const std::string figures = figures_text(all); !figures.empty()) line += "; " + figures;
  // Stopped early: everything measured passed.
  const bool is_open = verdict == CheckVerdict::ok && !of.why_not_judged.empty();
  doc.add(Document::Marked{upper_case(name(is_open ? CheckVerdict::not_judged : verdict)),
                           verdict == CheckVerdict::ok && !is_open ? Document::Tone::bold : Document::Tone::alarm,
                           title + ": " + line});
  if (const std::string sees = sensitivity_text(all); !sees.empty())
    doc.note("would find slowdowns of: " + sees, false, 4);
  std::set<std::string> said;
  for (const Health health : {Health::fail, Health::undecided, Health::unjudged, Health::warn, Health::pass})
    for (const HealthFinding* finding : all)
      if (finding->health == health && (every_finding || health != Health::pass)) write_finding(doc, *finding, said);
  if (every_finding || verdict != CheckVerdict::ok) write_skipped(doc, all);
  for (const SoakDevice& soaked : of.soaks)
    if (soaked.id == id) doc.table(soak_table(soaked));
}

}  // namespace

void check_text(std::ostream& out, const CheckReport& of, bool every_finding, const TextStyle& style) {
  Document doc;
  write_device(doc, of, "", "node " + of.root.hostname, every_finding);
  for (const CheckReport::Gpu& gpu : of.gpus)
    write_device(doc, of, gpu.id, fmt::format("{}{} {}", gpu.simulated ? "SIMULATED " : "", gpu.id, gpu.name),
                 every_finding);
  if (std::ranges::any_of(of.findings,
                          [](const HealthFinding& f) { return f.device == "host" && f.health == Health::fail; }) ||
      every_finding)
    write_device(doc, of, "host", "host", every_finding);
  if (!of.why_not_judged.empty()) doc.add(Document::Marked{"NOT JUDGED", Document::Tone::alarm, of.why_not_judged});
  out << to_text(doc, style);
}

// What is wrong with a node, for places that show few characters: sinfo shows twenty of a node's reason, a pager a
// line.

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

std::string check_reason(const CheckReport& of) {
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
