// L2 as the probe slices shows it, by atomics, which work where a line lives:
//
//   L2 partitions               different sets of near lines that multiprocessors have
//   multiprocessors of ...      how many have the same lines near: most, and fewest
//   L2 near, far line cycles    medians of both groups, over lines and multiprocessors
//   near lines                  share of near ones among many lines of one multiprocessor
//   L2 partition block          lines of one aligned block of so many bytes lie in one partition
//
// and by loads: L2 line load cycles. A load may find a copy of a far line in the near partition.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/slices.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu::model {

namespace {

Estimate middle_cycles(std::vector<double> cycles) {
  Estimate e;
  set_median(e, cycles);
  const auto [least, most] = std::ranges::minmax(cycles);
  e.unit = "cycles";
  e.method = fmt::format("median of {} lines and multiprocessors, {:.0f} to {:.0f}", cycles.size(), least, most);
  return e;
}

Estimate counted(double value, const char* unit, std::string method) {
  Estimate e = exactly(value);
  e.unit = unit;
  e.method = std::move(method);
  return e;
}

}  // namespace

void derive_slices(const ProbeSeries& series, DeviceParameters& into) {
  if (!asks(series.question, ProbeQuestion::l2_slices)) return;
  const auto add = [&](const char* name, Estimate value, const char* meaning) {
    Parameter p = parameter(name, std::move(value), meaning);
    leave_unchecked(p, not_reported(into.device));
    into.parameters.push_back(std::move(p));
  };
  const SliceMap map = slice_map(series);
  if (map.cells.empty())
    return into.missing.push_back("lines of L2: no usable shape with cycles in " + title(series.question));
  if (series.question.operation == Operation::chase) {
    std::vector<double> all;
    for (const SliceCell& cell : map.cells) all.push_back(cell.cycles);
    return add("L2 line load cycles", middle_cycles(all),
               "a load of one line that L2 holds, which finds a copy where far lines have one");
  }
  add("L2 near line cycles", middle_cycles(map.cycles_of(false)), "an atomic on a line of the near partition");
  if (map.has_far())
    add("L2 far line cycles", middle_cycles(map.cycles_of(true)), "an atomic on a line of another partition");
  if (!map.partitions.empty()) {
    add("L2 partitions", counted(static_cast<double>(map.partitions.size()), "1", "sets of near lines that differ"),
        "parts of L2 to which some multiprocessors are nearer than others");
    add("L2 partition SMs, most", counted(static_cast<double>(map.partitions.front()), "1", "with the same near lines"),
        "multiprocessors of the L2 partition that has most");
    add("L2 partition SMs, fewest",
        counted(static_cast<double>(map.partitions.back()), "1", "with the same near lines"),
        "multiprocessors of the L2 partition that has fewest");
  }
  if (!map.has_far()) return;
  const SliceRow& lines = map.all_lines;
  add("L2 near lines",
      counted(static_cast<double>(lines.near_lines) / static_cast<double>(lines.lines), "1",
              fmt::format("{} of {} lines of one multiprocessor", lines.near_lines, lines.lines)),
      "part of all lines that lie in the near partition");
  if (std::isfinite(map.block_bytes))
    add("L2 partition block",
        counted(map.block_bytes, "B", "largest power of two of which no aligned block has lines of two sides"),
        "neighbouring bytes that lie in one partition");
}

}  // namespace npgpu::model
