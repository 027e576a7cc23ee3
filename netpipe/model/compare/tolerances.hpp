// What runs of one machine differ by, and what a change has to be to matter.
#pragma once

#include <optional>

#include "netpipe/model/compare/parts.hpp"

namespace npgpu::model {

// What two runs of one machine differed by at most.
Tolerances usual_tolerances();

// What matters: as given for all classes, else by class.
Tolerances tolerances_of(std::optional<double> given);

}  // namespace npgpu::model
