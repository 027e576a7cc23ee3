#include "netpipe/model/compare/parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace npgpu::model {

namespace {

constexpr std::size_t least_for_thirds = 6;

Indices common_points(const CaseCurve& curve) {
  Indices common;
  for (std::size_t i = 0; i < curve.points.size(); ++i)
    if (is_common(curve.points[i])) common.push_back(i);
  return common;
}

}  // namespace

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

}  // namespace npgpu::model
