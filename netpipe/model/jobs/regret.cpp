#include "npgpu/regret.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "netpipe/model/medians.hpp"

namespace npgpu {

namespace {

// The median over all visits but that of one round; nothing where there is no other, or none of that round.
std::optional<double> time_without(const ByRound& us, std::uint32_t round) {
  if (!us.contains(round) || us.size() < 2) return std::nullopt;
  std::vector<double> others;
  for (const auto& [at, time] : us)
    if (at != round) others.push_back(time);
  return median(others);
}

}  // namespace

std::vector<double> regrets_of_measuring(std::span<const ByRound> alternatives) {
  std::vector<std::array<double, 2>> halves;  // of each alternative that has both
  for (const ByRound& one : alternatives) {
    std::array<std::vector<double>, 2> us;
    for (const auto& [round, time] : one) us[round % 2].push_back(time);
    if (!us[0].empty() && !us[1].empty()) halves.push_back({median(us[0]), median(us[1])});
  }
  std::vector<double> regrets;
  for (const std::size_t chooses : {0, 1}) {
    if (halves.size() < 2) break;
    const std::size_t times = 1 - chooses;
    const auto least = [&](std::size_t half) {
      return *std::ranges::min_element(halves, {}, [=](const auto& one) { return one[half]; });
    };
    regrets.push_back(least(chooses)[times] / least(times)[times] - 1);
  }
  return regrets;
}

Estimate cross_validated_regret(std::span<const ByRound> alternatives, std::size_t chosen) {
  ByVisit ratios;
  for (const auto& [round, chosen_us] : alternatives[chosen]) {
    double least = not_measured, best_us = not_measured;
    for (const ByRound& one : alternatives)
      if (const auto us = time_without(one, round); us && !(*us >= least)) {
        least = *us;
        best_us = one.at(round);
      }
    if (std::isfinite(best_us)) ratios.push_back({chosen_us / best_us});
  }
  if (ratios.size() < 2) return {.unit = "1", .method = "fewer than two rounds measured the choice and others"};
  Estimate e = median_over_visits(ratios, "1");
  for (double* part : {&e.value, &e.low, &e.high}) *part -= 1;
  e.method = "each visit compares the choice with the best of the others: " + e.method;
  return e;
}

}  // namespace npgpu
