#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "npgpu/vocabulary/questions.hpp"
#include "probes/tma/shapes.hpp"

namespace npgpu::tma {

namespace {

constexpr std::uint64_t small_set = 4 * MiB;  // any L2 of a device with bulk copies holds it many times

std::uint64_t large_set(const Layout& l) {
  const std::uint64_t fits = l.memory_bytes ? l.memory_bytes / 8 : GiB;
  return std::max<std::uint64_t>(std::bit_floor(std::min(GiB, fits)), small_set);
}

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  std::vector<ProbeCase> all;
  for (const Operation operation : {Operation::chase, Operation::read, Operation::write})
    for (const Space space : {Space::l2, Space::global})
      all.push_back({.probe = "tma",
                     .device = device,
                     .operation = operation,
                     .type = operation == Operation::chase ? DataType::fp64 : DataType::fp32,
                     .form = operation == Operation::chase ? Form::dependent : Form::streaming,
                     .space = space});
  return all;
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l,
                          std::uint32_t (*at_once)(const std::string&, std::uint32_t)) {
  std::vector<Shape> all;
  const bool in_l2 = c.space == Space::l2;
  if (c.operation == Operation::chase) {
    const std::uint64_t bytes = in_l2 ? small_set : large_set(l);
    for (const std::uint32_t rung : {plain, bulk, box})
      for (const std::uint32_t access : {16u, 128u, 1024u, 4096u})
        if (rung != plain || access == unit_bytes)
          all.push_back({.access_bytes = access, .bytes = bytes, .one_block_per_sm = 1, .rung = rung});
    return all;
  }
  const std::uint64_t bytes = in_l2 ? 4 * small_set : large_set(l);
  const auto add = [&](std::uint32_t rung, std::uint32_t threads, std::uint32_t access, std::uint32_t ilp,
                       std::uint32_t cluster) {
    const std::uint32_t blocks = cluster ? at_once(c.device, cluster) * cluster : l.units;
    if (std::uint64_t{threads} / warp * ilp * access <= shared_bytes && blocks)
      all.push_back({.blocks = blocks,
                     .threads = threads,
                     .ilp = ilp,
                     .access_bytes = access,
                     .bytes = bytes,
                     .one_block_per_sm = 1,
                     .rung = rung,
                     .cluster = cluster});
  };
  for (const std::uint32_t rung : {bulk, box}) {
    for (const std::uint32_t access : {1u * 1024, 2u * 1024, 4u * 1024, 8u * 1024})
      for (const std::uint32_t ilp : {1u, 2u, 4u, 8u}) add(rung, 4 * warp, access, ilp, 0);
    for (const std::uint32_t access : {16u * 1024, 32u * 1024})
      for (const std::uint32_t ilp : {1u, 2u, 4u}) add(rung, warp, access, ilp, 0);
  }
  if (c.operation == Operation::read && in_l2)
    for (const std::uint32_t size : {2u, 4u, 8u})
      for (const std::uint32_t access : {4u * 1024, 8u * 1024}) add(multicast, 4 * warp, access, 4, size);
  return all;
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& s) {
  const bool chases = c.operation == Operation::chase;
  const std::uint32_t first = chases ? plain : bulk, last = c.operation == Operation::read ? multicast : box;
  if (s.rung < first || s.rung > last)
    return fmt::format("rung {}; {} has rungs {} to {}", s.rung, name(c.operation), first, +last);
  if (s.access_bytes < unit_bytes || !std::has_single_bit(s.access_bytes) || s.access_bytes > 32 * KiB)
    return fmt::format("copies of {} bytes: 16 to 32768, a power of two", s.access_bytes);
  if (s.one_block_per_sm == 0) return "one_block_per_sm is 1: blocks have too much shared memory for two on a unit";
  if (chases) {
    if (s.blocks != 1 || s.threads != 1 || s.ilp != 1 || s.cluster) return "a chase has one block and one thread";
    if (s.bytes < chase_step(s) || s.bytes % chase_step(s) || s.bytes / chase_step(s) > UINT32_MAX)
      return fmt::format("{} bytes: whole elements of {}", s.bytes, chase_step(s));
    return std::nullopt;
  }
  if (s.threads % warp || s.threads > 8 * warp) return fmt::format("{} threads: 1 to 8 warps of 32", s.threads);
  if (s.rung == box && s.access_bytes < line_bytes) return "boxes lie 128 bytes apart in shared memory, at least";
  if (s.ilp > max_boxes_of_warp) return fmt::format("ilp {}: at most {} copies of a warp", s.ilp, max_boxes_of_warp);
  if (std::uint64_t{s.threads} / warp * s.ilp * s.access_bytes > shared_bytes)
    return fmt::format("boxes of more than {} bytes in a block", shared_bytes);
  if ((s.rung == multicast) != (s.cluster > 0)) return "clusters are those of rung 4, and rung 4 has some";
  if (s.cluster && (s.blocks % s.cluster || s.access_bytes / s.cluster < unit_bytes || s.cluster > 8 ||
                    !std::has_single_bit(s.cluster)))
    return fmt::format("{} blocks in clusters of {}: whole ones of 1, 2, 4 or 8", s.blocks, s.cluster);
  if (boxes_of_group(s) == 0) return fmt::format("{} bytes are fewer than all warps read at once", s.bytes);
  return std::nullopt;
}

double work(const ProbeCase& c, const Shape& s) {
  if (c.operation == Operation::chase) return loads_of_repeat;
  return static_cast<double>(boxes_of_repeat) * s.blocks * s.threads / warp * s.access_bytes;
}

}  // namespace npgpu::tma

namespace npgpu {

namespace {

template <std::uint32_t rung, Space space> bool bulk_loads(const ProbeCase& c, const Shape& s) {
  return c.operation == Operation::chase && c.space == space && s.rung == rung && s.access_bytes == 16;
}
template <Operation operation, std::uint32_t rung, Space space> bool bulk_moves(const ProbeCase& c, const Shape& s) {
  return c.operation == operation && c.space == space && s.rung == rung;
}
double one_bulk_load(const ProbeCase&, const Shape&) { return 1; }

template <std::uint32_t rung, Space space> UnitRate bulk_latency(const char* name, const char* meaning) {
  return {.name = name, .meaning = meaning, .of = bulk_loads<rung, space>, .step = one_bulk_load};
}
template <Operation operation, std::uint32_t rung, Space space> UnitRate bulk_rate(const char* name) {
  return {.name = name,
          .meaning = operation == Operation::read ? "bytes that copies move to a unit's shared memory"
                                                  : "bytes that copies take from a unit's shared memory",
          .of = bulk_moves<operation, rung, space>};
}
constexpr const char *by_load = "a plain load, of the set that bulk copies chase through",
                     *by_copy = "from asking for a bulk copy of 16 bytes until they are read from shared memory",
                     *by_box = "the same, of a box of a tensor map";

}  // namespace

const Joined<ProbeDescription> tma_description(
    {.name = "tma",
     .summary = "bulk copies and boxes of tensor maps (TMA): latency over a plain load, rates by box and depth",
     .axes = {.rung = true, .cluster = true},
     .is_usual = false,
     .unit_rates = {bulk_latency<1, Space::l2>("load latency, L2", by_load),
                    bulk_latency<2, Space::l2>("bulk copy latency, L2", by_copy),
                    bulk_latency<3, Space::l2>("box latency, L2", by_box),
                    bulk_latency<1, Space::global>("load latency, memory", by_load),
                    bulk_latency<2, Space::global>("bulk copy latency, memory", by_copy),
                    bulk_latency<3, Space::global>("box latency, memory", by_box),
                    bulk_rate<Operation::read, 2, Space::l2>("bulk copy reads of L2"),
                    bulk_rate<Operation::read, 3, Space::l2>("box reads of L2"),
                    bulk_rate<Operation::read, 4, Space::l2>("multicast reads of L2"),
                    bulk_rate<Operation::read, 2, Space::global>("bulk copy reads of memory"),
                    bulk_rate<Operation::read, 3, Space::global>("box reads of memory"),
                    bulk_rate<Operation::write, 2, Space::l2>("bulk copy writes of L2"),
                    bulk_rate<Operation::write, 3, Space::l2>("box writes of L2"),
                    bulk_rate<Operation::write, 2, Space::global>("bulk copy writes of memory"),
                    bulk_rate<Operation::write, 3, Space::global>("box writes of memory")},
     .cases = tma::cases,
     .there_are =
         "probe tma has the operations chase (dependent, of addresses as fp64), read and write (of fp32), in the "
         "spaces l2 and global",
     .refuses = tma::refuses,
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation == Operation::chase) return {};  // the shortest is the plain load's
       const char* const from = c.space == Space::l2 ? "L2" : "memory";
       return {{std::string("bulk ") + (c.operation == Operation::read ? "reads of " : "writes of ") + from,
                Among::fastest, FigureUnit::bytes_per_s}};
     }});

}  // namespace npgpu
