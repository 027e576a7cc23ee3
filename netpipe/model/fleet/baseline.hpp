// A group now, and as it was when a baseline of it was kept.
#pragma once

#include <vector>

#include "npgpu/fleet.hpp"

namespace npgpu::model {

// The group of this model that is most like it: same link, same driver, most GPUs. Null if there is none.
const FleetBaseline::Group* group_in(const FleetBaseline&, const FleetGroup&);

// Sets the reference's medians of the items, and what changed by more than the tolerance, the slowest first.
void compare_with(FleetGroup&, const FleetBaseline::Group& before);

}  // namespace npgpu::model
