// What differs from run to run is no change.
#pragma once

#include <optional>

#include "netpipe/model/compare/parts.hpp"

namespace npgpu::model {

// Of two runs of one machine.
Tolerances usual_tolerances();

// As given for all classes; else learned from the runs of each side that has enough, the larger of both: 1.5 times the
// largest deviation of a run from the median of its side, over all parts and key figures of a class in that third, and
// at least 0.5 %; else usual.
Tolerances tolerances_of(const std::vector<CaseCurve>&, Runs a, Runs b, std::optional<double> given);

}  // namespace npgpu::model
