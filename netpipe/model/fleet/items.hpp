// What the GPUs of a group are compared with, and how far each is from it.
#pragma once

#include <optional>
#include <vector>

#include "netpipe/model/fleet/tables.hpp"
#include "netpipe/model/siblings.hpp"

namespace npgpu::model {

struct ItemColumn {
  FleetItem item;
  std::vector<FleetValue> values;  // by member
  // Of figures of the host: how much more time a host takes, and whether enough hosts have a value.
  Standard hosts{};
  bool judges_hosts = false;
  std::optional<FleetSplit> split{};  // of two sorts of GPUs
};

// Which machine each member is in: the number of the first member there.
using Machines = std::vector<std::size_t>;

// Key figures, how they scatter and become slower within their runs, thirds of curves: those that a member has.
// `reference`: of the group that medians and scatter are taken from; null: from the members themselves.
std::vector<ItemColumn> items_of(const std::vector<CaseTable>&, const std::vector<FigureColumn>&,
                                 const std::vector<CourseColumn>&, const Machines&, const FleetRules&,
                                 const FleetBaseline::Group* reference);

// The same question; of a curve whatever the points.
bool is_same_item(const FleetItem&, const FleetItem&);
bool is_same_case(const FleetQuestion&, const FleetQuestion&);

}  // namespace npgpu::model
