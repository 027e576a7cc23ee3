#include "probes/roofline/shapes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "probes/runner.hpp"

namespace npgpu::roofline {

namespace {

constexpr std::uint32_t kib = 1024, operations_of_fma = 2, operations_of_product = 2 * 16 * 8 * 16;

bool is_tensor(const ProbeCase& c) { return c.operation == Operation::mma; }
std::uint32_t least(const ProbeCase& c) { return is_tensor(c) ? 2 * kib : kib / 16; }
std::uint32_t most(const ProbeCase& c) {
  if (c.space == Space::shared) return is_tensor(c) ? 128 * kib : 16 * kib;
  if (c.space == Space::l2) return is_tensor(c) ? 256 * kib : 64 * kib;
  return is_tensor(c) ? 1024 * kib : 256 * kib;
}

// Of L2 two fifths: an H100's is two partitions, of which each keeps copies of what its multiprocessors read from the
// other. Larger sets would not fit beside them; of much smaller ones (a twentieth) the blocks of a multiprocessor meet
// at the same lines, which then leave L2 once for both.
constexpr std::uint64_t assumed_l2 = 4 * MiB, shared_set = 16 * KiB;
std::uint64_t set_bytes(const ProbeCase& c, const Shape& s, const Layout& l) {
  if (c.space == Space::shared) return shared_set;
  if (c.space == Space::global) return bytes_beyond_caches(l);
  const std::uint64_t region = region_bytes(s), l2 = l.cache_bytes ? l.cache_bytes : assumed_l2;
  return std::max(l2 / 5 * 2 / region, std::uint64_t{1}) * region;
}

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  std::vector<ProbeCase> all;
  for (const Space space : {Space::global, Space::l2, Space::shared})
    for (const auto& [operation, type] : {std::pair{Operation::fma, DataType::fp32},
                                          {Operation::fma, DataType::fp64},
                                          {Operation::mma, DataType::fp16}})
      all.push_back({.probe = "roofline", .device = device, .operation = operation, .type = type, .space = space});
  return all;
}

std::vector<std::uint32_t> intensities(const ProbeCase& c) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = least(c); i <= most(c); i *= 2) all.push_back(i);
  return all;
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l) {
  const std::uint32_t threads = std::min(max_threads, l.max_threads_per_block);
  const std::uint32_t of_unit = std::clamp(l.max_threads_per_unit / threads, 1u, blocks_of_unit);
  Shape shape{.blocks = l.units * of_unit, .threads = threads, .ilp = accesses, .access_bytes = access_bytes};
  shape.bytes = set_bytes(c, shape, l);
  std::vector<Shape> all;
  for (const std::uint32_t intensity : intensities(c)) {
    shape.intensity = intensity;
    all.push_back(shape);
  }
  return all;
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& shape) {
  if (shape.ilp != accesses || shape.access_bytes != access_bytes)
    return "a thread has 4 accesses of 16 bytes in flight: ilp=4, access=16";
  if (shape.threads % warp || shape.threads > max_threads)
    return std::to_string(shape.threads) + " threads: it takes whole warps of 32, up to 256";
  if (shape.one_block_per_sm) return "probe roofline has no shape with one block per SM";
  if (!std::has_single_bit(shape.intensity) || shape.intensity < least(c) || shape.intensity > most(c))
    return "an intensity of " + std::to_string(shape.intensity) + ": it takes powers of two from " +
           std::to_string(least(c)) + " to " + std::to_string(most(c)) + " operations for each KiB";
  if (c.space == Space::shared &&
      (!shape.bytes || shape.bytes % (2 * warp_step_bytes) || shape.bytes > most_shared_bytes))
    return "a block's set of " + std::to_string(shape.bytes) + " bytes: it takes multiples of " +
           std::to_string(2 * warp_step_bytes) + " up to " + std::to_string(most_shared_bytes);
  if (c.space != Space::shared && shape.bytes < region_bytes(shape))
    return "a working set of less than " + std::to_string(region_bytes(shape)) + " bytes";
  return std::nullopt;
}

std::uint32_t operations_of_step(const ProbeCase& c, const Shape& shape) {
  if (is_tensor(c)) return shape.intensity / kib * step_bytes * warp / operations_of_product;
  return shape.intensity * step_bytes / kib / operations_of_fma;
}

std::uint32_t steps_of_repeat(const ProbeCase& c) {
  return c.space == Space::shared ? 8192 : c.space == Space::l2 ? 4096 : 2048;
}

double bytes_of_repeat(const ProbeCase& c, const Shape& s) {
  return static_cast<double>(steps_of_repeat(c)) * step_bytes * s.threads * static_cast<double>(s.blocks);
}

double work(const ProbeCase& c, const Shape& s) { return bytes_of_repeat(c, s) * intensity_of(s); }

}  // namespace npgpu::roofline
