// A group now, and as it was when a baseline of it was kept.
#pragma once

#include <optional>
#include <vector>

#include "npgpu/fleet.hpp"

namespace npgpu::model {

// The group of this model that is most like it: same link, same driver, most GPUs. Null if there is none.
const FleetBaseline::Group* group_in(const FleetBaseline&, const FleetGroup&);

// Sets the reference's medians of the items, and what changed by more than the tolerance, the slowest first.
// `tolerance`: of all key figures; else what anybody would act on, by kind.
void compare_with(FleetGroup&, const FleetBaseline::Group& before, std::optional<double> tolerance);

}  // namespace npgpu::model
