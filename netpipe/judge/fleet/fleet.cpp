// From runs to groups of GPUs, each judged by its own medians, and what is said of all of them.
#include "npgpu/judge/fleet.hpp"

#include <fmt/format.h>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/fleet/group.hpp"

namespace npgpu {

namespace {

using model::Sighting;
using model::Sightings;

using GroupKey = std::tuple<std::string, std::string, std::string, bool>;  // model, driver, link, simulated

// What identifies a GPU: its host, with its UUID or where it has none its place. Clones of a virtual machine
// have GPUs of one UUID on several hosts.
template <class Gpu> std::string identity_of(const std::string& host, const Gpu& gpu) {
  return host + '\n' + (!gpu.uuid.empty() ? gpu.uuid : !gpu.bus.empty() ? gpu.bus : gpu.id);
}

// The same run again: a copy of its trace, the trace as it was before it was complete, or the run in a merged file.
// Ranks of one run have GPUs of their own.
bool is_same_run(const FleetRun& a, const FleetRun& b) {
  const auto same_gpu = [](const FleetGpu& x, const FleetGpu& y) { return x.id == y.id && x.uuid == y.uuid; };
  return a.run_uuid == b.run_uuid && a.host == b.host && a.date == b.date &&
         (a.hash == b.hash || (!a.run_uuid.empty() && std::ranges::equal(a.gpus, b.gpus, same_gpu)));
}

FleetMember member_of(const Sightings& seen) {
  const Sighting& last = seen.back();
  FleetMember member{last.gpu->uuid, last.run->host, last.gpu->id, last.run->date, seen.size()};
  member.bus = last.gpu->bus;
  member.facts = last.gpu->facts;
  member.key_figures = last.gpu->key_figures;
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

// GPUs of one host are in one machine, unless its name is that of several.
model::Machines machines_of(const std::vector<FleetMember>& members, const std::set<std::string>& shared_names) {
  model::Machines machines;
  std::map<std::string, std::size_t> first;
  for (std::size_t m = 0; m < members.size(); ++m)
    machines.push_back(shared_names.contains(members[m].host) ? m
                                                              : first.try_emplace(members[m].host, m).first->second);
  return machines;
}

// Any of its GPUs was compared with others.
bool is_any_judged(const std::vector<model::ItemColumn>& columns) {
  return std::ranges::any_of(columns, [](const model::ItemColumn& column) {
    return column.item.judged &&
           std::ranges::any_of(column.values, [](const FleetValue& value) { return std::isfinite(value.share); });
  });
}

// Several traces of a GPU that has neither UUID nor PCI address may be of several GPUs, also of several machines that
// share a name. A simulated one is what its name says.
void say_who_cannot_be_told_apart(Fleet& fleet) {
  for (const FleetGroup& group : fleet.groups)
    for (const FleetMember& member : group.members)
      if (member.traces > 1 && member.uuid.empty() && member.bus.empty() && !group.simulated)
        fleet.notes.push_back(
            fmt::format("{} traces are of {} of {}, without a UUID or a PCI address: whether that is one GPU cannot be "
                        "known, they count as one by their median, and a slow one among several would not stand out",
                        member.traces, member.id, member.host));
}

// What is slow on most GPUs of a group is usual there: only its own limits show that it is slow.
void note_gpus_below_own_limits(FleetGroup& group, const std::vector<Sightings>& sightings) {
  if (!group.judged) return;
  // Calls and pageable copies are the host's, whose limits are coarse.
  const auto is_grave_rate = [](const FleetDefect& one) {
    return one.metric.find("_rate") != std::string::npos && one.metric.find("pageable") == std::string::npos;
  };
  std::size_t count = 0;
  std::string example;
  for (std::size_t m = 0; m < group.members.size(); ++m) {
    const auto& slow = sightings[m].back().gpu->slow;
    if (slow.empty() || std::ranges::find(group.suspects, m, &FleetSuspect::member) != group.suspects.end()) continue;
    group.slow_alone += std::ranges::any_of(slow, is_grave_rate);
    if (count++ == 0) example = fmt::format("{} {}: {}", group.members[m].host, group.members[m].id, slow.front().text);
  }
  if (count > 0)
    group.notes.push_back(
        fmt::format("{} of its GPUs that are like the others are slow by what their own link, memory "
                    "and clocks allow, as npgpu check says of each trace: {}",
                    count, example));
}

// Minutes at full power heat a GPU up to its power limit. Clocks and heat of most members are compared; of those who
// did the other thing they are not known.
void forget_other_loads(std::vector<FleetMember>& members, const std::vector<Sightings>& sightings) {
  const auto is_under_load = [](const Sightings& seen) { return seen.back().gpu->is_under_load; };
  const bool usual = 2 * std::ranges::count_if(sightings, is_under_load) > std::ssize(sightings);
  for (std::size_t m = 0; m < members.size(); ++m)
    if (is_under_load(sightings[m]) != usual)
      for (const FleetFact fact : {FleetFact::sm_clock_mhz, FleetFact::memory_clock_mhz, FleetFact::throttled,
                                   FleetFact::temperature_c, FleetFact::power_w})
        members[m].facts[static_cast<std::size_t>(fact)] = not_measured;
}

void judge_group(FleetGroup& group, const std::vector<Sightings>& sightings, const FleetRules& rules,
                 const std::set<std::string>& shared_names) {
  for (const Sightings& seen : sightings) group.members.push_back(member_of(seen));
  forget_other_loads(group.members, sightings);
  const model::Machines machines = machines_of(group.members, shared_names);
  const auto columns = model::columns_of(sightings, machines, rules);
  group.judged = is_any_judged(columns);
  for (const model::ItemColumn& column : columns) {
    group.items.push_back(column.item);
    for (std::size_t m = 0; m < group.members.size(); ++m) group.members[m].values.push_back(column.values[m]);
  }
  const bool is_large = group.members.size() >= rules.least_gpus;
  const model::GroupOf all{group.members, sightings, columns, machines, is_large, group.judged};
  group.hosts = model::slow_hosts_of(all);
  group.suspects = model::suspects_of(all, group.hosts, rules);
  note_gpus_below_own_limits(group, sightings);
}

// A few GPUs whose link can have less than the many others of the same model and driver: each is to be looked at.
void suspect_lesser_links(FleetGroup& group, const std::vector<FleetGroup>& all, const FleetRules& rules) {
  constexpr std::size_t many_times = 9;
  for (const FleetGroup& other : all) {
    if (other.model != group.model || other.driver != group.driver || other.simulated != group.simulated ||
        other.link == group.link || group.link.empty() || other.members.size() < rules.least_gpus ||
        other.members.size() < many_times * group.members.size())
      continue;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      auto suspect = std::ranges::find(group.suspects, m, &FleetSuspect::member);
      if (suspect == group.suspects.end()) {
        suspect = group.suspects.insert(suspect, FleetSuspect{});
        suspect->member = m;
      }
      suspect->findings.push_back(
          {.suspicion = Suspicion::differs,
           .what = "link",
           .text = fmt::format("at most {} ({} others: {})", group.link, other.members.size(), other.link)});
      std::erase_if(suspect->causes, [](const FleetCause& cause) { return cause.cause == "unknown"; });
      suspect->causes.push_back(
          {"link",
           fmt::format("GPU and slot support {} together (others: {}): look at the slot, the riser and the BIOS",
                       group.link, other.link)});
    }
    return;
  }
}

void say_why_not_judged(FleetGroup& group, const std::vector<FleetGroup>& all, const FleetRules& rules) {
  if (group.judged) return;
  const std::size_t count = group.members.size();
  if (count >= rules.least_gpus) {
    group.notes.insert(group.notes.begin(),
                       fmt::format("no figure was measured on {} GPUs or more: each is judged alone, by what its own "
                                   "link, memory and clocks allow",
                                   rules.least_gpus));
    return;
  }
  group.notes.insert(
      group.notes.begin(),
      fmt::format(
          "{} GPU{}: fewer than {} are not compared with each other, and each is judged alone, by what its own link, "
          "memory and clocks allow; npgpu compare A.h5 B.h5 compares two, npgpu check --reference GOOD.h5 judges one "
          "by a good run",
          count, count == 1 ? "" : "s", rules.least_gpus));
  if (const std::string other = differing_from(group, all); !other.empty()) group.notes.push_back(other);
}

// Where a thing was over time: at which places, and how often it changed.
struct Places {
  std::vector<std::string> all;  // each once, in the order of time
  std::string last{}, since{};
  std::size_t changes = 0;

  void see(const std::string& place, const std::string& date) {
    if (std::ranges::find(all, place) == all.end()) all.push_back(place);
    if (place == last) return;
    changes += !last.empty();
    last = place;
    since = date;
  }
  bool moved_once() const { return all.size() == 2 && changes == 1; }
};

// GPUs that were on several hosts, and hosts whose name several machines have: by place and by GPU in order of time.
void say_who_moved(Fleet& fleet, const std::vector<const FleetRun*>& runs) {
  std::map<std::string, Places> of_gpu;                           // hosts of a UUID
  std::map<std::pair<std::string, std::string>, Places> of_slot;  // UUIDs of a host's device
  for (const FleetRun* run : runs)
    for (const FleetGpu& gpu : run->gpus) {
      if (gpu.uuid.empty()) continue;
      of_gpu[gpu.uuid].see(run->host, run->date);
      of_slot[{run->host, gpu.id}].see(gpu.uuid, run->date);
    }
  for (const auto& [uuid, hosts] : of_gpu) {
    if (hosts.all.size() < 2) continue;
    fleet.notes.push_back(
        hosts.moved_once()
            ? fmt::format("{} moved from {} to {} (there since {}): each place is judged by itself", uuid, hosts.all[0],
                          hosts.all[1], hosts.since.substr(0, 10))
            : fmt::format(
                  "{} is on {} hosts, {} and {} among them: clones of a virtual machine share their UUIDs, so each "
                  "is judged by itself",
                  uuid, hosts.all.size(), hosts.all[0], hosts.all[1]));
  }
  for (const auto& [slot, uuids] : of_slot) {
    if (uuids.all.size() < 2) continue;
    if (uuids.moved_once()) {
      fleet.notes.push_back(fmt::format("{} {} was replaced: {} until {}, now {}", slot.first, slot.second,
                                        uuids.all[0], uuids.since.substr(0, 10), uuids.all[1]));
    } else if (fleet.shared_names.insert(slot.first).second) {
      fleet.notes.push_back(
          fmt::format("{} GPUs were {} of {}: several machines have that name, so their hosts are not "
                      "compared with others, and no line for Slurm names it",
                      uuids.all.size(), slot.second, slot.first));
    }
  }
}

// Each metric of a host once, of the last run that has it.
std::vector<FleetBrokenHost> by_host(const std::vector<const FleetRun*>& runs,
                                     std::vector<FleetDefect> FleetRun::*which) {
  std::map<std::pair<std::string, std::string>, FleetDefect> last;  // by host and metric
  for (const FleetRun* run : runs)
    for (const FleetDefect& defect : run->*which) last[{run->host, defect.metric}] = defect;
  std::vector<FleetBrokenHost> all;
  for (const auto& [of, defect] : last) all.push_back({of.first, defect});
  return all;
}

}  // namespace

std::size_t Fleet::gpus() const {
  std::set<std::string> all;
  for (const FleetGroup& group : groups)
    for (const FleetMember& member : group.members) all.insert(identity_of(member.host, member));
  return all.size();
}

std::size_t Fleet::suspects() const {
  std::size_t count = 0;
  for (const FleetGroup& group : groups) count += group.suspects.size();
  return count;
}

bool FleetGroup::is_in_doubt() const { return slow_alone > 0 && 2 * slow_alone >= members.size(); }

std::size_t Fleet::in_doubt() const {
  std::size_t count = 0;
  for (const FleetGroup& group : groups)
    if (group.is_in_doubt()) count += group.slow_alone;
  return count;
}

bool FleetSuspect::confirmed() const { return std::ranges::any_of(findings, &FleetFinding::confirmed); }

CheckVerdict FleetSuspect::verdict() const {
  const auto any = [&](auto holds) { return std::ranges::any_of(findings, holds); };
  // Multiprocessors that are missing are a defect; a lesser link or clock is what makes it slow.
  if (any([](const FleetFinding& one) {
        return one.suspicion == Suspicion::broken || (one.suspicion == Suspicion::differs && one.confirmed);
      }))
    return CheckVerdict::broken;
  if (any([](const FleetFinding& one) {  // by its own limits, where there is no value of others
        return one.suspicion == Suspicion::slow && (one.confirmed || std::isnan(one.value));
      }))
    return CheckVerdict::slow;
  const bool is_missing = any([](const FleetFinding& one) { return one.suspicion == Suspicion::missing; });
  return is_missing ? CheckVerdict::failed_to_run : CheckVerdict::undecided;
}

std::size_t Fleet::confirmed() const {
  std::size_t count = 0;
  for (const FleetGroup& group : groups)
    count += static_cast<std::size_t>(std::ranges::count_if(group.suspects, &FleetSuspect::confirmed));
  return count;
}

std::size_t Fleet::slow_hosts() const {
  std::set<std::string> all;
  for (const FleetGroup& group : groups)
    for (const FleetHost& host : group.hosts) all.insert(host.host);
  return all.size();
}

std::vector<std::string> Fleet::excluded_hosts() const {
  std::set<std::string> all;
  for (const FleetGroup& group : groups)
    for (const FleetSuspect& suspect : group.suspects)
      if (const std::string& host = group.members[suspect.member].host;
          suspect.confirmed() && !shared_names.contains(host))
        all.insert(host);
  for (const FleetBrokenHost& broken : broken_hosts)
    if (!shared_names.contains(broken.host)) all.insert(broken.host);
  return {all.begin(), all.end()};
}

Fleet judge_fleet(const std::vector<FleetRun>& runs, const FleetRules& rules) {
  Fleet fleet;
  fleet.files = runs.size();
  // In an order that is theirs, and not that of the files.
  std::vector<const FleetRun*> in_order;
  for (const FleetRun& run : runs) in_order.push_back(&run);
  std::ranges::sort(in_order, {}, [](const FleetRun* run) {
    return std::tuple(std::tie(run->date, run->host, run->run_uuid), !run->complete, run->hash);
  });
  std::map<GroupKey, std::map<std::string, Sightings>> groups;  // by identity
  std::set<std::string> hosts;
  std::vector<const FleetRun*> counted_runs;
  const FleetRun* before = nullptr;
  for (const FleetRun* run : in_order) {
    const bool is_copy = before && is_same_run(*before, *run);
    before = run;
    if (is_copy) {
      ++fleet.duplicates;
      continue;
    }
    hosts.insert(run->host);
    counted_runs.push_back(run);
    if (fleet.first_date.empty()) fleet.first_date = run->date;
    fleet.last_date = run->date;
    fleet.without_gpu += run->gpus.empty();
    fleet.incomplete += !run->complete;
    for (const FleetGpu& gpu : run->gpus)
      groups[{gpu.name, gpu.driver, gpu.link, gpu.simulated}][identity_of(run->host, gpu)].push_back({run, &gpu});
  }
  fleet.hosts = hosts.size();
  fleet.broken_hosts = by_host(counted_runs, &FleetRun::defects);
  fleet.unjudged_hosts = by_host(counted_runs, &FleetRun::open);
  say_who_moved(fleet, counted_runs);
  for (auto& [key, by_identity] : groups) {
    std::vector<Sightings> sightings;
    for (auto& [identity, seen] : by_identity) sightings.push_back(std::move(seen));
    sort_stably(sightings, [](const Sightings& a, const Sightings& b) {
      return std::tie(a.back().run->host, a.back().gpu->id) < std::tie(b.back().run->host, b.back().gpu->id);
    });
    FleetGroup& group = fleet.groups.emplace_back();
    std::tie(group.model, group.driver, group.link, group.simulated) = key;
    judge_group(group, sightings, rules, fleet.shared_names);
  }
  for (FleetGroup& group : fleet.groups) {
    say_why_not_judged(group, fleet.groups, rules);
    suspect_lesser_links(group, fleet.groups, rules);
  }
  sort_stably(fleet.groups, std::ranges::greater{}, [](const FleetGroup& group) { return group.members.size(); });
  say_who_cannot_be_told_apart(fleet);
  return fleet;
}

}  // namespace npgpu
