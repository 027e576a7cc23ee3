// The map of L2 that the probe slices makes: who is near to which line. All of it follows from cycles of a load or an
// atomic of one line by one multiprocessor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/probe.hpp"

namespace npgpu::model {

struct SliceCell {
  std::uint32_t unit = 0, offset_bytes = 0;
  double cycles = not_measured;
  bool is_far = false;
};

// Lines of one multiprocessor that lie so far apart, in a row from the set's begin on: how many, how many of them are
// near, and how often neighbours are not on one side.
struct SliceRow {
  std::uint32_t unit = 0;
  std::uint64_t apart_bytes = 0;
  std::size_t lines = 0, near_lines = 0, changes = 0;
};

struct SliceMap {
  std::vector<SliceCell> cells;  // by line, then by multiprocessor
  // Two groups of cells differ by more than members of one: near and far. Without a far one all are near.
  bool has_far() const;
  std::vector<double> cycles_of(bool far) const;
  // Multiprocessors that have the same lines near, in partitions, the largest first. A pattern of fewer than a
  // twentieth of all is a cell that something disturbed.
  std::vector<std::size_t> partitions;
  // Of the multiprocessor that asked for most lines: all of them, and those of each distance.
  SliceRow all_lines;
  std::vector<SliceRow> rows;
  // Largest power of two so that all measured lines of one aligned block of it are on one side; NaN without a far one.
  double block_bytes = not_measured;
};

// Cells without cycles are left out.
SliceMap slice_map(const ProbeSeries&);

}  // namespace npgpu::model
