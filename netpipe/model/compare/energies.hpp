// What work costs in energy, before and now.
#pragma once

#include <optional>
#include <vector>

#include "netpipe/model/compare/questions.hpp"

namespace npgpu::model {

// One for each kind of work, in the order of A, then those that B alone has. `tolerance`: as given, else usual.
std::vector<EnergyChange> energy_changes(const std::vector<Run>&, std::optional<double> tolerance);

}  // namespace npgpu::model
