#include "netpipe/judge/compare/changes.hpp"

#include <fmt/format.h>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu::model {

namespace {

// Not 0.05: the rounds of a run are less independent than Welch's test takes them for, as a host's clock drifts slowly.
constexpr double significant = 0.01;
constexpr double nine_in_ten = 1.2816;  // so many standard deviations above the least that is called slower

// Where all numbers fall into two groups and a side has numbers in both of them, it is no shift that tells the sides
// apart but how often each takes the longer of two times.
std::optional<double> p_of_two_times(const std::array<std::vector<double>, 2>& logs) {
  std::vector<double> all;
  for (const auto& side : logs)
    for (const double log : side) all.push_back(std::exp(log));
  const auto upper = upper_group(all);
  if (!upper) return std::nullopt;
  std::array<std::uint32_t, 2> above{};
  bool met_both = false;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const double log : logs[side]) above[side] += std::exp(log) >= *upper;
    met_both = met_both || (above[side] > 0 && above[side] < logs[side].size());
  }
  if (!met_both) return std::nullopt;
  const auto count = [](const auto& side) { return static_cast<std::uint32_t>(side.size()); };
  return fisher(above[0], count(logs[0]), above[1], count(logs[1]));
}

bool set_disturbed(Change& c, const CaseCurve& curve, const Indices& points) {
  for (std::size_t side = 0; side < 2; ++side) {
    std::size_t runs = 0, disturbed = 0;
    std::string why;
    for (const std::size_t i : points) {
      const Readings& its = curve.points[i].side[side];
      runs += its.runs;
      disturbed += its.others + (side == 0 ? its.clocked : 0);
      if (why.empty()) why = its.why;
    }
    if (2 * disturbed <= runs) continue;
    c.verdict = Verdict::disturbed;
    c.reason = Reason::others;
    c.note = (side ? "B: " : "A: ") + why;
    return true;
  }
  return false;
}

double value_in(Scale scale, const Reading& reading) {
  return scale == Scale::time ? reading.log_us : reading.log_us + reading.log_mhz;
}

// Medians over the rounds of each run where there are enough runs; else all rounds.
std::vector<double> by_run(const std::map<std::size_t, std::vector<double>>& rounds_of_run) {
  std::vector<double> numbers;
  if (rounds_of_run.size() >= enough_runs)
    for (const auto& [run, rounds] : rounds_of_run) numbers.push_back(median(rounds));
  else
    for (const auto& [run, rounds] : rounds_of_run) numbers.insert(numbers.end(), rounds.begin(), rounds.end());
  return numbers;
}

double share_of(double log) { return std::expm1(log); }

void judge(Change& c) {
  if (c.verdict != Verdict::same) return;
  const Reason how = std::exchange(c.reason, Reason::none);
  if (std::isnan(c.p)) {
    c.verdict = Verdict::cannot_tell;
    c.reason = Reason::few_values;
  } else if (c.p < significant && std::abs(c.own) > c.tolerance) {
    c.verdict = c.own > 0 ? Verdict::slower : Verdict::faster;
    c.reason = how;
    const double cycles = c.own > 0 ? c.cycles : -c.cycles;
    if (cycles <= c.tolerance) c.reason = Reason::clock;
  } else if (c.low < -c.tolerance || c.high > c.tolerance) {
    c.verdict = Verdict::cannot_tell;
    c.reason = how == Reason::two_times ? how : Reason::interval;
  }
}

constexpr std::size_t least_for_thirds = 6;

Indices common_points(const CaseCurve& curve) {
  Indices common;
  for (std::size_t i = 0; i < curve.points.size(); ++i)
    if (is_common(curve.points[i])) common.push_back(i);
  return common;
}

}  // namespace

bool is_common(const CurvePoint& point) {
  return std::ranges::all_of(point.side,
                             [](const Readings& one) { return !one.all.empty() && one.broken == Reason::none; });
}

double reference_of(const CurvePoint& point, Scale scale) {
  std::vector<double> all;
  for (const Readings& side : point.side)
    for (const Reading& reading : side.all) all.push_back(value_in(scale, reading));
  return all.empty() ? not_measured : median(all);
}

std::size_t band_of(const CurvePoint& point) { return DriftByTime::band(std::exp(reference_of(point, Scale::time))); }

std::array<std::vector<double>, 2> numbers_of(std::span<const CurveAt> points, Scale scale,
                                              double (*of_round)(std::span<const double>)) {
  using Visit = std::pair<std::size_t, std::uint32_t>;  // run and round
  std::array<std::map<Visit, std::vector<double>>, 2> visits;
  for (const auto& [curve, i] : points) {
    const double reference = reference_of(curve->points[i], scale);
    for (std::size_t side = 0; side < 2; ++side)
      for (const Reading& reading : curve->points[i].side[side].all)
        visits[side][{reading.run, reading.round}].push_back(value_in(scale, reading) - reference);
  }
  std::array<std::vector<double>, 2> numbers;
  for (std::size_t side = 0; side < 2; ++side) {
    std::map<std::size_t, std::vector<double>> rounds_of_run;
    for (const auto& [visit, values] : visits[side])
      if (2 * values.size() >= points.size()) rounds_of_run[visit.first].push_back(of_round(values));
    numbers[side] = by_run(rounds_of_run);
  }
  return numbers;
}

std::array<std::vector<double>, 2> numbers_of(const CaseCurve& curve, const Indices& points, Scale scale) {
  std::vector<CurveAt> of;
  for (const std::size_t i : points) of.emplace_back(&curve, i);
  return numbers_of(of, scale, mean_of);
}

Tested set_change(Change& c, const std::array<std::vector<double>, 2>& numbers, double reference, const Beyond& beyond,
                  double cycles) {
  Tested tested{&c};
  const MedianDifference time = median_difference(numbers[0], numbers[1], beyond.variance, beyond.usual);
  if (std::isnan(time.value)) return tested;
  c.a = std::exp(reference + median(numbers[0]));
  c.b = std::exp(reference + median(numbers[1]));
  c.change = share_of(time.value);
  c.cycles = cycles;
  // The class's change counts whole or not at all, whichever leaves the case less of its own.
  const double least = time.value - std::max(beyond.shared, 0.0), most = time.value - std::min(beyond.shared, 0.0);
  tested.own = least > 0 ? least : most < 0 ? most : 0;
  tested.error = time.error;
  tested.freedom = time.freedom;
  c.own = share_of(tested.own);
  c.low = share_of(least - (time.value - time.low));
  c.high = share_of(most + (time.high - time.value));
  for (std::size_t side = 0; side < 2; ++side)
    if (numbers[side].size() < beyond.enough[side]) return tested;
  if (time.error > 0) c.p = student_p(tested.own / time.error, time.freedom);
  else if (time.error == 0) c.p = tested.own == 0 ? 1 : 0;
  return tested;
}

Tested set_change(Change& c, const CaseCurve& curve, const Indices& points, const Beyond& beyond) {
  const auto numbers = numbers_of(curve, points, Scale::time);
  double reference = 0;
  for (const std::size_t i : points)
    reference += reference_of(curve.points[i], Scale::time) / static_cast<double>(points.size());
  double cycles = not_measured;
  if (curve.time_class == TimeClass::kernels) {
    const auto in_cycles = numbers_of(curve, points, Scale::cycles);
    cycles = share_of(median_difference(in_cycles[0], in_cycles[1]).value);
  }
  const Tested tested = set_change(c, numbers, reference, beyond, cycles);
  if (set_disturbed(c, curve, points)) {
    c.p = not_measured;
    return {&c};
  }
  if (const auto p = p_of_two_times(numbers)) {
    c.p = *p;
    c.reason = Reason::two_times;
  }
  return tested;
}

void judge_all(std::vector<Tested>& all) {
  std::vector<double> p;
  for (const Tested& one : all) p.push_back(one.change->p);
  const std::vector<double> corrected = holm(p);
  const auto known = std::ranges::count_if(p, [](double one) { return !std::isnan(one); });
  const auto tests = static_cast<double>(std::max<std::ptrdiff_t>(known, 1));
  for (std::size_t i = 0; i < all.size(); ++i) {
    Change& c = *all[i].change;
    c.p = corrected[i];
    if (std::isfinite(all[i].error)) {
      // Holm's correction looks at the first of all tests with this level.
      const double sure = student_quantile(1 - significant / tests / 2, all[i].freedom) * all[i].error;
      c.shown = share_of(std::max(std::log1p(c.tolerance), sure) + nine_in_ten * all[i].error);
    }
    judge(c);
  }
}

std::vector<Part> thirds_of(const CaseCurve& curve) { return thirds_of(common_points(curve)); }

std::vector<Part> thirds_of(const Indices& common) {
  if (common.empty()) return {};
  if (common.size() < least_for_thirds) return {{Third::all, common}};
  const auto at = [&](std::size_t third) {
    return common.begin() + static_cast<std::ptrdiff_t>(third * common.size() / 3);
  };
  std::vector<Part> parts;
  for (std::size_t third = 0; third < 3; ++third)
    parts.push_back({static_cast<Third>(third), Indices(at(third), at(third + 1))});
  return parts;
}

Part part_of_figure(const CaseCurve& curve, Among among) {
  constexpr std::size_t few = 3;
  constexpr double large = 8, larger_half = 2, near_best = 0.02;
  constexpr double still_small = 64 << 10;  // bytes: what takes the time of a larger one is its rate
  Indices common = common_points(curve);
  Third third = among == Among::smallest ? Third::small : Third::large;
  if (common.size() < least_for_thirds) third = Third::all;
  if (among == Among::smallest) {
    std::erase_if(common, [&](std::size_t i) { return curve.sizes[i] > still_small; });
    common.resize(std::min(few, common.size()));
    return {third, common};
  }
  double most = 0;
  for (const std::size_t i : common) most = std::max(most, curve.sizes[i]);
  const double least = most / (among == Among::largest ? large : larger_half);
  std::erase_if(common, [&](std::size_t i) { return curve.sizes[i] < least; });
  if (among == Among::largest) return {third, common};
  const auto log_rate = [&](std::size_t i) {
    return std::log(curve.points[i].work) - reference_of(curve.points[i], Scale::time);
  };
  double best = -std::numeric_limits<double>::infinity();
  for (const std::size_t i : common) best = std::max(best, log_rate(i));
  std::erase_if(common, [&](std::size_t i) { return !(log_rate(i) > best - near_best); });
  return {third, common};
}

std::string span_text(const CaseCurve& curve, const Indices& points) {
  const std::string& first = curve.points[points.front()].axes;
  return points.size() > 1 ? first + " .. " + curve.points[points.back()].axes : first;
}

std::string figure_name(const FigureChoice& choice, const CaseCurve& curve, const Indices& points) {
  const bool is_one_block = choice.among == Among::fastest && curve.blocks[points.back()] == 1;
  // Not of the memory that the name makes one think of.
  const bool is_cached =
      choice.of_memory && curve.sizes[points.back()] > 0 && curve.sizes[points.back()] < curve.cache_bytes;
  return choice.name + (is_one_block ? ", one block" : "") + (is_cached ? ", in L2" : "");
}

double in_unit(double us, FigureUnit unit, const CaseCurve& curve, const Indices& points) {
  if (unit == FigureUnit::us) return us;
  double log_work = 0;
  for (const std::size_t i : points) log_work += std::log(curve.points[i].work) / static_cast<double>(points.size());
  const double work = std::exp(log_work);
  return unit == FigureUnit::us_a_load ? us / work : work / us * 1e6;
}

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

struct EnergySide {
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

void add(EnergySide& side, const EnergyFigure& f) {
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
bool state(EnergyChange& c, const std::array<EnergySide, 2>& sides) {
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

Tested tested(EnergyChange& c, const std::array<EnergySide, 2>& sides) {
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
  std::vector<std::array<EnergySide, 2>> sides;
  for (const Question<Energies>& question : questions_of<Energies>(runs)) {
    EnergyChange c;
    c.question = renamed(question.in_slots, names);
    c.tolerance = tolerance.value_or(usual_tolerance);
    std::array<EnergySide, 2> of;
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
