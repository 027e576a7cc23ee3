// What the GPUs of a group are held against, and how far each is from it.
#pragma once

#include <optional>
#include <vector>

#include "netpipe/model/fleet/tables.hpp"

namespace npgpu::model {

struct ItemColumn {
  FleetItem item;
  std::vector<FleetValue> values;  // by member
};

// Thirds of curves, key figures, and the scatter of each class; those that a member has. `reference`: of the group that
// medians and scatter are taken from; null: from the members themselves.
std::vector<ItemColumn> items_of(const std::vector<CaseTable>&, const std::vector<FigureTable>&, const FleetRules&,
                                 const FleetBaseline::Group* reference);

// The same question, whatever the points.
bool is_same_item(const FleetItem&, const FleetItem&);
bool is_same_case(const FleetQuestion&, const FleetQuestion&);
bool is_rate(FigureUnit);

}  // namespace npgpu::model
