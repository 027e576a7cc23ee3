// Which points of a curve are judged together.
#pragma once

#include "netpipe/model/compare/changes.hpp"

namespace npgpu::model {

struct Part {
  Third third = Third::all;  // whose tolerance it has
  Indices points;
};

// A curve's points that both sides have, in thirds; all in one part where they are less than six.
std::vector<Part> thirds_of(const CaseCurve&);

// Of the points that both sides have: those of at least an eighth of the largest size, the three first, or those whose
// rate is within 2 % of the best among the larger half. None where no point is common.
Part part_of_figure(const CaseCurve&, Among);

}  // namespace npgpu::model
