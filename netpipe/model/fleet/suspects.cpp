#include "netpipe/model/fleet/suspects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/health/findings.hpp"

namespace npgpu::model {

namespace {

// A figure that so many have is expected of all.
std::size_t all_but_few(std::size_t all) { return all - std::max<std::size_t>(all / 10, all ? 1 : 0); }

std::string unit_text(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::bytes_per_s: return "B/s";
    case FigureUnit::flop_per_s: return "FLOP/s";
    case FigureUnit::operations_per_s: return "OP/s";
    case FigureUnit::us:
    case FigureUnit::us_a_load: break;
  }
  return "us";
}

std::string value_text(const FleetItem& item, double value) {
  if (item.of == FleetItem::Of::scatter) return fmt::format("{:.2g} %", 100 * value);
  return figure_text(value, unit_text(item.unit)) + (item.unit == FigureUnit::us_a_load ? " a load" : "");
}

class Suspicions {
 public:
  Suspicions(const GroupOf& group, const FleetRules& rules)
      : group_(group), rules_(rules), usual_(usual_facts(group.members)) {}

  FleetSuspect of(std::size_t member) {
    FleetSuspect suspect;
    suspect.member = member;
    found_ = &suspect.findings;
    add_defects(member);
    if (group_.judged) {
      add_missing(member);
      add_differing(member);
      add_apart(member);
    }
    std::ranges::stable_sort(suspect.findings, [](const FleetFinding& a, const FleetFinding& b) {
      if (a.suspicion != b.suspicion) return a.suspicion < b.suspicion;
      if (a.of != b.of) return a.of < b.of;
      return a.share > b.share;
    });
    if (suspect.findings.empty()) return suspect;
    suspect.causes = causes_of(group_.members[member], *group_.sightings[member].back().gpu, usual_, suspect.findings);
    for (const CaseTable& table : group_.tables) suspect.us.push_back(table.rows[member].us);
    return suspect;
  }

 private:
  FleetFinding& add(Suspicion suspicion, std::string what, std::string at, std::string text) {
    return found_->emplace_back(
        FleetFinding{.suspicion = suspicion, .what = std::move(what), .at = std::move(at), .text = std::move(text)});
  }

  void add_defects(std::size_t member) {
    std::map<std::string, std::string> all;  // by metric, of the last trace that has it
    for (const Sighting& seen : group_.sightings[member])
      for (const FleetDefect& defect : seen.gpu->defects) all[defect.metric] = defect.text;
    for (const auto& [metric, text] : all) add(Suspicion::broken, metric, "", text);
  }

  // Of a case that all others have it says so once, whatever the number of its parts.
  void add_missing(std::size_t member) {
    struct Missing {
      std::size_t parts = 0, of = 0;
      std::string at{};
      std::size_t others = 0;
    };
    std::map<std::pair<std::string, std::string>, Missing> cases;  // by kind and title
    for (std::size_t i = 0; i < group_.items.size(); ++i) {
      const FleetItem& item = group_.items[i];
      if (item.of != FleetItem::Of::curve) continue;
      Missing& its = cases[{item.kind, item.title}];
      ++its.of;
      if (item.gpus < all_but_few(group_.members.size())) continue;
      if (std::isfinite(group_.members[member].values[i].value)) continue;
      ++its.parts;
      its.at += (its.at.empty() ? "" : ", ") + item.at;
      its.others = item.gpus;
    }
    for (const auto& [key, its] : cases) {
      if (!its.parts) continue;
      const bool is_whole = its.parts == its.of;
      add(Suspicion::missing, key.second, is_whole ? "" : its.at,
          fmt::format("no figure, and {} of {} GPUs have one: {}", its.others, group_.members.size(),
                      why_missing(member, key.first, key.second)));
    }
  }

  std::string why_missing(std::size_t member, const std::string& kind, const std::string& title) const {
    for (const CaseTable& table : group_.tables)
      if (table.of.question.kind == kind && table.of.question.title == title && table.rows[member].there)
        return table.rows[member].why.empty() ? "points are missing" : table.rows[member].why;
    const FleetRun& run = *group_.sightings[member].back().run;
    return run.complete ? "it was not measured" : "its run did not reach its end";
  }

  void add_differing(std::size_t member) {
    static constexpr std::pair<FleetFact, const char*> exact[] = {
        {FleetFact::multiprocessors, "multiprocessors"},
        {FleetFact::pcie_generation, "PCIe generation while copying"},
        {FleetFact::pcie_lanes, "PCIe lanes"}};
    const FleetMember& its = group_.members[member];
    const bool is_known = std::ranges::find(*found_, "sms", &FleetFinding::what) != found_->end();
    for (const auto& [fact, what] : exact)
      if (is_less(its, usual_, fact) && !(is_known && fact == FleetFact::multiprocessors))
        add(Suspicion::differs, what, "",
            fmt::format("{:g}, and others have {:g}", fact_of(its.facts, fact),
                        usual_[static_cast<std::size_t>(fact)].value));
  }

  void add_apart(std::size_t member) {
    for (std::size_t i = 0; i < group_.items.size(); ++i) {
      const FleetItem& item = group_.items[i];
      const FleetValue& value = group_.members[member].values[i];
      if (!item.judged || value.disturbed || !(value.z >= rules_.z)) continue;
      const bool is_scatter = item.of == FleetItem::Of::scatter;
      if (!(is_scatter ? value.value >= item.tolerance : value.share > item.tolerance)) continue;
      const std::string text = is_scatter ? fmt::format("its own times scatter by {}, others' by {}",
                                                        value_text(item, value.value), value_text(item, item.median))
                                          : fmt::format("{}, and others have {}", value_text(item, value.value),
                                                        value_text(item, item.median));
      FleetFinding& finding = add(is_scatter ? Suspicion::noisy : Suspicion::slow, item.title, item.at, text);
      finding.of = item.of;
      finding.value = value.value;
      finding.others = item.median;
      finding.share = value.share;
      finding.z = value.z;
    }
  }

  const GroupOf& group_;
  const FleetRules& rules_;
  const UsualFacts usual_;
  std::vector<FleetFinding>* found_ = nullptr;
};

// Where all GPUs of a host that has several are suspects, the host is.
void blame_hosts(std::vector<FleetSuspect>& suspects, const std::vector<FleetMember>& members) {
  std::map<std::string, std::size_t> gpus, suspected;
  for (const FleetMember& member : members) ++gpus[member.host];
  for (const FleetSuspect& suspect : suspects) ++suspected[members[suspect.member].host];
  for (FleetSuspect& suspect : suspects) {
    const std::string& host = members[suspect.member].host;
    if (gpus[host] < 2 || suspected[host] != gpus[host]) continue;
    std::erase_if(suspect.causes, [](const FleetCause& cause) { return cause.cause == "unknown"; });
    suspect.causes.push_back(
        {"host", fmt::format("all {} GPUs of {} are suspects: look at the host", gpus[host], host)});
  }
}

}  // namespace

std::vector<FleetSuspect> suspects_of(const GroupOf& group, const FleetRules& rules) {
  Suspicions suspicions(group, rules);
  std::vector<FleetSuspect> all;
  for (std::size_t m = 0; m < group.members.size(); ++m)
    if (FleetSuspect suspect = suspicions.of(m); !suspect.findings.empty()) all.push_back(std::move(suspect));
  blame_hosts(all, group.members);
  return all;
}

}  // namespace npgpu::model
