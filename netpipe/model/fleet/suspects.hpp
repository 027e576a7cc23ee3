// Which GPUs of a group are not like the others, and what speaks for a cause.
#pragma once

#include <vector>

#include "netpipe/model/fleet/items.hpp"

namespace npgpu::model {

// Everything that is known of a group's GPUs, by member.
struct GroupOf {
  const std::vector<FleetMember>& members;
  const std::vector<Sightings>& sightings;
  const std::vector<CaseTable>& tables;
  const std::vector<FleetItem>& items;
  bool judged = false;  // by items; else only what is wrong with a GPU by itself counts
};

// Sets findings and causes; those without findings are no suspects.
std::vector<FleetSuspect> suspects_of(const GroupOf&, const FleetRules&);

// ---- causes ----

// What most of a group have, and whether it is most.
struct Usual {
  double value = not_measured;
  bool is_clear = false;  // nine tenths have it, or all but one
};
using UsualFacts = std::array<Usual, names_of<FleetFact>.size()>;  // by fact
UsualFacts usual_facts(const std::vector<FleetMember>&);
bool is_less(const FleetMember&, const UsualFacts&, FleetFact);  // than what is clearly usual

// From findings and facts; `last`: of its last trace.
std::vector<FleetCause> causes_of(const FleetMember&, const FleetGpu& last, const UsualFacts&,
                                  const std::vector<FleetFinding>&);

}  // namespace npgpu::model
