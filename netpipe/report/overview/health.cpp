// What stands first: whether the node is as it should be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"

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

// Of whom, where that is not plain: the only GPU's findings need no name.
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
  std::vector<std::string> skipped;
  for (const auto& [reason, what] : by_reason(shared_texts(all, with_health(all, Health::skip))))
    skipped.push_back(reason.empty() ? what : reason + ": " + what);
  add("SKIP", skipped, brief ? 1 : 0);
  return section;
}

}  // namespace npgpu
