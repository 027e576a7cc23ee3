// How two sides differ over some points of a curve: one number for each round or run, and a test on these; which points
// are judged together; what work costs in energy.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/judge/compare/curves.hpp"

namespace npgpu::model {

using Indices = std::vector<std::size_t>;  // of points of a curve

using CurveAt = std::pair<const CaseCurve*, std::size_t>;

enum class Scale { time, cycles };

// From so many runs on, a side's numbers are of runs.
constexpr std::size_t enough_runs = 3;

// Both sides have times of it, and neither is broken.
bool is_common(const CurvePoint&);
// The median of all its readings of both sides; NaN where there is none.
double reference_of(const CurvePoint&, Scale);
// The band of a point's time, as DriftByTime has it.
std::size_t band_of(const CurvePoint&);
// Each side's numbers: what `of_round` makes of the logarithms over these points, less their references; one for each
// run where the side has enough of them, else one for each round that visited half of the points.
std::array<std::vector<double>, 2> numbers_of(std::span<const CurveAt>, Scale,
                                              double (*of_round)(std::span<const double>));
// The same of points of one curve, with means.
std::array<std::vector<double>, 2> numbers_of(const CaseCurve&, const Indices&, Scale);

// What a change is compared with.
struct Beyond {
  double shared = 0;                   // what the class of its points changed by: the logarithm; 0: nothing is known
  double variance = 0;                 // of the difference of two runs, beyond what their rounds show
  std::array<UsualSpread, 2> usual{};  // of each side's numbers
  // With this many numbers a side, a change can be distinguished from chance. What a context gives its copies and jobs,
  // of several times, lasts for a round: by three rounds a side, all of which differ from the other side's, chance has
  // one way in ten, and by four one in 35. What many points share, and runs, is spread more evenly.
  std::array<std::size_t, 2> enough{4, 4};
};

// A change before it is judged: what its test needs once it is known how many tests there are.
struct Tested {
  Change* change = nullptr;
  double own = not_measured, error = not_measured, freedom = not_measured;  // of logarithms
};

// Sets a, b, their change, what of it is the case's own, its interval, and p as it is before correction. Where others
// disturbed more than half of it, or the device's clock did in A, the verdict says so and p stays NaN. A device of B
// that was held back by its own clock is no excuse: that may be what is looked for.
Tested set_change(Change&, const CaseCurve&, const Indices&, const Beyond&);

// The same of numbers, in logarithms of what `reference` is the logarithm of. `cycles`: the change in cycles.
Tested set_change(Change&, const std::array<std::vector<double>, 2>& numbers, double reference, const Beyond&,
                  double cycles = not_measured);

// Corrects p over all of them, sets what each could have shown, and judges.
void judge_all(std::vector<Tested>&);

// ---- which points of a curve are judged together ----

struct Part {
  Third third = Third::all;  // whose tolerance it has
  Indices points;
};

// A curve's points that both sides have, in thirds; all in one part where they are less than six.
std::vector<Part> thirds_of(const CaseCurve&);
std::vector<Part> thirds_of(const Indices&);  // of these points, in their order

// The figure's points among those that both sides have: those of at least an eighth of the largest size, the three
// first of up to 64 KiB, or those whose rate is within 2 % of the best among the larger half. None where no such point
// is common.
Part part_of_figure(const CaseCurve&, Among);
// "64 MiB .. 192 MiB": the first and the last of some points.
std::string span_text(const CaseCurve&, const Indices&);

// ---- a key figure of these points ----

// With "one block" where that alone was measured.
std::string figure_name(const FigureChoice&, const CaseCurve&, const Indices&);
// From us to the figure's unit, with the work of its points.
double in_unit(double us, FigureUnit, const CaseCurve&, const Indices&);

// ---- energy ----

// One for each kind of work, in the order of A, then those that B alone has. `tolerance`: as given, else usual.
std::vector<EnergyChange> energy_changes(const std::vector<Run>&, std::optional<double> tolerance);

}  // namespace npgpu::model
