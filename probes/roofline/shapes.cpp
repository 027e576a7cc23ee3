#include "probes/roofline/shapes.hpp"

#include <algorithm>
#include <bit>

#include "probes/runner.hpp"

namespace npgpu::roofline {

namespace {

constexpr std::uint32_t kib = 1024, operations_of_fma = 2, operations_of_product = 2 * 16 * 8 * 16;

bool is_tensor(const ProbeCase& c) { return c.operation == Operation::mma; }
std::uint32_t least(const ProbeCase& c) { return is_tensor(c) ? 2 * kib : kib / 16; }
std::uint32_t most(const ProbeCase& c) { return is_tensor(c) ? 1024 * kib : 256 * kib; }

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  const auto one = [&](Operation operation, DataType type) {
    return ProbeCase{
        .probe = "roofline", .device = device, .operation = operation, .type = type, .space = Space::global};
  };
  return {one(Operation::fma, DataType::fp32), one(Operation::fma, DataType::fp64),
          one(Operation::mma, DataType::fp16)};
}

std::vector<std::uint32_t> intensities(const ProbeCase& c) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = least(c); i <= most(c); i *= 2) all.push_back(i);
  return all;
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l) {
  const std::uint32_t threads = std::min(max_threads, l.max_threads_per_block);
  const std::uint32_t of_unit = std::clamp(l.max_threads_per_unit / threads, 1u, blocks_of_unit);
  std::vector<Shape> all;
  for (const std::uint32_t intensity : intensities(c))
    all.push_back({.blocks = l.units * of_unit,
                   .threads = threads,
                   .ilp = accesses,
                   .access_bytes = access_bytes,
                   .bytes = bytes_beyond_caches(l),
                   .intensity = intensity});
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
  if (shape.bytes < region_bytes(shape))
    return "a working set of less than " + std::to_string(region_bytes(shape)) + " bytes";
  return std::nullopt;
}

std::uint32_t operations_of_step(const ProbeCase& c, const Shape& shape) {
  if (is_tensor(c)) return shape.intensity / kib * step_bytes * warp / operations_of_product;
  return shape.intensity * step_bytes / kib / operations_of_fma;
}

double bytes_of_repeat(const Shape& s) {
  return static_cast<double>(steps_of_repeat) * step_bytes * s.threads * static_cast<double>(s.blocks);
}

double work(const Shape& s) { return bytes_of_repeat(s) * intensity_of(s); }

}  // namespace npgpu::roofline
