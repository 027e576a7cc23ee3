// Which points of a curve are judged together.
#pragma once

#include <string>

#include "netpipe/model/compare/changes.hpp"

namespace npgpu::model {

struct Part {
  Third third = Third::all;  // whose tolerance it has
  Indices points;
};

// A curve's points that both sides have, in thirds; all in one part where they are less than six.
std::vector<Part> thirds_of(const CaseCurve&);
std::vector<Part> thirds_of(const Indices&);  // of these points, in their order

// Of the points that both sides have: those of at least an eighth of the largest size, the three first of up to 64 KiB,
// or those whose rate is within 2 % of the best among the larger half. None where no such point is common.
Part part_of_figure(const CaseCurve&, Among);
// "64 MiB .. 192 MiB": the first and the last of some points.
std::string span_text(const CaseCurve&, const Indices&);

// ---- a key figure of these points ----

// With "one block" where that alone was measured.
std::string figure_name(const FigureChoice&, const CaseCurve&, const Indices&);
// From us to the figure's unit, with the work of its points.
double in_unit(double us, FigureUnit, const CaseCurve&, const Indices&);

}  // namespace npgpu::model
