// Which GPUs of a group are not like the others, and what speaks for a cause.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "netpipe/model/fleet/items.hpp"

namespace npgpu::model {

// Everything that is known of a group's GPUs, by member.
struct GroupOf {
  const std::vector<FleetMember>& members;
  const std::vector<Sightings>& sightings;
  const std::vector<CaseTable>& tables;
  const std::vector<ItemColumn>& columns;
  const Machines& machines;
  bool judged = false;    // by facts and items; else only what is wrong with a GPU by itself counts
  bool by_items = false;  // of figures that several have
};

// Hosts that slow all of their GPUs' calls, or make them scatter.
std::vector<FleetHost> slow_hosts_of(const GroupOf&);
// Sets findings and causes; those without findings are no suspects. By what the host has a part in nobody is judged who
// is on one of these.
std::vector<FleetSuspect> suspects_of(const GroupOf&, const std::vector<FleetHost>& slow, const FleetRules&);

// What a plan had and a GPU has no figure of.
struct MissingFigure {
  std::string title, why;
};
// Of each member: what its own plans had and it has no valid figure of. A series without a valid point says so by
// itself; one that is not there is missing where nine tenths of at least `least_gpus` GPUs that followed the same plan
// have it.
std::vector<std::vector<MissingFigure>> missing_of(const std::vector<Sightings>&, std::size_t least_gpus);

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
