// The overview as text: whether the node is as it should be, where the trace was taken, and the documents of all
// sections.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/judge/overview.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu {

namespace {

std::size_t count_of(const std::vector<HealthFinding>& findings, Health health) {
  return static_cast<std::size_t>(std::ranges::count(findings, health, &HealthFinding::health));
}

std::string text_of(const Explanation& e, const std::string& already_said) {
  std::string text = e.what;
  if (!e.evidence.empty() && already_said.find(e.evidence) == std::string::npos) text += " (" + e.evidence + ')';
  return e.remedy.empty() ? text : text + "; " + e.remedy;
}

// Whose finding it is, where that is not plain: the only GPU's need no name.
std::string whose(const Overview& all, const HealthFinding& f) {
  const bool plain = f.device.empty() || (all.gpus.size() == 1 && f.device == all.gpus.front().id) ||
                     (all.gpus.empty() && f.device == "host");
  return plain ? "" : f.device + ": ";
}

// Texts that several devices share are said once: "PCIe Gen5 x16 (all 8)".
std::vector<std::string> shared_texts(const Overview& all, const std::vector<const HealthFinding*>& findings) {
  std::vector<std::string> texts;
  std::map<std::string, std::vector<const HealthFinding*>> of_text;
  for (const HealthFinding* f : findings) {
    auto& same = of_text[f->text];
    if (same.empty()) texts.push_back(f->text);
    same.push_back(f);
  }
  for (std::string& text : texts) {
    const auto& same = of_text.at(text);
    if (all.gpus.size() > 1 && same.size() >= all.gpus.size()) text += fmt::format(" (all {})", same.size());
    else if (const std::string of = whose(all, *same.front()); !of.empty()) text = of + text;
  }
  return texts;
}

std::vector<const HealthFinding*> with_health(const Overview& all, Health health) {
  std::vector<const HealthFinding*> found;
  for (const HealthFinding& f : all.health)
    if (f.health == health) found.push_back(&f);
  return found;
}

// What passes, in few words: the rates are in the tables below, so their number is enough; the device's state first.
std::vector<std::string> passes_of(const Overview& all) {
  auto passes = with_health(all, Health::pass);
  constexpr std::array first{"pcie_link", "sms", "sm_clock", "memory_clock", "throttle", "power", "temperature"};
  sort_stably(passes, {}, [&](const HealthFinding* f) { return std::ranges::find(first, f->metric); });
  const std::size_t before = passes.size();
  std::erase_if(passes, [](const HealthFinding* f) {
    return f->metric.find("_rate") != std::string::npos || f->metric.find("_time") != std::string::npos;
  });
  const std::size_t rates = before - passes.size();
  std::vector<std::string> texts = shared_texts(all, passes);
  if (rates) texts.push_back(counted(rates, "figure") + " of rate or time within limits");
  return texts;
}

}  // namespace

std::string verdict_text(const Overview& all) {
  const std::vector<HealthFinding>& findings = all.health;
  const auto failed = count_of(findings, Health::fail), undecided = count_of(findings, Health::undecided),
             unjudged = count_of(findings, Health::unjudged), warned = count_of(findings, Health::warn),
             passed = count_of(findings, Health::pass), skipped = count_of(findings, Health::skip);
  if (failed + undecided + unjudged + warned + passed == 0) return "NOT JUDGED: nothing in this trace can be";
  std::vector<std::string> counts;
  if (verdict_of(findings) == CheckVerdict::ok && verdict_of(all) == CheckVerdict::not_judged)
    counts.emplace_back(all.run.complete ? "no GPU was measured" : "the run did not reach its end");
  if (failed) counts.push_back(fmt::format("{} failed", failed));
  if (undecided) counts.push_back(fmt::format("{} undecided", undecided));
  if (unjudged) counts.push_back(fmt::format("{} not judged", unjudged));
  if (warned) counts.push_back(counted(warned, "warning"));
  counts.push_back(fmt::format("{} passed", passed));
  if (skipped) counts.push_back(fmt::format("{} not checked", skipped));
  return fmt::format("{}: {}", upper_case(name(verdict_of(all))), fmt::join(counts, ", "));
}

Section health_section(const Overview& all, Extent extent) {
  const bool brief = is_brief(extent);
  Section section{"HEALTH"};
  section.entries.push_back({"", {verdict_text(all)}, verdict_of(all) != CheckVerdict::ok});
  constexpr std::array shown{std::pair{Health::fail, "FAIL"}, std::pair{Health::undecided, "UNDECIDED"},
                             std::pair{Health::unjudged, "NOT JUDGED"}, std::pair{Health::warn, "WARN"}};
  std::size_t wrong = 0;
  for (const auto& [health, word] : shown) wrong += count_of(all.health, health);
  // One cause often stands behind several findings: it is said once.
  constexpr std::size_t few = 4, reasons = 2;  // of a screen
  std::size_t said = 0;
  std::set<std::string> causes;
  for (const auto& [health, word] : shown)
    for (const HealthFinding& f : all.health) {
      if (f.health != health || (brief && said >= few)) continue;
      ++said;
      section.entries.push_back({word, {whose(all, f) + f.text}, health == Health::fail, brief ? 2u : 0u});
      if (f.explanations.empty() || (extent == Extent::glance && health == Health::warn)) continue;
      const Explanation& likeliest = f.explanations.front();
      if (brief && (causes.size() >= reasons || !causes.insert(likeliest.cause + likeliest.what).second)) continue;
      const std::size_t lines = !brief ? 0 : health == Health::fail ? 2 : 1;
      section.entries.push_back({" why", {text_of(likeliest, f.text)}, false, lines});
    }
  if (said < wrong) section.entries.push_back({"", {fmt::format("and {} more", wrong - said)}, true});
  const auto add = [&](const char* word, const std::vector<std::string>& texts, std::size_t lines) {
    if (!texts.empty()) section.entries.push_back({word, {fmt::format("{}", fmt::join(texts, "; "))}, false, lines});
  };
  // Where something fails, the number of what passes is enough.
  const bool is_good = count_of(all.health, Health::fail) == 0;
  if (!brief || (is_good && extent != Extent::glance)) add("PASS", passes_of(all), brief ? (wrong > 1 ? 1 : 2) : 0);
  std::vector<std::string> skipped = shared_texts(all, with_health(all, Health::skip));
  // On a screen without intervals and limits: "H2D pageable 192 MiB 7.548 GB/s (not certain)".
  for (std::string& text : skipped)
    if (const std::size_t figures = text.find(" ("), reason = text.rfind(": ");
        brief && figures < reason && reason != std::string::npos)
      text.erase(figures, reason - figures);
  if (!skipped.empty()) add("", {not_checked_text(skipped)}, brief ? 1 : 0);
  return section;
}

// ---- where a trace was taken ----

namespace {

struct Items {
  std::vector<std::string> all{};

  // "before VALUE behind", if there is a value.
  void add(const std::string& value, const char* before = "", const char* behind = "") {
    if (!value.empty() && value != "nan") all.push_back(before + value + behind);
  }
  void add_count(double value, std::string_view what) {
    if (value > 0) all.push_back(counted(saturated<std::size_t>(value), what));
  }
};

std::string memory_of_device(const Facts& facts) {
  const double bytes = number_fact(facts, "memory_bytes");
  return bytes > 0 ? about_size_text(bytes) : std::string();
}

// The host of a rank is measured as a device is.
std::string label_of(const DeviceOverview& device) { return device.id.starts_with("host@") ? "rank" : "gpu"; }

std::vector<std::string> gpu_items(const DeviceOverview& device) {
  Items items;
  items.add(device.id);
  const Facts& facts = device.facts;
  const double units = number_fact(facts, "multiprocessors");
  items.add_count(units > 0 ? units : number_fact(facts, "sms"), "SM");
  items.add(memory_of_device(facts));
  items.add(link_text(facts));
  items.add(fact_text(facts, "driver_version"), "driver ");
  items.add(fact_text(facts, "cuda_runtime"), "CUDA ");
  items.add(fact_text(facts, "power_limit_w"), "power limit ", " W");
  return items.all;
}

std::vector<std::string> host_items(const Facts& facts) {
  Items items;
  items.add(fact_text(facts, "cpu_model"));
  if (fact_text(facts, "in_virtual_machine") == "1") items.add("VM");
  if (number_fact(facts, "sockets") > 1) items.add_count(number_fact(facts, "sockets"), "socket");
  items.add_count(number_fact(facts, "cores"), "core");
  items.add(fact_text(facts, "cpu_quota"), "CPU quota ");
  if (number_fact(facts, "numa_nodes") > 1) items.add_count(number_fact(facts, "numa_nodes"), "NUMA node");
  items.add(memory_of_device(facts));
  items.add(fact_text(facts, "kernel"));
  return items.all;
}

std::string clock_text_of(double seconds) {
  const auto s = saturated<long>(std::round(seconds));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

Document head_document(const Overview& all, const std::string& headline) {
  Document doc;
  doc.add(Document::Head{headline, run_text(all), who_of(all), headline.starts_with("SIMULATED")});
  return doc;
}

void add(Document& doc, std::vector<Section> sections) {
  for (Section& section : sections) doc.add(std::move(section));
}

Document::Head& head_of(Document& doc) { return std::get<Document::Head>(doc.blocks.front()); }

}  // namespace

bool is_simulated(const Overview& all) {
  return std::ranges::any_of(all.gpus, &DeviceOverview::simulated) || (all.host && all.host->simulated);
}

std::string headline_of(const Overview& all) {
  std::vector<std::pair<std::string, std::size_t>> models;  // in order, with their number
  bool every_simulated = !all.gpus.empty();
  std::set<std::string> cards;  // by UUID: one may be a device of two families
  for (const DeviceOverview& gpu : all.gpus) {
    every_simulated &= gpu.simulated;
    if (!gpu.uuid.empty() && !cards.insert(gpu.uuid).second) continue;
    std::string called = gpu.name.empty() ? gpu.id : gpu.name;
    if (gpu.simulated && !called.starts_with("sim")) called += " (" + gpu.id + ')';
    const auto known = std::ranges::find(models, called, &std::pair<std::string, std::size_t>::first);
    if (known == models.end()) models.emplace_back(called, 1);
    else ++known->second;
  }
  std::string what;
  for (const auto& [called, count] : models)
    what += (what.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} x {}", count, called) : called);
  if (all.gpus.empty()) what = all.host && !all.host->name.empty() ? all.host->name : "nothing was measured";
  if (every_simulated) return "SIMULATED " + what + ": no measurement of hardware";
  if (is_simulated(all)) what += " (some of it SIMULATED)";
  if (all.gpus.empty() && all.host) what += " (no GPU was measured)";
  return what + (all.run.hostname.empty() ? "" : " on " + all.run.hostname);
}

std::string run_text(const Overview& all) {
  std::vector<std::string> parts;
  std::string when = all.run.start_time_utc.substr(0, 16);
  if (when.size() == 16 && when[10] == 'T') when[10] = ' ';
  if (!when.empty()) parts.push_back(when + " UTC");
  if (all.seconds > 0) parts.push_back("took " + clock_text_of(all.seconds));
  if (!all.run.tool_version.empty())
    parts.push_back("npgpu " + all.run.tool_version +
                    (all.run.git_commit.empty() ? "" : " (" + all.run.git_commit + ')'));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Entry> who_of(const Overview& all) {
  std::vector<Entry> entries;
  // Eight GPUs of a node differ in little but their address, which the table of GPUs has.
  if (all.gpus.size() == 1) {
    entries.push_back({label_of(all.gpus.front()), gpu_items(all.gpus.front())});
  } else {
    std::set<std::vector<std::string>> said;
    for (const DeviceOverview& gpu : all.gpus) {
      DeviceOverview plain = gpu;
      plain.id = gpu.name;
      if (const auto items = gpu_items(plain); said.insert(items).second) entries.push_back({label_of(gpu), items});
    }
  }
  if (auto items = host_items(facts_of(all.provenance, "host")); !items.empty())
    entries.push_back({"host", std::move(items)});
  return entries;
}

// ---- documents ----

void report_overview(std::ostream& out, const TraceResults& of, const Overview& all, const TextStyle& style) {
  const Extent extent = style.width < 120 ? Extent::screen : Extent::wide;
  Document doc = head_document(all, headline_of(all));
  doc.add(health_section(all, extent));
  add(doc, study_sections(of));
  add(doc, sections_of(all, extent, style.series_in_trace));
  out << to_text(doc, style);
}

bool report_glance(std::ostream& out, const Overview& all, const TextStyle& style) {
  std::vector<Section> sections = glance_of(all, style.series_in_trace);
  if (sections.empty()) return false;
  const std::string verdict = is_simulated(all) ? "" : ": " + upper_case(name(verdict_of(all)));
  Document doc = head_document(all, headline_of(all) + verdict);
  add(doc, std::move(sections));
  head_of(doc).one_line_each = true;
  out << to_text(doc, style);
  return true;
}

void report_markdown(std::ostream& out, const TraceResults& of, const Overview& all, std::size_t series_in_trace) {
  Document doc = head_document(all, headline_of(all));
  if (!all.run.argv.empty()) head_of(doc).entries.push_back({"command", {all.run.argv}});
  doc.add(health_section(all, Extent::document));
  doc.add(studies_document(of));
  doc.add(lone_series_document(of, all));
  add(doc, sections_of(all, Extent::document, series_in_trace));
  out << to_markdown(doc);
}

void among_text(std::ostream& out, std::span<const AmongOthers> all, const TextStyle& style) {
  Document doc;
  for (const AmongOthers& one : all) {
    Section section = among_section(one);
    doc.title(section.name);
    doc.add(std::move(section));
  }
  out << to_text(doc, style);
}

}  // namespace npgpu
