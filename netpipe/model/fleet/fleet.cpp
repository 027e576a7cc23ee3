#include "npgpu/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "netpipe/model/fleet/baseline.hpp"
#include "netpipe/model/fleet/suspects.hpp"

namespace npgpu {

namespace {

using model::Sighting;
using model::Sightings;

using GroupKey = std::tuple<std::string, std::string, std::string, bool>;  // model, driver, link, simulated

// What tells a GPU from all others: its UUID, or where it has none its place.
std::string identity_of(const FleetRun& run, const FleetGpu& gpu) {
  return gpu.uuid.empty() ? run.host + '\n' + gpu.id : gpu.uuid;
}

FleetMember member_of(const Sightings& seen) {
  const Sighting& last = seen.back();
  FleetMember member{last.gpu->uuid, last.run->host, last.gpu->id, last.run->date, seen.size()};
  member.facts = last.gpu->facts;
  return member;
}

// The largest other group of the same model says what is special of this one.
std::string differing_from(const FleetGroup& group, const std::vector<FleetGroup>& all) {
  const FleetGroup* largest = nullptr;
  for (const FleetGroup& other : all)
    if (&other != &group && other.model == group.model && other.simulated == group.simulated &&
        other.members.size() > group.members.size() && (!largest || other.members.size() > largest->members.size()))
      largest = &other;
  if (!largest) return {};
  const auto or_unknown = [](const std::string& text) { return text.empty() ? std::string("unknown") : text; };
  std::string text;
  const auto add = [&](const char* what, const std::string& own, const std::string& others) {
    if (own != others)
      text +=
          fmt::format("{}{}: {} here, {} there", text.empty() ? "" : "; ", what, or_unknown(own), or_unknown(others));
  };
  add("driver", group.driver, largest->driver);
  add("link", group.link, largest->link);
  return fmt::format("{} GPUs of the same model differ from it ({})", largest->members.size(), text);
}

void judge_group(FleetGroup& group, const std::vector<Sightings>& sightings, const FleetRules& rules) {
  for (const Sightings& seen : sightings) group.members.push_back(member_of(seen));
  const std::vector<model::CaseTable> tables = model::tables_of(sightings);
  for (const model::CaseTable& table : tables) group.cases.push_back(table.of);
  const FleetBaseline::Group* const reference = rules.reference ? model::group_in(*rules.reference, group) : nullptr;
  const bool is_large = group.members.size() >= rules.least_gpus;
  group.judged = is_large || reference;
  group.judged_by_reference = !is_large && reference;
  auto columns =
      model::items_of(tables, model::figures_of(sightings), rules, group.judged_by_reference ? reference : nullptr);
  for (model::ItemColumn& column : columns) {
    group.items.push_back(std::move(column.item));
    for (std::size_t m = 0; m < group.members.size(); ++m) group.members[m].values.push_back(column.values[m]);
  }
  group.suspects = model::suspects_of({group.members, sightings, tables, group.items, group.judged}, rules);
  if (!reference) return;
  group.reference_date = rules.reference->date;
  if (reference->driver != group.driver || reference->link != group.link)
    group.notes.push_back(fmt::format("the reference of {} is of driver {}, {}", group.reference_date,
                                      reference->driver.empty() ? "unknown" : reference->driver,
                                      reference->link.empty() ? "unknown link" : reference->link));
  if (is_large) model::compare_with(group, *reference);
}

void say_why_not_judged(FleetGroup& group, const std::vector<FleetGroup>& all, const FleetRules& rules) {
  if (group.judged && !group.judged_by_reference) return;
  const std::size_t count = group.members.size();
  group.notes.insert(
      group.notes.begin(),
      fmt::format(
          "{} GPU{}: a group of fewer than {} cannot be judged by its own medians{}", count, count == 1 ? "" : "s",
          rules.least_gpus,
          group.judged_by_reference ? "; it is judged by the reference of " + group.reference_date : std::string()));
  if (const std::string other = differing_from(group, all); !other.empty()) group.notes.push_back(other);
}

}  // namespace

std::size_t Fleet::gpus() const {
  std::set<std::string> all;
  for (const FleetGroup& group : groups)
    for (const FleetMember& member : group.members)
      all.insert(member.uuid.empty() ? member.host + '\n' + member.id : member.uuid);
  return all.size();
}

std::size_t Fleet::suspects() const {
  std::size_t count = 0;
  for (const FleetGroup& group : groups) count += group.suspects.size();
  return count;
}

bool Fleet::has_slower_group() const {
  return std::ranges::any_of(
      groups, [](const FleetGroup& group) { return std::ranges::any_of(group.drifts, &FleetDrift::slower); });
}

std::vector<std::string> Fleet::suspect_hosts() const {
  std::set<std::string> all;
  for (const FleetGroup& group : groups)
    for (const FleetSuspect& suspect : group.suspects) all.insert(group.members[suspect.member].host);
  return {all.begin(), all.end()};
}

Fleet judge_fleet(const std::vector<FleetRun>& runs, const FleetRules& rules) {
  Fleet fleet;
  fleet.files = runs.size();
  // In an order that is theirs, and not that of the files.
  std::vector<const FleetRun*> in_order;
  for (const FleetRun& run : runs) in_order.push_back(&run);
  std::ranges::sort(in_order, {},
                    [](const FleetRun* run) { return std::tie(run->date, run->host, run->run_uuid, run->hash); });
  std::map<GroupKey, std::map<std::string, Sightings>> groups;  // by identity
  std::set<std::string> hosts;
  const FleetRun* before = nullptr;
  for (const FleetRun* run : in_order) {
    const bool is_copy =
        before && run->run_uuid == before->run_uuid && run->hash == before->hash && run->host == before->host;
    before = run;
    if (is_copy) {
      ++fleet.duplicates;
      continue;
    }
    hosts.insert(run->host);
    if (fleet.first_date.empty()) fleet.first_date = run->date;
    fleet.last_date = run->date;
    fleet.without_gpu += run->gpus.empty();
    fleet.incomplete += !run->complete;
    for (const FleetGpu& gpu : run->gpus)
      groups[{gpu.name, gpu.driver, gpu.link, gpu.simulated}][identity_of(*run, gpu)].push_back({run, &gpu});
  }
  fleet.hosts = hosts.size();
  for (auto& [key, by_identity] : groups) {
    std::vector<Sightings> sightings;
    for (auto& [identity, seen] : by_identity) sightings.push_back(std::move(seen));
    std::ranges::stable_sort(sightings, [](const Sightings& a, const Sightings& b) {
      return std::tie(a.back().run->host, a.back().gpu->id) < std::tie(b.back().run->host, b.back().gpu->id);
    });
    FleetGroup& group = fleet.groups.emplace_back();
    std::tie(group.model, group.driver, group.link, group.simulated) = key;
    judge_group(group, sightings, rules);
  }
  for (FleetGroup& group : fleet.groups) say_why_not_judged(group, fleet.groups, rules);
  std::ranges::stable_sort(fleet.groups, std::ranges::greater{},
                           [](const FleetGroup& group) { return group.members.size(); });
  return fleet;
}

}  // namespace npgpu
