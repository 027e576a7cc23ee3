#include <fmt/format.h>

#include <algorithm>

#include "netpipe/model/probes/corner_points.hpp"
#include "npgpu/derive.hpp"

namespace npgpu {

namespace model {

namespace {

constexpr double clearly_faster = 1.03;

bool is_at(const Shape& shape, Corner corner, std::uint32_t units) {
  const bool all_units = units > 0 ? shape.blocks >= units : shape.blocks > 1;
  const bool block = corner == Corner::one_all || corner == Corner::one_one ? shape.blocks == 1 : all_units;
  const bool alone = corner == Corner::all_one || corner == Corner::one_one;
  return block && (alone ? shape.threads == 1 && shape.ilp == 1 : shape.threads > 1);
}

std::uint64_t largest_set(std::span<const PointRate> rates) {
  std::uint64_t largest = 0;
  for (const PointRate& r : rates) largest = std::max(largest, r.shape.bytes);
  return largest;
}

}  // namespace

std::string_view name_of(Corner corner) {
  constexpr std::string_view names[] = {"All-All", "One-All", "All-One", "One-One"};
  return names[static_cast<std::size_t>(corner)];
}

const PointRate* corner_point(std::span<const PointRate> rates, Corner corner, Per per, std::uint32_t units) {
  const std::uint64_t largest = largest_set(rates);
  const auto value = [&](const PointRate& r) { return per == Per::second ? r.rate.value : r.cycle_rate.value; };
  const PointRate* best = nullptr;
  for (const PointRate& r : rates) {
    if (!is_at(r.shape, corner, units) || r.shape.bytes < largest / 2 || !(value(r) > 0)) continue;
    if (!best || value(r) > value(*best)) best = &r;
  }
  return best;
}

}  // namespace model

namespace {

using namespace model;

// A shape that was disturbed and would else have been faster than the one that stands for the corner: by its cycles,
// or for all that is known, where a host's trial has none.
const PointRate* disturbed_rival(const ProbeSeries& series, std::span<const PointRate> rates, Corner corner,
                                 const PointRate& best) {
  for (const PointRate& r : rates) {
    if (&r == &best || r.doubts.empty() || !is_at(r.shape, corner, series.layout.units) ||
        r.shape.bytes < largest_set(rates) / 2)
      continue;
    if (r.cycle_rate.value > clearly_faster * best.cycle_rate.value) return &r;
    if (is_host(series) && !(r.cycle_rate.value > 0)) return &r;
  }
  return nullptr;
}

// "fastest of its shapes, 264 blocks of 512 threads, ilp 4; median of 9 trials"
Estimate described(Estimate e, const Shape& shape, std::string unit) {
  e.unit = std::move(unit);
  std::string text =
      fmt::format("fastest of its shapes, {} blocks of {} threads, ilp {}", shape.blocks, shape.threads, shape.ilp);
  if (shape.access_bytes > 0) text += fmt::format(", {} B an access", shape.access_bytes);
  e.method = text + "; " + e.method;
  return e;
}

}  // namespace

Corners corners_of(const ProbeSeries& series) {
  const std::vector<PointRate> rates = rates_of(series);
  const std::string counted = series.question.probe == "bandwidth" ? "bytes" : "operations";
  Corners corners;
  Estimate* second[] = {&corners.all_all, &corners.one_all, &corners.all_one, &corners.one_one};
  Estimate* cycle[] = {&corners.all_all_cycle, &corners.one_all_cycle, &corners.all_one_cycle, &corners.one_one_cycle};
  for (const Corner corner : every_corner) {
    const auto i = static_cast<std::size_t>(corner);
    if (const PointRate* point = corner_point(rates, corner, Per::second, series.layout.units)) {
      *second[i] = described(point->rate, point->shape, counted + " per second");
      corners.doubts[i] = point->doubts;
      if (const PointRate* rival = disturbed_rival(series, rates, corner, *point))
        corners.doubts[i].push_back(fmt::format("a shape that may be faster (ilp {}) was disturbed: {}",
                                                rival->shape.ilp, rival->doubts.front()));
      if (point->shape.bytes > 0 && point->shape.bytes < 2 * series.layout.cache_bytes)
        corners.doubts[i].push_back("its working set is not far beyond the cache");
    } else {
      second[i]->method = "no such point was measured";
    }
    if (const PointRate* point = corner_point(rates, corner, Per::cycle, series.layout.units))
      *cycle[i] = described(point->cycle_rate, point->shape, counted + " per cycle");
    else cycle[i]->method = "no cycles of such a point were recorded";
  }
  return corners;
}

}  // namespace npgpu
