#include "probes/patterns/patterns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "netpipe/engine/algorithms.hpp"
#include "probes/walks.hpp"

namespace npgpu {

namespace patterns {

namespace {

constexpr std::uint32_t lanes = 32, word_bytes = 4, wide_bytes = 16;
constexpr std::uint64_t shared_bytes = 16 * KiB, assumed_l1 = 64 * KiB, assumed_l2 = 4 * MiB;
constexpr std::uint64_t near_constants = KiB, far_constants = 16 * KiB;  // of the first cache, and beyond it
constexpr std::uint64_t chunk_bytes = std::uint64_t{ilp_wide} * wide_threads * wide_bytes;

Shape full(const Layout& l, std::uint32_t access, std::uint64_t bytes) {
  const std::uint32_t wanted = access == wide_bytes ? wide_threads : threads;
  const std::uint32_t t = std::min(wanted, l.max_threads_per_block ? l.max_threads_per_block : wanted);
  return {.blocks = filling_blocks(l, t),
          .threads = t,
          .ilp = access == wide_bytes ? ilp_wide : ilp_of_words,
          .access_bytes = access,
          .bytes = bytes};
}

std::uint64_t l1_bytes(const Layout& l) { return l.near_cache_bytes ? l.near_cache_bytes : assumed_l1; }
std::uint64_t l2_bytes(const Layout& l) { return l.cache_bytes ? l.cache_bytes : assumed_l2; }

// The size of an array far beyond L2, where memory allows: as large as that of probe bandwidth, because a pass has a
// begin and an end, which took 2 % of one over 960 MiB on an H200.
std::uint64_t far_bytes(const Layout& l) {
  constexpr std::uint64_t far = 64;
  const std::uint64_t fits = l.memory_bytes ? l.memory_bytes / 8 : UINT64_MAX;
  return std::max(std::min(l2_bytes(l) * far, fits) / MiB * MiB, MiB);
}

std::vector<Shape> with_strides(const Shape& shape, std::initializer_list<std::uint32_t> strides) {
  std::vector<Shape> list;
  for (const std::uint32_t stride : strides) {
    list.push_back(shape);
    list.back().stride = stride;
  }
  return list;
}

// Parts of a cache, in n-ths, rounded down to what a block reads at once.
std::vector<Shape> parts_of(const Layout& l, std::uint64_t cache_bytes, std::uint64_t n,
                            std::initializer_list<std::uint64_t> parts) {
  std::vector<Shape> list;
  for (const std::uint64_t part : parts)
    if (const std::uint64_t bytes = cache_bytes * part / n / chunk_bytes * chunk_bytes)
      list.push_back(full(l, wide_bytes, bytes));
  return each_once(std::move(list));
}

}  // namespace

std::vector<Shape> onchip_shapes(const ProbeCase& c, const Layout& l) {
  const Space space = c.space;
  if (space == Space::l1) return parts_of(l, l1_bytes(l), 8, {1, 2, 3, 4, 5, 6, 7, 8});
  if (space == Space::l2) return parts_of(l, l2_bytes(l), 10, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  if (space == Space::shared)
    return with_strides(full(l, word_bytes, shared_bytes), {1, 0, 2, 3, 4, 5, 8, 16, 31, 32, 33, 64});
  auto list = with_strides(full(l, word_bytes, near_constants), {0, 1});
  for (const Shape& shape : with_strides(full(l, word_bytes, far_constants), {0, 1})) list.push_back(shape);
  return list;
}

std::vector<Shape> usual_onchip_shapes(const ProbeCase& c, const Layout& l) {
  const Space space = c.space;
  if (space == Space::shared) return with_strides(full(l, word_bytes, shared_bytes), {1, 2, 4, 32});
  if (space == Space::constant) return with_strides(full(l, word_bytes, near_constants), {0, 1});
  // A multiprocessor's own part of L1 is less than it has in all, as is what a partition of L2 holds.
  auto few = space == Space::l1 ? parts_of(l, l1_bytes(l), 8, {3, 5}) : parts_of(l, l2_bytes(l), 10, {2, 5});
  return few.empty() ? onchip_shapes(c, l) : few;
}

std::uint32_t span_words(const Shape& s, Space space) {
  const std::uint64_t words = s.bytes / word_bytes,
                      warps = space == Space::shared ? (s.threads + lanes - 1) / lanes : 1;
  const std::uint64_t reached = std::uint64_t{lanes - 1} * s.stride + warps;
  return words <= reached ? 0 : static_cast<std::uint32_t>((words - reached) / s.ilp * s.ilp);
}

std::uint64_t chunks_of(const Shape& s) { return s.bytes / chunk_bytes; }

std::optional<std::string> refuses_onchip(const ProbeCase& c, const Shape& s) {
  const bool wide = c.space == Space::l1 || c.space == Space::l2;
  const std::uint32_t access = wide ? wide_bytes : word_bytes, ilp = wide ? ilp_wide : ilp_of_words;
  if (s.access_bytes != access || s.ilp != ilp)
    return "this probe reads " + std::to_string(access) + " bytes a thread, " + std::to_string(ilp) + " in flight";
  if (wide && s.stride != 1) return "threads read side by side in caches of global memory: stride 1";
  if (wide && s.threads != wide_threads)
    return "blocks have " + std::to_string(wide_threads) + " threads where caches of global memory are read";
  if (wide && !chunks_of(s))
    return "a set of " + std::to_string(s.bytes) + " bytes is less than the " + std::to_string(chunk_bytes) +
           " that a block reads in a step";
  constexpr std::uint64_t most = 32 * KiB;
  if (!wide && (s.bytes > most || !span_words(s, c.space)))
    return std::to_string(s.bytes) + " bytes with stride " + std::to_string(s.stride) + ": it takes up to " +
           std::to_string(most) + " bytes, and a warp's reach must lie in them";
  return std::nullopt;
}

std::vector<Shape> access_shapes(const ProbeCase& c, const Layout& l) {
  const std::uint64_t plane = c.space == Space::l1                            ? l1_plane
                              : l2_bytes(l) >= 2 * ilp_of_words * large_plane ? large_plane
                                                                              : small_plane;
  const std::uint64_t set = ilp_of_words * plane;
  auto list = with_strides(full(l, word_bytes, set), {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64});
  for (const std::uint32_t offset : {4, 8, 16, 32, 64, 96, 128}) {
    list.push_back(full(l, word_bytes, set));
    list.back().offset_bytes = offset;
  }
  return list;
}

std::uint64_t windows_of(const Shape& s) {
  return s.stride ? s.bytes / ilp_of_words / (std::uint64_t{lanes} * s.stride * word_bytes) : 0;
}

std::optional<std::string> refuses_access(const ProbeCase& c, const Shape& s) {
  if (s.access_bytes != word_bytes || s.ilp != ilp_of_words)
    return "this probe reads words of 4 bytes, 8 of a thread in flight";
  if (s.offset_bytes % word_bytes || s.offset_bytes > max_offset)
    return "an offset is of whole words, " + std::to_string(max_offset) + " bytes at most";
  if (s.threads % lanes) return "only whole warps read";
  const std::uint64_t plane = s.bytes / ilp_of_words;
  const bool known = c.space == Space::l1 ? plane == l1_plane : plane == small_plane || plane == large_plane;
  if (s.bytes % ilp_of_words || !known)
    return std::to_string(s.bytes) + " bytes: a set has " +
           (c.space == Space::l1 ? "64 KiB, which L1 holds" : "1 MiB or 8 MiB, which L2 holds");
  if (!windows_of(s))
    return "a set of " + std::to_string(s.bytes) + " bytes holds no warp's reads of stride " + std::to_string(s.stride);
  return std::nullopt;
}

std::vector<Shape> atomics_shapes(const ProbeCase& c, const Layout& l) {
  const Shape shape = full(l, word_bytes, 0);
  return c.space == Space::shared ? with_strides(shape, {1, 0}) : with_strides(shape, {1, 0, 8, 32});
}

std::uint64_t atomic_words(const Shape& s, Space space) {
  const std::uint64_t adders = space == Space::shared ? s.threads : std::uint64_t{s.blocks} * s.threads;
  return std::max<std::uint64_t>(adders * s.stride, 1);
}

std::uint64_t atomic_bytes(std::span<const ProbeStep> steps) {
  std::uint64_t most = 0;
  for (const ProbeStep& step : steps)
    most = std::max(most, atomic_words(step.axes, step.question.space) *
                              (step.question.space == Space::shared ? step.axes.blocks : 1));
  return most * word_bytes;
}

std::uint64_t adders_of(const Shape& s, Space space) {
  return space == Space::shared ? s.threads : std::uint64_t{s.blocks} * s.threads;
}

std::optional<std::string> wrong_words(const Shape& s, Space space, std::uint64_t steps,
                                       const std::vector<std::uint32_t>& words) {
  const bool common = s.stride == 0;
  const std::uint64_t own_words = atomic_words(s, space),
                      times = steps * ilp_of_words * (common ? adders_of(s, space) : 1);
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    const bool used = common || i % own_words % s.stride == 0;
    if (words[i] != (used ? static_cast<std::uint32_t>(times) : 0))
      return "word " + std::to_string(i) + " is " + std::to_string(words[i]) + " after " + std::to_string(times) +
             " additions of 1";
  }
  return std::nullopt;
}

std::optional<std::string> wrong_old_values(const Shape& s, Space space, std::uint64_t steps,
                                            const std::vector<std::uint32_t>& sums) {
  const std::uint64_t adders = adders_of(s, space), times = steps * ilp_of_words * adders;
  for (std::uint64_t first = 0; first < sums.size(); first += adders) {
    std::uint32_t all = 0;
    for (std::uint64_t i = first; i < first + adders; ++i) all += sums[i];
    if (all != static_cast<std::uint32_t>(sum_below(times)))
      return "the old values of threads " + std::to_string(first) + " to " + std::to_string(first + adders - 1) +
             " are not 0 to " + std::to_string(times - 1) + ", each once";
  }
  return std::nullopt;
}

std::optional<std::string> refuses_atomics(const ProbeCase& c, const Shape& s) {
  if (s.access_bytes != word_bytes || s.ilp != ilp_of_words || s.bytes != 0)
    return "this probe adds to words of 4 bytes, 8 times a thread in a step, and its set follows from the stride";
  if (c.space == Space::shared && s.stride > 1) return "in shared memory words are side by side (1) or one (0)";
  constexpr std::uint64_t most_words = GiB / word_bytes;
  if (atomic_words(s, c.space) > most_words) return "the words would take more than 1 GiB";
  return std::nullopt;
}

std::vector<Shape> divergence_shapes(const ProbeCase&, const Layout& l) {
  std::vector<Shape> list;
  Shape shape = full(l, word_bytes, 0);
  shape.ilp = 1;
  shape.access_bytes = 0;
  for (const std::uint32_t stride : {1u, lanes})
    for (const std::uint32_t ways : {1, 2, 3, 4, 8, 16, 32}) {
      shape.stride = stride;
      shape.ways = ways;
      list.push_back(shape);
    }
  return list;
}

std::optional<std::string> refuses_divergence(const ProbeCase&, const Shape& s) {
  if (s.ilp != 1 || s.access_bytes != 0 || s.bytes != 0) return "a branch has one chain of a thread, and no memory";
  if (s.ways > max_ways) return "a branch has " + std::to_string(max_ways) + " ways at most";
  return std::nullopt;
}

namespace {

constexpr std::uint32_t widest_rung = 8, first_walking_rung = 7, first_rung_of_pairs = 4;
std::uint32_t access_of_rung(std::uint32_t rung) { return rung == widest_rung ? wide_bytes : word_bytes; }
std::uint32_t ilp_of_rung(std::uint32_t rung) {
  return rung >= first_walking_rung ? ilp_wide : rung >= first_rung_of_pairs ? 2 : 1;
}
// Words that a block of the first rungs adds up.
std::uint64_t words_of_block(std::uint32_t rung) { return std::uint64_t{rung_threads} * ilp_of_rung(rung); }

}  // namespace

std::vector<Shape> reduction_shapes(const ProbeCase&, const Layout& l) {
  const std::uint64_t bytes = far_bytes(l);
  std::vector<Shape> list;
  for (std::uint32_t rung = 1; rung <= rungs; ++rung) {
    const std::uint64_t blocks =
        rung < first_walking_rung ? bytes / word_bytes / words_of_block(rung) : filling_blocks(l, rung_threads);
    list.push_back({.blocks = static_cast<std::uint32_t>(blocks),
                    .threads = rung_threads,
                    .ilp = ilp_of_rung(rung),
                    .access_bytes = access_of_rung(rung),
                    .bytes = bytes,
                    .rung = rung});
  }
  return list;
}

std::optional<std::string> refuses_reduction(const ProbeCase&, const Shape& s) {
  if (s.rung < 1 || s.rung > rungs) return "the rungs are 1 to " + std::to_string(rungs);
  if (s.threads != rung_threads || s.ilp != ilp_of_rung(s.rung) || s.access_bytes != access_of_rung(s.rung))
    return "rung " + std::to_string(s.rung) + " has " + std::to_string(rung_threads) + " threads, ilp " +
           std::to_string(ilp_of_rung(s.rung)) + " and accesses of " + std::to_string(access_of_rung(s.rung)) +
           " bytes";
  if (s.bytes < wide_bytes || s.bytes % wide_bytes) return "an array has whole accesses of 16 bytes";
  const std::uint64_t wanted = (s.bytes / word_bytes + words_of_block(s.rung) - 1) / words_of_block(s.rung);
  if (s.rung < first_walking_rung && s.blocks != wanted)
    return "rung " + std::to_string(s.rung) + " has a grid as large as the array: " + std::to_string(wanted) +
           " blocks";
  return std::nullopt;
}

std::uint32_t tile_of(const Shape& s) {
  return s.threads == 64 ? 8 : s.threads == 256 ? 16 : s.threads == 1024 ? 32 : 0;
}

std::uint32_t rows_of_matrix(const Shape& s) {
  const auto rows = static_cast<std::uint32_t>(std::lround(std::sqrt(static_cast<double>(s.bytes / word_bytes))));
  return std::uint64_t{rows} * rows * word_bytes == s.bytes ? rows : 0;
}

std::vector<Shape> product_shapes(const ProbeCase&, const Layout& l) {
  constexpr std::uint32_t rows = 2048;
  std::vector<Shape> list;
  for (const std::uint32_t rung : {1, 2})
    for (const std::uint32_t tile : {8, 16, 32})
      if (!l.max_threads_per_block || tile * tile <= l.max_threads_per_block)
        list.push_back({.blocks = (rows / tile) * (rows / tile),
                        .threads = tile * tile,
                        .access_bytes = word_bytes,
                        .bytes = std::uint64_t{rows} * rows * word_bytes,
                        .rung = rung});
  return list;
}

std::optional<std::string> refuses_product(const ProbeCase&, const Shape& s) {
  if (s.rung != 1 && s.rung != 2) return "the rungs are 1, from global memory, and 2, by tiles";
  if (!tile_of(s)) return "a block has 64, 256 or 1024 threads: tiles of 8, 16 or 32";
  if (s.ilp != 1 || s.access_bytes != word_bytes) return "a thread reads words of 4 bytes, one at a time";
  constexpr std::uint32_t most_rows = 16384;
  const std::uint32_t rows = rows_of_matrix(s);
  if (!rows || rows % product_period || rows > most_rows)
    return std::to_string(s.bytes) + " bytes are no square matrix of fp32 with a multiple of " +
           std::to_string(product_period) + " rows, " + std::to_string(most_rows) + " at most";
  const std::uint32_t across = rows / tile_of(s);
  if (s.blocks != across * across) return "its grid has " + std::to_string(across * across) + " blocks";
  return std::nullopt;
}

std::vector<Shape> staging_shapes(const ProbeCase&, const Layout& l) {
  std::vector<Shape> list;
  for (std::uint32_t rung = 1; rung <= staging_rungs; ++rung)
    for (const std::uint32_t blocks_of_unit : {1, 2, 4}) {
      list.push_back({.blocks = l.units * blocks_of_unit,
                      .threads = staging_threads,
                      .ilp = rung > 2 ? stages : 1,
                      .access_bytes = wide_bytes,
                      .bytes = far_bytes(l),
                      .rung = rung});
    }
  return list;
}

std::optional<std::string> refuses_staging(const ProbeCase&, const Shape& s) {
  if (s.rung < 1 || s.rung > staging_rungs) return "the rungs are 1 to " + std::to_string(staging_rungs);
  if (s.threads != staging_threads || s.access_bytes != wide_bytes || s.ilp != (s.rung > 2 ? stages : 1))
    return "rung " + std::to_string(s.rung) + " has " + std::to_string(staging_threads) +
           " threads, 16 bytes each, and ilp " + std::to_string(s.rung > 2 ? stages : 1);
  if (s.bytes / tile_bytes < s.blocks) return "each block needs a tile of " + std::to_string(tile_bytes) + " bytes";
  return std::nullopt;
}

}  // namespace patterns
}  // namespace npgpu

namespace npgpu::occupancy {

std::vector<Shape> shapes(const Layout& l, std::span<const std::uint32_t> registers) {
  const Shape alone{.blocks = l.units * blocks_per_unit,
                    .threads = threads,
                    .access_bytes = 4,
                    .bytes = set_bytes,
                    .registers = registers.front()};
  std::vector<Shape> list;
  const auto add = [&](const Shape& shape) {  // a wave that is not whole would leave units idle
    if (blocks_per_unit % resident_blocks(l, shape) == 0) list.push_back(shape);
  };
  add(alone);
  for (std::uint32_t wanted = resident_blocks(l, alone) - 1; wanted > 0 && l.shared_bytes_per_unit > 0; --wanted) {
    Shape shape = alone;
    const std::uint32_t part = l.shared_bytes_per_unit / wanted - l.shared_bytes_reserved;
    shape.shared_bytes = static_cast<std::uint32_t>(std::min(part, l.shared_bytes_per_block) / KiB * KiB);
    if (shape.shared_bytes && resident_blocks(l, shape) == wanted) add(shape);
  }
  for (const std::uint32_t of_thread : registers.subspan(1)) {
    Shape shape = alone;
    shape.registers = of_thread;
    add(shape);
  }
  return each_once(std::move(list));
}

std::optional<std::string> refuses(const Layout& l, const Shape& s, std::span<const std::uint32_t> registers) {
  if (s.threads != threads || s.ilp != 1 || s.access_bytes != 4 || s.bytes != set_bytes)
    return fmt::format("blocks have {} threads, which read words of 4 bytes in {} bytes, one at a time", threads,
                       set_bytes);
  if (s.one_block_per_sm) return "shared memory and registers say how many blocks a unit holds";
  if (std::ranges::find(registers, s.registers) == registers.end())
    return fmt::format("threads of its kernels have {} registers", fmt::join(registers, ", "));
  if (s.shared_bytes > l.shared_bytes_per_block)
    return fmt::format("a block has at most {} bytes of shared memory", l.shared_bytes_per_block);
  return std::nullopt;
}

}  // namespace npgpu::occupancy
