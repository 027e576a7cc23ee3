#include "probes/bandwidth/walk.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "npgpu/error.hpp"

namespace npgpu {

namespace {

// By Euclid: the x with a*x = 1 modulo m, which have no divisor in common.
std::uint64_t inverse_of(std::uint64_t a, std::uint64_t m) {
  std::int64_t r0 = static_cast<std::int64_t>(m), r1 = static_cast<std::int64_t>(a % m);
  std::int64_t x0 = 0, x1 = 1;
  while (r1 > 1) {
    const std::int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    x0 = std::exchange(x1, x0 - q * x1);
  }
  return static_cast<std::uint64_t>(x1 < 0 ? x1 + static_cast<std::int64_t>(m) : x1);
}

}  // namespace

std::uint64_t Walk::row_of(std::uint64_t step) const { return step % rows * jump % rows; }

std::uint64_t Walk::visits(std::uint64_t row, std::uint64_t steps) const {
  return steps / rows + (row * inverse % rows < steps % rows ? 1 : 0);
}

std::optional<std::string> refuses_walk(const Shape& shape) {
  constexpr std::uint64_t max_rows = std::uint64_t{1} << 31;
  const std::uint64_t row_bytes = std::uint64_t{shape.blocks} * shape.threads * shape.ilp * shape.access_bytes;
  if (row_bytes && shape.bytes >= row_bytes && shape.bytes / row_bytes <= max_rows) return std::nullopt;
  return fmt::format("a working set of {} bytes for {} blocks of {} threads with {} accesses of {} bytes: it must hold "
                     "1 to {} times what they touch at once",
                     shape.bytes, shape.blocks, shape.threads, shape.ilp, shape.access_bytes, max_rows);
}

Walk walk_of(const Shape& shape, std::uint64_t apart_bytes) {
  if (const auto why = refuses_walk(shape)) throw Error(ErrorKind::usage, *why);
  Walk walk;
  walk.row_accesses = std::uint64_t{shape.blocks} * shape.threads * shape.ilp;
  const std::uint64_t row_bytes = walk.row_accesses * shape.access_bytes;
  walk.rows = shape.bytes / row_bytes;
  walk.jump = (apart_bytes + row_bytes - 1) / row_bytes % walk.rows;
  if (walk.jump == 0) walk.jump = 1;
  while (std::gcd(walk.jump, walk.rows) != 1) ++walk.jump;
  walk.jump %= walk.rows;
  if (walk.rows == 1) walk.jump = 0;  // there is nowhere else
  walk.inverse = walk.rows == 1 ? 0 : inverse_of(walk.jump, walk.rows);
  return walk;
}

}  // namespace npgpu
