#include "netpipe/model/compare/energies.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "netpipe/model/compare/changes.hpp"
#include "npgpu/energy_figures.hpp"

namespace npgpu::model {

namespace {

// What matters. Runs of one device differed by less (docs/energy.md).
constexpr double usual_tolerance = 0.03;
// Rest is compared between runs that were as warm: an H100 takes 1 W more for each kelvin.
constexpr double as_warm_c = 5;
// Half the width of an interval of 95 % is so many standard errors or more, so that errors are rather too large.
constexpr double errors_in_half_width = 1.96;

// What one run says.
struct Told {
  double log = not_measured, error = not_measured, temperature_c = not_measured;
};

Told told_by(const EnergyFigure& f) {
  const Estimate& e = is_idle(f.question.work) ? f.full.power_w : f.each_j;
  Told one;
  one.temperature_c = f.full.temperature_c;
  if (!(e.value > 0)) return one;
  one.log = std::log(e.value);
  if (e.low > 0) one.error = std::log(e.high / e.low) / 2 / errors_in_half_width;
  return one;
}

struct Side {
  std::vector<Told> runs{};
  std::string why{};         // a run has no figure that can be compared with another
  bool is_wrong = false;     // its results were
  bool is_measured = false;  // there is a figure, and it is not above 0, or of too few windows

  bool has_figure() const { return !runs.empty(); }
  double mean(double Told::*of) const {
    double sum = 0;
    for (const Told& run : runs) sum += run.*of;
    return sum / static_cast<double>(runs.size());
  }
  // Squared, of the mean: what the runs' own intervals say, or what the runs differ by where that is more.
  double variance() const {
    const auto n = static_cast<double>(runs.size());
    double own = 0, between = 0;
    for (const Told& run : runs) {
      own += run.error * run.error / n / n;
      between += std::pow(run.log - mean(&Told::log), 2) / std::max(n - 1, 1.0) / n;
    }
    return std::max(own, between);
  }
};

void add(Side& side, const EnergyFigure& f) {
  const Told one = told_by(f);
  if (f.why.empty() && std::isfinite(one.log)) {
    side.runs.push_back(one);
    return;
  }
  side.is_wrong = side.is_wrong || f.full.is_wrong;
  side.is_measured = side.is_measured || f.why.empty();
  side.why = !f.why.empty() ? f.why : "it cannot be distinguished from rest";
}

// What can be said without a test; false if there is more to say.
bool state(EnergyChange& c, const std::array<Side, 2>& sides) {
  for (std::size_t side = 0; side < 2; ++side) {
    if (sides[side].why.empty()) continue;
    c.note = (side ? "B: " : "A: ") + sides[side].why;
    if (sides[side].is_wrong) {
      c.verdict = Verdict::broken;
      c.reason = Reason::wrong_results;
    } else if (c.verdict != Verdict::broken && !sides[side].has_figure()) {
      c.verdict = sides[side].is_measured ? Verdict::cannot_tell : Verdict::no_figure;
      c.reason = sides[side].is_measured ? Reason::interval : Reason::no_time;
    }
  }
  if (c.verdict != Verdict::same) return true;
  if (sides[0].has_figure() && sides[1].has_figure()) return false;
  c.verdict = sides[0].has_figure() ? Verdict::only_a : Verdict::only_b;
  return true;
}

Tested tested(EnergyChange& c, const std::array<Side, 2>& sides) {
  Tested test{&c};
  const double logs[] = {sides[0].mean(&Told::log), sides[1].mean(&Told::log)};
  c.a = std::exp(logs[0]);
  c.b = std::exp(logs[1]);
  test.own = logs[1] - logs[0];
  c.change = c.own = std::expm1(test.own);
  const double warmer = sides[1].mean(&Told::temperature_c) - sides[0].mean(&Told::temperature_c);
  if (is_idle(c.question.work) && !(std::abs(warmer) <= as_warm_c)) {
    c.note = std::isfinite(warmer)
                 ? fmt::format("B was {:.0f} °C {}", std::abs(warmer), warmer > 0 ? "warmer" : "colder")
                 : "temperatures are not known";
    return test;
  }
  test.error = std::sqrt(sides[0].variance() + sides[1].variance());
  if (!std::isfinite(test.error)) return test;
  test.freedom = std::numeric_limits<double>::infinity();
  c.low = std::expm1(test.own - errors_in_half_width * test.error);
  c.high = std::expm1(test.own + errors_in_half_width * test.error);
  c.p = std::erfc(std::abs(test.own) / test.error / std::sqrt(2.0));
  return test;
}

}  // namespace

std::vector<EnergyChange> energy_changes(const std::vector<Run>& runs, std::optional<double> tolerance) {
  std::vector<std::vector<EnergyFigure>> figures;
  for (const Run& run : runs) figures.push_back(energy_figures(*run.trace));
  const auto figure_of = [&](const Question<Energies>::Answer& answer) -> const EnergyFigure& {
    std::size_t of = 0;
    while (runs[of].side != answer.side || runs[of].number != answer.run) ++of;
    return figures[of][static_cast<std::size_t>(answer.series - runs[of].trace->of<Energies>().data())];
  };
  const auto names = names_of_slots(runs);
  std::vector<EnergyChange> all;
  std::vector<std::array<Side, 2>> sides;
  for (const Question<Energies>& question : questions_of<Energies>(runs)) {
    EnergyChange c;
    c.question = renamed(question.in_slots, names);
    c.tolerance = tolerance.value_or(usual_tolerance);
    std::array<Side, 2> of;
    for (const auto& answer : question.answers) add(of[answer.side], figure_of(answer));
    all.push_back(std::move(c));
    sides.push_back(std::move(of));
  }
  std::vector<Tested> tests;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!state(all[i], sides[i])) tests.push_back(tested(all[i], sides[i]));
  judge_all(tests);
  return all;
}

}  // namespace npgpu::model
