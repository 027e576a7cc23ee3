// Which GPUs of a group are not like the others, and which hosts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/fleet/group.hpp"
#include "netpipe/judge/judge.hpp"

namespace npgpu::model {

namespace {

Ruling ruling_on(const FleetItem& item, const FleetValue& value) {
  if (!item.judged || value.disturbed || !std::isfinite(value.share)) return Ruling::no_limit;
  return rule_apart(value.share, value.low, item.tolerance);
}

// ---- what is missing ----

using CaseName = std::pair<std::string, std::string>;  // kind, title

// Who followed a plan, and who of them has which case.
struct Followers {
  std::set<std::size_t> members;
  std::map<CaseName, std::set<std::size_t>> have;
};

// What a plan had and a GPU has no figure of.
struct MissingFigure {
  std::string title, why;
};

// By member, what its own plans had and it has no valid figure of. A series without a valid point says so by itself;
// one that is not there is missing where nine tenths of at least `least_gpus` GPUs that followed the same plan have it.
std::vector<std::vector<MissingFigure>> missing_of(const std::vector<Sightings>& members, std::size_t least_gpus) {
  std::map<std::string, Followers> plans;
  std::vector<std::map<CaseName, std::string>> why(members.size());  // that are there, and have no valid figure
  std::vector<std::set<CaseName>> have(members.size());
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const Sighting& seen : members[m]) {
      Followers* const plan = seen.run->plan.empty() ? nullptr : &plans[seen.run->plan];
      if (plan) plan->members.insert(m);
      for (const FleetSeries& series : seen.gpu->series) {
        const CaseName name{series.kind, series.title};
        if (!series.is_measured) {
          why[m].emplace(name, series.why);
          continue;
        }
        have[m].insert(name);
        if (plan) plan->have[name].insert(m);
      }
    }
  std::vector<std::vector<MissingFigure>> missing(members.size());
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const auto& [name, because] : why[m])
      if (!have[m].contains(name)) missing[m].push_back({name.second, because});
  for (const auto& [plan, followers] : plans) {
    const std::size_t all = followers.members.size();
    if (all < least_gpus) continue;
    for (const auto& [name, owners] : followers.have) {
      if (owners.size() == all || owners.size() + std::max<std::size_t>(all / 10, 1) < all) continue;
      for (const std::size_t m : followers.members) {
        if (have[m].contains(name) || why[m].contains(name)) continue;
        const bool is_cut = std::ranges::any_of(
            members[m], [&](const Sighting& seen) { return seen.run->plan == plan && !seen.run->complete; });
        missing[m].push_back({name.second, is_cut ? "its run did not reach its end" : "it is not in its trace"});
      }
    }
  }
  return missing;
}

// ---- suspects ----

class Suspicions {
 public:
  Suspicions(const GroupOf& group, const std::vector<FleetHost>& slow, const FleetRules& rules)
      : group_(group),
        usual_(usual_facts(group.members)),
        settings_(usual_settings(group.sightings)),
        missing_(missing_of(group.sightings, rules.least_gpus)) {
    for (const FleetHost& host : slow) slow_hosts_.insert(host.host);
  }

  FleetSuspect of(std::size_t member) {
    FleetSuspect suspect;
    suspect.member = member;
    found_ = &suspect.findings;
    add_defects(member);
    add_missing(member);
    if (group_.judged) {
      add_differing(member);
      add_apart(member);
    }
    add_slow_alone(member);
    if (suspect.findings.empty()) return suspect;
    sort_stably(suspect.findings, [](const FleetFinding& a, const FleetFinding& b) {
      if (a.suspicion != b.suspicion) return a.suspicion < b.suspicion;
      if (a.confirmed != b.confirmed) return a.confirmed;
      if (a.kind != b.kind) return a.kind < b.kind;
      return a.share > b.share;
    });
    suspect.causes = causes_of(group_, member, usual_, settings_, suspect.findings);
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
    for (const auto& [metric, text] : all) add(Suspicion::broken, metric, "", text).confirmed = true;
  }

  // Where nobody is there to be compared with, what its own link, memory and clocks allow says something, and always
  // that it fell in a soak, or that its copies to other GPUs are slower than those of pairs like it. One trace does not
  // confirm what was not compared: a check measures again what is slow.
  void add_slow_alone(std::size_t member) {
    for (const FleetDefect& one : group_.sightings[member].back().gpu->slow)
      if (!group_.by_items || one.metric.starts_with("soak_") || one.metric.starts_with("peer_"))
        add(Suspicion::slow, one.metric, "", one.text).confirmed = one.metric == "peer_rate";
  }

  void add_missing(std::size_t member) {
    for (const MissingFigure& one : missing_[member])
      add(Suspicion::missing, one.title, "", "no valid figure" + (one.why.empty() ? "" : ": " + one.why));
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
        add(Suspicion::differs, what, "", fmt::format("{:g} (others: {:g})", fact_of(its.facts, fact), usual(fact)))
            .confirmed = fact == FleetFact::multiprocessors;
    for (const auto& [fact, what] : {std::pair{FleetFact::sm_clock_mhz, "SM clock under load"},
                                     std::pair{FleetFact::memory_clock_mhz, "memory clock under load"}})
      if (is_lower_clock(its, usual_, fact))
        add(Suspicion::differs, what, "",
            fmt::format("{:.0f} MHz (others: {:.0f})", fact_of(its.facts, fact), usual(fact)));
    if (is_throttled(its, usual_))
      add(Suspicion::differs, "clocks held back", "",
          fmt::format("in {:.0f} % of its visits (others: {:.0f} %)", 100 * fact_of(its.facts, FleetFact::throttled),
                      100 * std::fmax(0, usual(FleetFact::throttled))));
  }
  double usual(FleetFact fact) const { return usual_[static_cast<std::size_t>(fact)].value; }

  void add_apart(std::size_t member) {
    for (const ItemColumn& column : group_.columns) {
      const FleetItem& item = column.item;
      const FleetValue& value = column.values[member];
      if (is_of_host(item.figure) && slow_hosts_.contains(group_.members[member].host)) continue;
      const Ruling ruling = ruling_on(item, value);
      if (ruling != Ruling::slow && ruling != Ruling::undecided) continue;
      FleetFinding& finding = add(Suspicion::slow, item.title, item.at,
                                  fmt::format("{} (others: {})", text_of_figure(value.value, item.unit),
                                              text_of_figure(item.median, item.unit)));
      finding.kind = item.figure;
      finding.value = value.value;
      finding.others = item.median;
      finding.share = value.share;
      finding.low = value.low;
      finding.z = value.z;
      finding.confirmed = is_grave(item.figure) && ruling == Ruling::slow && !column.half_are_slow;
    }
  }

  const GroupOf& group_;
  const UsualFacts usual_;
  const std::map<std::string, std::string> settings_;
  const std::vector<std::vector<MissingFigure>> missing_;
  std::set<std::string> slow_hosts_;
  std::vector<FleetFinding>* found_ = nullptr;
};

// Where all GPUs of a host that has several are suspects, the host is.
void blame_hosts(std::vector<FleetSuspect>& suspects, const GroupOf& group) {
  std::map<std::size_t, std::size_t> gpus, suspected;
  for (const std::size_t machine : group.machines) ++gpus[machine];
  for (const FleetSuspect& suspect : suspects) ++suspected[group.machines[suspect.member]];
  for (FleetSuspect& suspect : suspects) {
    const std::size_t machine = group.machines[suspect.member];
    if (gpus[machine] < 2 || suspected[machine] != gpus[machine]) continue;
    // Both ends of a slow link between two GPUs are suspects.
    if (std::ranges::find(suspect.causes, "peer_link", &FleetCause::cause) != suspect.causes.end()) continue;
    std::erase_if(suspect.causes, [](const FleetCause& cause) { return cause.cause == "unknown"; });
    suspect.causes.push_back({"host", fmt::format("all {} GPUs of {} are suspects: look at the host", gpus[machine],
                                                  group.members[suspect.member].host)});
  }
}

}  // namespace

std::vector<FleetSuspect> suspects_of(const GroupOf& group, const std::vector<FleetHost>& slow,
                                      const FleetRules& rules) {
  Suspicions suspicions(group, slow, rules);
  std::vector<FleetSuspect> all;
  for (std::size_t m = 0; m < group.members.size(); ++m)
    if (FleetSuspect suspect = suspicions.of(m); !suspect.findings.empty()) all.push_back(std::move(suspect));
  blame_hosts(all, group);
  return all;
}

std::vector<FleetHost> slow_hosts_of(const GroupOf& group) {
  std::map<std::size_t, std::size_t> gpus;
  for (const std::size_t machine : group.machines) ++gpus[machine];
  std::map<std::string, FleetHost> all;  // by name
  for (const ItemColumn& column : group.columns) {
    const FleetItem& item = column.item;
    if (!column.judges_hosts || !group.judged) continue;
    std::map<std::size_t, std::size_t> first;  // member that has a value, by machine
    for (std::size_t m = 0; m < column.values.size(); ++m)
      if (std::isfinite(column.values[m].host) && !column.values[m].disturbed) first.try_emplace(group.machines[m], m);
    for (const auto& [machine, m] : first) {
      const double share = column.values[m].host;
      if (!(std::log1p(share) > column.hosts.limit)) continue;
      FleetHost& host = all[group.members[m].host];
      host.host = group.members[m].host;
      host.gpus = gpus[machine];
      FleetFinding& finding = host.findings.emplace_back();
      finding.kind = item.figure;
      finding.what = item.title;
      finding.at = item.at;
      finding.share = share;
      finding.z = std::log1p(share) / column.hosts.unit;
      finding.others = item.median;
      finding.text = fmt::format("{:.0f} % more time than on other hosts", 100 * share);
    }
  }
  std::vector<FleetHost> hosts;
  for (auto& [name, host] : all) {
    sort_stably(host.findings, std::ranges::greater{}, &FleetFinding::share);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace npgpu::model
