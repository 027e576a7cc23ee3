// How two sides differ over some points of a curve: one number for each round or run, and Welch's test on these.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "netpipe/model/compare/curves.hpp"

namespace npgpu::model {

using Indices = std::vector<std::size_t>;  // of points of a curve

enum class Scale { time, cycles };

// From so many runs on, a side's numbers are of runs.
constexpr std::size_t enough_runs = 3;

// Both sides have times of it, and neither is broken.
bool is_common(const CurvePoint&);
// The median of all its readings of both sides; NaN where there is none.
double reference_of(const CurvePoint&, Scale);
// Of each side: means of the logarithms over these points, less their references; of each run on a side with enough of
// them, else of each round that visited half of the points.
std::array<std::vector<double>, 2> numbers_of(const CaseCurve&, const Indices&, Scale);

// Geometric mean over the points of the medians of their times on a side.
double typical_us(const CaseCurve&, const Indices&, std::size_t side);

// Sets a and b (geometric means over the points, in us), the change, its interval, and p as it is before correction.
// Where others disturbed more than half of it, or the device's clock did in A, the verdict says so and p stays NaN. A
// device of B that was held back by its own clock is no excuse: that may be what is looked for.
void set_change(Change&, const CaseCurve&, const Indices&);

// The verdict from the corrected p.
void judge(Change&);

}  // namespace npgpu::model
