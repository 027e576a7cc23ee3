// Which copies no GPU does, real or simulated; the shape that fills a device; and NPGPU_EVERYWHERE, which stands before
// functions of the host that kernels call, too: headers with them need no CUDA.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/transfer.hpp"

#ifdef __CUDACC__
#define NPGPU_EVERYWHERE __host__ __device__
#else
#define NPGPU_EVERYWHERE
#endif

namespace npgpu {

// The shape that fills a device: whole warps on all units; of these in most memory, with one access of 16 B or most
// chains in flight, the most blocks. On an H200 it comes within 0.3 % of the best of all shapes. A light one has the
// fewest blocks, which stay, with most accesses in flight: reads come within 1.5 % there, for a fifth less energy a
// byte; writes and copies are a tenth slower. Nothing where no shape is on several units.
enum class Fill { usual, light };
inline std::optional<Shape> filling_shape(const std::vector<Shape>& shapes, Fill fill = Fill::usual) {
  constexpr std::uint32_t usual_threads = 256;
  const bool is_light = fill == Fill::light;
  const auto reach = [is_light](const Shape& s) {
    const auto ilp = std::int64_t{s.ilp}, blocks = std::int64_t{s.blocks};
    return std::tuple(s.blocks > 1, s.stride == 1, s.threads == usual_threads, s.bytes, s.access_bytes,
                      is_light || !s.bytes ? ilp : -ilp, is_light ? -blocks : blocks);
  };
  const auto best = std::ranges::max_element(shapes, {}, reach);
  if (best == shapes.end() || best->blocks < 2) return std::nullopt;
  return *best;
}

// Between two devices, through the host.
inline bool is_staged_peer(const TransferCase& c) {
  return c.direction == Direction::peer && c.access == Access::staged;
}

// Pageable and managed memory is staged by the host, whatever the call is named; so is what goes from one device to
// another that does not see its memory.
inline bool only_enqueues(const TransferCase& c) {
  return c.async && c.memory != Memory::pageable && c.memory != Memory::managed && !is_staged_peer(c);
}

// Why the case can run on no device, and what would make it run, in one sentence that names the options; nothing if it
// can. Asks nothing of the machine.
std::optional<std::string> why_no_copy(const TransferCase&);

}  // namespace npgpu
