// How a grid walks through a working set larger than itself, so that what each element must hold can be computed
// afterwards without walking again.
//
// A row is what the whole grid touches in one step. The set is cut to whole rows; in step s the grid is at row
// s * jump mod rows, and because jump has no divisor in common with rows, `rows` steps touch each row once. A block
// always meets the same columns, so no two blocks share an element.
#pragma once

#include <cstdint>

#include "npgpu/probe.hpp"

namespace npgpu {

struct Walk {
  std::uint64_t row_accesses = 0;  // blocks * threads * ilp
  std::uint64_t rows = 0;
  std::uint64_t jump = 1;
  std::uint64_t inverse = 1;  // of jump, modulo rows

  std::uint64_t row_of(std::uint64_t step) const;
  // How often a row was touched in the first `steps` steps.
  std::uint64_t visits(std::uint64_t row, std::uint64_t steps) const;
};

// Steps go on at least `apart_bytes` further, or around: where one step waits for the last, a neighbour's line must not
// have come with it. Throws Error(usage) where the set is refused.
Walk walk_of(const Shape&, std::uint64_t apart_bytes);

// Why this set cannot be walked through: it holds no row, or more than a check can number (2^31).
std::optional<std::string> refuses_walk(const Shape&);

}  // namespace npgpu
