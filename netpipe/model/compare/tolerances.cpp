#include "netpipe/model/compare/tolerances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace npgpu::model {

namespace {

// By class, in its order.
constexpr std::array<double, names_of<TimeClass>.size()> usual{0.01, 0.05, 0.10, 0.01, 0.10, 0.05, 0.03};

constexpr double least_learned = 0.005, beyond_seen = 1.5;

void learn(Tolerances& all, const std::vector<CaseCurve>& curves, std::size_t side, std::size_t runs) {
  Tolerances learned;
  for (const CaseCurve& curve : curves) {
    Tolerance& of_class = learned[static_cast<std::size_t>(curve.time_class)];
    for (const Indices& part : thirds_of(curve)) {
      const std::vector<double> numbers = numbers_of(curve, part, Scale::time)[side];
      if (numbers.size() != runs) continue;
      const double middle = median(numbers);
      for (const double number : numbers)
        of_class.share = std::max({of_class.share, least_learned, beyond_seen * std::expm1(std::abs(number - middle))});
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (learned[i].share == 0) continue;
    const bool other_side_has_more = all[i].source.starts_with("learned") && all[i].share >= learned[i].share;
    if (!other_side_has_more)
      all[i] = {learned[i].share, fmt::format("learned from {} runs of {}", runs, side ? "B" : "A")};
  }
}

}  // namespace

std::vector<Indices> thirds_of(const CaseCurve& curve) {
  constexpr std::size_t least_for_thirds = 6;
  Indices common;
  for (std::size_t i = 0; i < curve.points.size(); ++i)
    if (is_common(curve.points[i])) common.push_back(i);
  if (common.empty()) return {};
  if (common.size() < least_for_thirds) return {common};
  std::vector<Indices> parts;
  const auto at = [&](std::size_t third) {
    return common.begin() + static_cast<std::ptrdiff_t>(third * common.size() / 3);
  };
  for (std::size_t third = 0; third < 3; ++third) parts.emplace_back(at(third), at(third + 1));
  return parts;
}

Tolerances tolerances_of(const std::vector<CaseCurve>& curves, Runs a, Runs b, std::optional<double> given) {
  Tolerances all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {usual[i], "default"};
  if (given) {
    all.fill({*given, "--tolerance"});
    return all;
  }
  if (a.size() >= enough_runs) learn(all, curves, 0, a.size());
  if (b.size() >= enough_runs) learn(all, curves, 1, b.size());
  return all;
}

}  // namespace npgpu::model
