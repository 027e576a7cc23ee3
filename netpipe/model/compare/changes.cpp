#include "netpipe/model/compare/changes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/probe_rates.hpp"

namespace npgpu::model {

namespace {

// Not 0.05: the rounds of a run are less independent than Welch's test takes them for, as a host's clock drifts slowly.
constexpr double significant = 0.01;

double value_of(const Reading& reading, Scale scale) {
  return scale == Scale::time ? reading.log_us : reading.log_us + reading.log_mhz;
}

// Means over the rounds of each run.
std::vector<double> by_run(const std::map<std::size_t, std::vector<double>>& rounds_of_run) {
  std::vector<double> numbers;
  if (rounds_of_run.size() >= enough_runs)
    for (const auto& [run, rounds] : rounds_of_run) numbers.push_back(mean_of(rounds));
  else
    for (const auto& [run, rounds] : rounds_of_run) numbers.insert(numbers.end(), rounds.begin(), rounds.end());
  return numbers;
}

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

}  // namespace

bool is_common(const CurvePoint& point) {
  return std::ranges::all_of(point.side,
                             [](const Readings& one) { return !one.all.empty() && one.broken == Reason::none; });
}

double reference_of(const CurvePoint& point, Scale scale) {
  std::vector<double> all;
  for (const Readings& side : point.side)
    for (const Reading& reading : side.all) all.push_back(value_of(reading, scale));
  return all.empty() ? not_measured : median(all);
}

std::array<std::vector<double>, 2> numbers_of(const CaseCurve& curve, const Indices& points, Scale scale) {
  using Visit = std::pair<std::size_t, std::uint32_t>;  // run and round
  std::array<std::map<Visit, std::vector<double>>, 2> visits;
  for (const std::size_t i : points) {
    const double reference = reference_of(curve.points[i], scale);
    for (std::size_t side = 0; side < 2; ++side)
      for (const Reading& reading : curve.points[i].side[side].all)
        visits[side][{reading.run, reading.round}].push_back(value_of(reading, scale) - reference);
  }
  std::array<std::vector<double>, 2> numbers;
  for (std::size_t side = 0; side < 2; ++side) {
    std::map<std::size_t, std::vector<double>> rounds_of_run;
    for (const auto& [visit, values] : visits[side])
      if (2 * values.size() >= points.size()) rounds_of_run[visit.first].push_back(mean_of(values));
    numbers[side] = by_run(rounds_of_run);
  }
  return numbers;
}

double typical_us(const CaseCurve& curve, const Indices& points, std::size_t side) {
  std::vector<double> logs;
  for (const std::size_t i : points) {
    std::vector<double> all;
    for (const Reading& reading : curve.points[i].side[side].all) all.push_back(reading.log_us);
    logs.push_back(median(all));
  }
  return std::exp(mean_of(logs));
}

void set_change(Change& c, const CaseCurve& curve, const Indices& points) {
  c.a = typical_us(curve, points, 0);
  c.b = typical_us(curve, points, 1);
  const auto numbers = numbers_of(curve, points, Scale::time);
  const MeanDifference time = welch(numbers[0], numbers[1]);
  const auto share = [](double log) { return std::expm1(log); };
  c.change = share(time.value);
  c.low = share(time.low);
  c.high = share(time.high);
  if (curve.time_class == TimeClass::kernels) {
    const auto cycles = numbers_of(curve, points, Scale::cycles);
    c.cycles = share(welch(cycles[0], cycles[1]).value);
  }
  if (set_disturbed(c, curve, points)) return;
  c.p = time.p;
  if (const auto p = p_of_two_times(numbers)) {
    c.p = *p;
    c.reason = Reason::two_times;
  }
}

void judge(Change& c) {
  if (c.verdict != Verdict::same) return;
  const double size = std::abs(c.change);
  const Reason how = std::exchange(c.reason, Reason::none);
  if (std::isnan(c.p)) {
    if (size <= c.tolerance) return;
    c.verdict = Verdict::undecided;
    c.reason = Reason::one_value;
  } else if (c.p < significant && size > c.tolerance) {
    c.verdict = c.change > 0 ? Verdict::slower : Verdict::faster;
    c.reason = how;
    const double cycles = c.change > 0 ? c.cycles : -c.cycles;
    if (cycles <= c.tolerance) c.reason = Reason::clock;
  } else if (c.low < -c.tolerance || c.high > c.tolerance) {
    c.verdict = Verdict::undecided;
    c.reason = how == Reason::two_times ? how : Reason::interval;
  }
}

}  // namespace npgpu::model
