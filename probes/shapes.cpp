#include "probes/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/engine/algorithms.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t gpu_far_beyond = 64;  // working set over the last level cache, where memory allows
constexpr std::uint64_t assumed_l2 = 4 * MiB;

std::vector<std::uint32_t> up_to(std::uint32_t most, std::initializer_list<std::uint32_t> values) {
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t v : values)
    if (v <= most) kept.push_back(v);
  return kept;
}

}  // namespace

std::uint32_t filling_blocks(const Layout& l, std::uint32_t threads) {
  const std::uint32_t most = l.max_blocks_per_unit ? l.max_blocks_per_unit : 1;
  const std::uint32_t resident =
      l.max_threads_per_unit ? l.max_threads_per_unit : 2 * std::max(l.max_threads_per_block, 1u);
  return l.units * std::clamp(resident / threads, 1u, most);
}

std::optional<std::string> refuses_gpu_compute(const ProbeCase& c) {
  if (c.operation != Operation::fma) return "probe compute has the operation fma only";
  if (c.space != Space::registers) return "probe compute works in registers only";
  if (c.form != Form::streaming) return "probe compute has no dependent form: a shape with ilp 1 is one";
  return std::nullopt;
}

std::vector<Shape> compute_shapes(const Layout& l) {
  std::vector<Shape> list;
  const auto add = [&](std::uint32_t blocks, std::uint32_t threads, std::uint32_t ilp, bool one_block_per_sm = false) {
    list.push_back({.blocks = blocks, .threads = threads, .ilp = ilp, .one_block_per_sm = one_block_per_sm});
  };
  add(1, 1, 1);
  const auto threads =
      up_to(l.max_threads_per_block, {32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 544, 640, 768, 896, 1024});
  for (const std::uint32_t ilp : {1u, 4u, 8u})
    for (const std::uint32_t t : threads) add(1, t, ilp);
  for (const std::uint32_t ilp : {1u, 4u, 8u})
    for (const std::uint32_t t : threads) add(filling_blocks(l, t), t, ilp);
  for (std::uint32_t k = 1; k <= l.max_blocks_per_unit; ++k) add(l.units * k, 1, 1, k == 1);
  add(l.units * std::max(l.max_blocks_per_unit, 1u), 1, 4);
  for (const std::uint32_t t : up_to(l.max_threads_per_block, {2, 4, 8, 16})) add(1, t, 1);
  add(l.units, l.max_threads_per_block, 4, true);
  return each_once(std::move(list));
}

std::uint64_t bytes_beyond_caches(const Layout& l) {
  const std::uint64_t cache = l.cache_bytes ? l.cache_bytes : assumed_l2;
  const std::uint64_t fits = l.memory_bytes ? l.memory_bytes / 8 : UINT64_MAX;
  const std::uint64_t far = std::min(cache * gpu_far_beyond, fits) / (64 * MiB) * (64 * MiB);
  return far ? far : fits / MiB * MiB;
}

std::optional<std::string> refuses_gpu_bandwidth(const ProbeCase& c) {
  if (c.operation < Operation::rmw || c.operation > Operation::triad)
    return "probe bandwidth has the operations rmw, read, write, copy and triad";
  if (c.space != Space::global) return "probe bandwidth works in global memory only";
  if (c.type != DataType::fp32) return "probe bandwidth moves words of 4 bytes, as fp32";
  if (c.form == Form::dependent && c.operation != Operation::rmw && c.operation != Operation::read)
    return "only rmw and read have a dependent form, where a step's address comes from what the last one loaded";
  return std::nullopt;
}

std::vector<ProbeCase> bandwidth_cases(const std::string& device, DataType type, Space space,
                                       std::initializer_list<Operation> dependent) {
  std::vector<ProbeCase> all;
  const auto add = [&](Operation op, Form form) { all.push_back({"bandwidth", device, op, type, form, space}); };
  for (const Operation op : {Operation::rmw, Operation::read, Operation::write, Operation::copy, Operation::triad})
    add(op, Form::streaming);
  for (const Operation op : dependent) add(op, Form::dependent);
  return all;
}

std::vector<Shape> bandwidth_shapes(const Layout& l, Form form) {
  std::vector<Shape> list;
  const std::uint64_t cache = l.cache_bytes ? l.cache_bytes : assumed_l2;
  const std::uint64_t outside = bytes_beyond_caches(l);
  const std::uint64_t inside = std::max<std::uint64_t>(cache / 4 / MiB * MiB, 256 * KiB);
  const auto add = [&](std::uint64_t blocks, std::uint32_t threads, std::uint32_t ilp, std::uint32_t access,
                       std::uint64_t bytes) {
    if (blocks >= 1 && blocks <= 0x7fffffff && blocks * threads * ilp * access <= bytes)
      list.push_back({.blocks = static_cast<std::uint32_t>(blocks),
                      .threads = threads,
                      .ilp = ilp,
                      .access_bytes = access,
                      .bytes = bytes});
  };
  const auto threads = up_to(l.max_threads_per_block, {64, 128, 192, 256, 512, 640, 1024});
  const std::uint32_t max_blocks = l.units * std::max(l.max_blocks_per_unit, 1u);

  add(1, 1, 1, 4, outside);
  if (form == Form::dependent) {
    for (const std::uint32_t t : threads) add(1, t, 1, 4, outside);
    for (const std::uint32_t k : up_to(std::max(l.max_blocks_per_unit, 1u), {1, 2, 4, 8, 16, 24, 32}))
      add(l.units * k, 1, 1, 4, outside);
    for (const std::uint32_t t : threads) add(filling_blocks(l, t), t, 1, 4, outside);
    return each_once(std::move(list));
  }
  for (const std::uint32_t access : {4u, 16u})
    for (const std::uint32_t ilp : {1u, 4u})
      for (const std::uint32_t t : threads) add(1, t, ilp, access, outside);
  add(max_blocks, 1, 1, 4, outside);
  add(max_blocks, 1, 4, 16, outside);
  // A grid as large as the array, and one that fills the units and walks.
  for (const std::uint32_t access : {4u, 16u})
    for (const std::uint32_t ilp : access == 4 ? std::vector{1u, 4u} : std::vector{1u, 2u, 4u})
      for (const std::uint32_t t : threads) add(outside / (std::uint64_t{t} * ilp * access), t, ilp, access, outside);
  for (const std::uint32_t ilp : {1u, 4u})
    for (const std::uint32_t t : threads) add(filling_blocks(l, t), t, ilp, 16, outside);
  for (const std::uint32_t ilp : {1u, 4u})
    for (const std::uint32_t t : up_to(l.max_threads_per_block, {256, 512, 1024}))
      add(filling_blocks(l, t), t, ilp, 16, inside);
  return each_once(std::move(list));
}

std::vector<Shape> chase_shapes(std::uint32_t access_bytes, std::uint64_t step, std::uint64_t least, std::uint64_t most,
                                int of_octave, std::uint64_t large) {
  std::vector<Shape> list;
  for (int i = 0;; ++i) {
    const double exact = static_cast<double>(least) * std::exp2(static_cast<double>(i) / of_octave);
    const auto bytes = static_cast<std::uint64_t>(std::llround(exact / static_cast<double>(step))) * step;
    if (bytes > most) return each_once(std::move(list));
    if (bytes > large && i % 2) continue;
    list.push_back({.access_bytes = access_bytes, .bytes = bytes, .one_block_per_sm = 1});
  }
}

std::optional<std::string> refuses_chase_shape(const Shape& shape, std::uint64_t access_bytes, std::uint64_t least,
                                               std::uint64_t most) {
  if (shape.blocks != 1 || shape.threads != 1 || shape.ilp != 1 || shape.access_bytes != access_bytes)
    return fmt::format("a chase has one block, one thread and one access of {} bytes in flight", access_bytes);
  if (shape.bytes >= least && shape.bytes <= most) return std::nullopt;
  if (most == UINT64_MAX) return fmt::format("{} bytes; a chase needs at least {}", shape.bytes, least);
  return fmt::format("{} bytes; this chase takes {} to {}", shape.bytes, least, most);
}

}  // namespace npgpu
