#include "netpipe/model/probes/slices.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "netpipe/model/probes/probe_rates.hpp"

namespace npgpu::model {

namespace {

constexpr double least_gap = 0.05;       // between the two groups, of the lower one's end
constexpr std::size_t least_part = 20;   // a group has a twentieth of all cells at least
constexpr std::size_t least_in_row = 8;  // lines that say something of a distance

// Where the widest gap ends that leaves enough on each side; infinity without one.
double split_of(std::vector<double> cycles) {
  std::ranges::sort(cycles);
  const std::size_t least = std::max<std::size_t>(cycles.size() / least_part, 1);
  double split = std::numeric_limits<double>::infinity(), widest = 0;
  for (std::size_t i = least; i + least <= cycles.size(); ++i) {
    const double gap = cycles[i] - cycles[i - 1];
    if (gap > widest && gap > least_gap * cycles[i - 1]) widest = gap, split = cycles[i];
  }
  return split;
}

using Sides = std::map<std::uint32_t, bool>;  // whether far, by offset

// Of lines that several have asked for: who has the same of them near.
std::vector<std::size_t> partitions_of(const std::map<std::uint32_t, Sides>& by_unit) {
  std::map<std::uint32_t, std::size_t> asked;
  for (const auto& [unit, sides] : by_unit)
    for (const auto& [offset, far] : sides) ++asked[offset];
  std::map<std::vector<bool>, std::size_t> patterns;
  std::size_t units = 0;
  for (const auto& [unit, sides] : by_unit) {
    std::vector<bool> pattern;
    for (const auto& [offset, far] : sides)
      if (asked[offset] > 1) pattern.push_back(far);
    if (!pattern.empty()) ++patterns[pattern], ++units;
  }
  std::vector<std::size_t> sizes;
  for (const auto& [pattern, its] : patterns)
    if (its * least_part >= units) sizes.push_back(its);
  std::ranges::sort(sizes, std::greater{});
  return sizes;
}

// Of each distance the longest row of lines.
std::vector<SliceRow> rows_of(std::uint32_t unit, const Sides& sides) {
  std::vector<SliceRow> rows;
  std::uint64_t most = 0;
  for (const auto& [offset, far] : sides) most = std::max<std::uint64_t>(most, offset);
  for (std::uint64_t apart = 128; apart <= most; apart *= 2) {
    SliceRow row{.unit = unit, .apart_bytes = apart};
    bool before = false;
    for (auto at = sides.find(0); at != sides.end(); at = sides.find(static_cast<std::uint32_t>(at->first + apart))) {
      row.changes += row.lines > 0 && at->second != before;
      before = at->second;
      ++row.lines;
      row.near_lines += !before;
    }
    if (row.lines >= least_in_row) rows.push_back(row);
  }
  return rows;
}

double block_of(const Sides& sides) {
  double block = not_measured;
  for (std::uint64_t bytes = 128; bytes <= GiB; bytes *= 2) {
    std::map<std::uint64_t, std::set<bool>> its;
    for (const auto& [offset, far] : sides) its[offset / bytes].insert(far);
    if (std::ranges::any_of(its, [](const auto& one) { return one.second.size() > 1; })) return block;
    block = static_cast<double>(bytes);
  }
  return not_measured;
}

}  // namespace

bool SliceMap::has_far() const { return std::ranges::any_of(cells, &SliceCell::is_far); }

std::vector<double> SliceMap::cycles_of(bool far) const {
  std::vector<double> all;
  for (const SliceCell& cell : cells)
    if (cell.is_far == far) all.push_back(cell.cycles);
  return all;
}

SliceMap slice_map(const ProbeSeries& series) {
  SliceMap map;
  std::vector<double> all;
  for (const ProbeResult& r : rates_of(series)) {
    if (!(r.cycle_rate.value > 0)) continue;
    map.cells.push_back({.unit = r.axes.sm, .offset_bytes = r.axes.offset_bytes, .cycles = 1 / r.cycle_rate.value});
    all.push_back(map.cells.back().cycles);
  }
  const double split = split_of(all);
  std::map<std::uint32_t, Sides> by_unit;
  for (SliceCell& cell : map.cells) {
    cell.is_far = cell.cycles >= split;
    by_unit[cell.unit][cell.offset_bytes] = cell.is_far;
  }
  std::ranges::sort(map.cells, {}, [](const SliceCell& c) { return std::pair(c.offset_bytes, c.unit); });
  map.partitions = partitions_of(by_unit);
  const auto most = std::ranges::max_element(by_unit, {}, [](const auto& one) { return one.second.size(); });
  if (most == by_unit.end()) return map;
  map.rows = rows_of(most->first, most->second);
  map.all_lines = {.unit = most->first, .lines = most->second.size()};
  for (const auto& [offset, far] : most->second) map.all_lines.near_lines += !far;
  if (map.has_far()) map.block_bytes = block_of(most->second);
  return map;
}

}  // namespace npgpu::model
