// A check as a person reads it, and in few words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/health/metrics.hpp"
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

// Stopped early, what it has may all pass.
CheckVerdict verdict_of_device(const CheckReport& of, const std::string& id) {
  std::vector<HealthFinding> own;
  for (const HealthFinding* finding : of_device(of, id)) own.push_back(*finding);
  const CheckVerdict verdict = verdict_of(own);
  return verdict == CheckVerdict::ok && !of.why_not_judged.empty() ? CheckVerdict::not_judged : verdict;
}

// "Gen5 x16" of "PCIe Gen5 x16 while copying; ..."; why nothing is judged by it, in a word.
std::string link_cell(const HealthFinding& finding) {
  const auto says = [&](std::string_view words) { return finding.text.find(words) != std::string::npos; };
  if (finding.health == Health::skip && says("one memory")) return "one memory";
  if (finding.health == Health::skip && says("which cannot be")) return "misread";
  constexpr std::string_view before = "PCIe Gen";
  const std::size_t at = finding.text.find(before);
  if (finding.health == Health::skip || at == std::string::npos) return "-";
  std::string cell = finding.text.substr(at + before.size() - 3);
  const std::size_t lanes = cell.find('x');
  return lanes == std::string::npos ? "-" : cell.substr(0, cell.find_first_not_of("0123456789", lanes + 1));
}

// What a person asks for first, a row for each GPU. A figure that is not in order is marked.
Table gpus_table(const CheckReport& of) {
  struct Shown {
    const char *header, *metric, *instead;
    double by;
  };
  static constexpr Shown shown[] = {{"H2D", "h2d_rate", "", 1e-9},
                                    {"D2H", "d2h_rate", "", 1e-9},
                                    {"memory", "memory_read_rate", "memory_rmw_rate", 1e-9},
                                    {"FP32", "compute_fp32_rate", "", 1e-12},
                                    {"launch", "launch_time", "", 1},
                                    {"hottest", "temperature", "", 1}};
  std::vector<Column> columns{left("GPU"), left("verdict"), left("link")};
  for (const Shown& one : shown) columns.push_back(right(one.header));
  Table table(std::move(columns));
  for (const CheckReport::Gpu& gpu : of.gpus) {
    const auto all = of_device(of, gpu.id);
    const auto find = [&](std::string_view metric) {
      const auto found = std::ranges::find_if(all, [&](const HealthFinding* one) { return one->metric == metric; });
      return found == all.end() ? nullptr : *found;
    };
    const HealthFinding* const link = find("pcie_link");
    std::vector<std::string> cells{gpu.id, std::string(name(verdict_of_device(of, gpu.id))),
                                   link ? link_cell(*link) : "-"};
    for (const Shown& one : shown) {
      const HealthFinding* figure = find(one.metric);
      if (!figure || !std::isfinite(figure->value)) figure = find(one.instead);
      if (!figure || !std::isfinite(figure->value)) {
        cells.emplace_back("-");
        continue;
      }
      const bool is_marked = figure->health != Health::pass && figure->health != Health::skip;
      cells.push_back((one.header == std::string_view("hottest") ? fmt::format("{:.0f}", figure->value)
                                                                 : digits_text(figure->value * one.by)) +
                      (is_marked ? " !" : ""));
    }
    table.row(std::move(cells), verdict_of_device(of, gpu.id) == CheckVerdict::ok ? Health::pass : Health::fail);
  }
  return table;
}

// Figures whose metric begins and ends so.
struct FigureSort {
  std::string_view begin, end;
  const char* name;
  bool has(const HealthFinding& one) const { return one.metric.starts_with(begin) && one.metric.ends_with(end); }
};

// The smallest slow-down that each sort of figure would have been called slow for: "copies 7 %, memory 12 %".
std::string sensitivity_text(const std::vector<HealthFinding>& all) {
  static constexpr FigureSort sorts[] = {{"h2d_rate", "", "host to GPU"},
                                         {"d2h_rate", "", "GPU to host"},
                                         {"peer_rate", "", "GPU to GPU"},
                                         {"memory_", "_rate", "memory"},
                                         {"compute_", "_rate", "computing"},
                                         {"launch_time", "", "launches"},
                                         {"copy_time", "", "small copies"},
                                         {"l2_rate", "", "L2"},
                                         {"memory_latency", "", "latency of memory"},
                                         {"tensor_", "_rate", "tensor cores"},
                                         {"", "_pageable_rate", "pageable copies"}};
  std::string text;
  for (const FigureSort& sort : sorts) {
    double most = not_measured;
    for (const HealthFinding& finding : all)
      if (sort.has(finding) && !finding.metric.ends_with("_duplex")) most = std::fmax(most, finding.would_see);
    if (std::isfinite(most))
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", sort.name, std::ceil(100 * most));
  }
  return text;
}

// What no figure was measured of, so that it may be slow.
std::string not_looked_at(const CheckReport& of) {
  static constexpr FigureSort sorts[] = {{"h2d_rate", "", "copies to the GPU"},
                                         {"d2h_rate", "", "copies to the host"},
                                         {"memory_", "_rate", "memory"},
                                         {"compute_", "_rate", "computing"},
                                         {"launch_time", "", "launches"},
                                         {"tensor_", "_rate", "tensor cores"},
                                         {"d2d_rate", "", "copies within the GPU"},
                                         {"copy_time", "", "small copies"},
                                         {"", "_pageable_rate", "pageable copies"},
                                         {"compute_fp64", "_rate", "fp64"},
                                         {"l2_rate", "", "L2"},
                                         {"memory_latency", "", "latency of memory"},
                                         {"", "_rate_duplex", "both directions at once"}};
  std::vector<std::string> all;
  for (const FigureSort& sort : sorts)
    if (std::ranges::none_of(of.findings,
                             [&](const HealthFinding& one) { return sort.has(one) && std::isfinite(one.value); }))
      all.emplace_back(sort.name);
  if (of.gpus.size() > 1) all.emplace_back("copies between GPUs (npgpu matrix)");
  for (const char* never : {"L1", "shared memory"}) all.emplace_back(never);
  return fmt::format("{}", fmt::join(all, ", "));
}

// Findings that have a cause in common.
struct Fault {
  const HealthFinding* first = nullptr;  // the gravest
  const Explanation* why = nullptr;
  std::vector<const HealthFinding*> others{};
};

std::vector<Fault> faults_of(const std::vector<const HealthFinding*>& all) {
  std::vector<Fault> faults;
  const auto place = [&](const HealthFinding* finding, const Explanation* why) {
    const auto same =
        std::ranges::find_if(faults, [&](const Fault& one) { return one.why && why && one.why->what == why->what; });
    if (same == faults.end()) faults.push_back({finding, why});
    else same->others.push_back(finding);
  };
  for (const Health health : {Health::fail, Health::undecided, Health::unjudged, Health::warn})
    for (const HealthFinding* finding : all) {
      if (finding->health != health) continue;
      const auto& its = finding->explanations;
      place(finding, its.empty() ? nullptr : &its.front());
      for (const Explanation& why : its)
        if (why.is_of_rest && &why != &its.front()) place(finding, &why);
    }
  return faults;
}

// "4 figures beyond their limits, 1 warning"
std::string others_text(const std::vector<const HealthFinding*>& others) {
  std::vector<std::string> texts;
  const auto add = [&](const char* one, const char* several, auto holds) {
    const auto count = std::ranges::count_if(others, [&](const HealthFinding* finding) { return holds(*finding); });
    if (count) texts.push_back(fmt::format("{} {}", count, count == 1 ? one : several));
  };
  const auto is_unmeasured = [](const HealthFinding& one) {
    return one.health == Health::fail && one.if_failed == CheckVerdict::failed_to_run;
  };
  add("figure beyond its limit", "figures beyond their limits",
      [&](const HealthFinding& one) { return one.health == Health::fail && !is_unmeasured(one); });
  add("figure that is not there", "figures that are not there", is_unmeasured);
  add("undecided", "undecided", [](const HealthFinding& one) { return one.health == Health::undecided; });
  add("not judged", "not judged", [](const HealthFinding& one) { return one.health == Health::unjudged; });
  add("warning", "warnings", [](const HealthFinding& one) { return one.health == Health::warn; });
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string word_of(const HealthFinding& finding) {
  return upper_case(finding.health == Health::fail ? name(finding.if_failed) : name(finding.health));
}

// Cause, what was read, remedy, and how much else it explains.
void write_fault(Document& doc, const Fault& fault, const std::string& whose) {
  const HealthFinding& first = *fault.first;
  const std::string front = whose.empty() ? "" : whose + ": ";
  const auto tone = first.health == Health::warn ? Document::Tone::dim : Document::Tone::alarm;
  if (!fault.why) {
    doc.add(Document::Marked{word_of(first), tone, front + first.text});
  } else {
    const Explanation& why = *fault.why;
    doc.add(Document::Marked{word_of(first), tone, front + why.what});
    doc.note("read: " + (why.evidence.empty() ? first.text : why.evidence), false, 4);
    if (!why.remedy.empty()) doc.note("do: " + why.remedy, false, 4);
  }
  if (!fault.others.empty()) doc.note("and " + others_text(fault.others) + " (--all)", false, 4);
}

void write_faults(Document& doc, const CheckReport& of, const std::string& id, const std::string& whose) {
  for (const Fault& fault : faults_of(of_device(of, id))) write_fault(doc, fault, whose);
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

void write_skipped(Document& doc, const std::vector<const HealthFinding*>& all) {
  std::vector<std::string> texts;
  for (const HealthFinding* finding : all)
    if (finding->health == Health::skip) texts.push_back(finding->text);
  if (!texts.empty()) doc.note(not_checked_text(texts));
}

// Every finding of a device.
void write_device(Document& doc, const CheckReport& of, const std::string& id, const std::string& title) {
  const auto all = of_device(of, id);
  if (all.empty()) return;
  doc.gap();
  doc.title(title);
  std::set<std::string> said;
  for (const Health health : {Health::fail, Health::undecided, Health::unjudged, Health::warn, Health::pass})
    for (const HealthFinding* finding : all)
      if (finding->health == health) write_finding(doc, *finding, said);
  write_skipped(doc, all);
}

}  // namespace

void check_text(std::ostream& out, const CheckReport& of, bool every_finding, const TextStyle& style) {
  Document doc;
  const bool is_simulated = std::ranges::any_of(of.gpus, &CheckReport::Gpu::simulated);
  std::set<std::string> models;
  for (const CheckReport::Gpu& gpu : of.gpus) models.insert(gpu.name);
  if (!of.gpus.empty()) {
    doc.add(Document::Marked{
        is_simulated ? "SIMULATED" : "", Document::Tone::bold,
        fmt::format("{}; rates in GB/s, FP32 in TFLOP/s, launches in us, temperatures in C", fmt::join(models, ", "))});
    doc.table(gpus_table(of));
  }
  std::vector<std::pair<std::string, std::string>> places{{"", "node " + of.root.hostname}};
  for (const CheckReport::Gpu& gpu : of.gpus) places.emplace_back(gpu.id, of.gpus.size() == 1 ? "" : gpu.id);
  places.emplace_back("host", "host");
  // In the order of what fails there, in which all other reports have it.
  sort_stably(places, {}, [&](const auto& place) {
    const auto is_its = [&](const HealthFinding& one) {
      return one.device == place.first && one.health == Health::fail;
    };
    return std::ranges::find_if(of.findings, is_its) - of.findings.begin();
  });
  for (const auto& [id, whose] : places) write_faults(doc, of, id, whose);
  if (!of.why_not_judged.empty()) doc.add(Document::Marked{"NOT JUDGED", Document::Tone::alarm, of.why_not_judged});
  for (const SoakDevice& soaked : of.soaks) {
    if (of.soaks.size() > 1) doc.note(soaked.id + ':');
    doc.table(soak_table(soaked));
  }
  if (!of.gpus.empty() && of.soaks.empty()) {
    const std::string sees = sensitivity_text(of.findings);
    doc.note(fmt::format("{}not looked at: {}", sees.empty() ? "" : "would find slowdowns of: " + sees + "; ",
                         not_looked_at(of)));
  }
  if (every_finding) {
    write_device(doc, of, "", "node " + of.root.hostname);
    for (const CheckReport::Gpu& gpu : of.gpus) write_device(doc, of, gpu.id, gpu.id + ' ' + gpu.name);
    write_device(doc, of, "host", "host");
  }
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
    text += is_same || brief.starts_with(finding->device) ? brief : finding->device + ' ' + brief;
    before = finding->device;
  }
  if (left) text += fmt::format(" and {} more", left);
  return text;
}

}  // namespace npgpu
