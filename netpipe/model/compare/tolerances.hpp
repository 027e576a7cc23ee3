// What differs from run to run is no change.
#pragma once

#include <optional>

#include "netpipe/model/compare/changes.hpp"

namespace npgpu::model {

// A curve's points that both sides have, in thirds; all in one part where they are less than six.
std::vector<Indices> thirds_of(const CaseCurve&);

// As given for all classes; else learned from the runs of each side that has enough, the larger of both: 1.5 times the
// largest deviation of a run from the median of its side, over all parts of a class, and at least 0.5 %; else usual.
Tolerances tolerances_of(const std::vector<CaseCurve>&, Runs a, Runs b, std::optional<double> given);

}  // namespace npgpu::model
