// The GPUs of a group: what their traces say, figure by figure, and what is found by that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "netpipe/judge/judge.hpp"
#include "npgpu/judge/fleet.hpp"

namespace npgpu::model {

// One GPU in one trace.
struct Sighting {
  const FleetRun* run = nullptr;
  const FleetGpu* gpu = nullptr;
};
// All traces of one GPU, by date.
using Sightings = std::vector<Sighting>;

// Which machine each member is in: the number of the first member there.
using Machines = std::vector<std::size_t>;

struct ItemColumn {
  FleetItem item;
  std::vector<FleetValue> values;  // by member: medians over its traces
  bool half_are_slow = false;      // or more: that is usual, and nobody is confirmed by it
  // How much more time a host takes, for figures of the host, and whether enough hosts have a value.
  Standard hosts{};
  bool judges_hosts = false;
};
// Each key figure that a member has. Figures at other points are other figures.
std::vector<ItemColumn> columns_of(const std::vector<Sightings>& members, const Machines&, const FleetRules&);

// Everything that is known of a group's GPUs, by member.
struct GroupOf {
  const std::vector<FleetMember>& members;
  const std::vector<Sightings>& sightings;
  const std::vector<ItemColumn>& columns;
  const Machines& machines;
  bool judged = false;    // by facts and items; else only what is wrong with a GPU by itself counts
  bool by_items = false;  // of figures that several have
};

// Hosts that slow all of their GPUs' calls.
std::vector<FleetHost> slow_hosts_of(const GroupOf&);
// Sets findings and causes; those without findings are no suspects. By what the host has a part in nobody is judged who
// is on one of these.
std::vector<FleetSuspect> suspects_of(const GroupOf&, const std::vector<FleetHost>& slow, const FleetRules&);

// ---- causes ----

// What most of a group have, and whether it is most.
struct Usual {
  double value = not_measured;
  bool is_clear = false;        // nine tenths have it, or all but one
  double limit = not_measured;  // of clocks the lowest that is usual, of throttled visits the largest share
};
using UsualFacts = std::array<Usual, names_of<FleetFact>.size()>;  // by fact
UsualFacts usual_facts(const std::vector<FleetMember>&);
bool is_less(const FleetMember&, const UsualFacts&, FleetFact);  // than what is clearly usual

bool is_lower_clock(const FleetMember&, const UsualFacts&, FleetFact);
bool is_throttled(const FleetMember&, const UsualFacts&);  // in more of its visits than the others

// How most of a group are set: by name, what nine tenths have.
std::map<std::string, std::string> usual_settings(const std::vector<Sightings>&);

// From findings, facts and settings.
std::vector<FleetCause> causes_of(const GroupOf&, std::size_t member, const UsualFacts&,
                                  const std::map<std::string, std::string>& settings, const std::vector<FleetFinding>&);

}  // namespace npgpu::model
