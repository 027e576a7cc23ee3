// A Case is one complete question about memory transfers; with a size in bytes it is a point.
#pragma once

#include <cstdint>
#include <string>

#include "npgpu/names.hpp"

namespace npgpu {

enum class Pattern {
  stream,    // copies one way, back to back
  pingpong,  // there and back; times are one way, half a round trip
  duplex,    // both directions at once, each with its own channel
};
enum class Direction { h2d, d2h, d2d, h2h, peer };
enum class Memory { pageable, pinned, write_combined, managed, device };
enum class Timing {
  host,   // a monotonic clock around the repeats, then settle: NetPIPE's way
  event,  // device events around the repeats
  gated,  // everything enqueued behind a waiting kernel, then released; device events
};
enum class Cache {
  warm,  // every repeat touches the same bytes
  cold,  // repeats walk through a footprint larger than the last-level caches
};

template <>
inline constexpr std::array<std::string_view, 3> names_of<Pattern>{"stream", "pingpong", "duplex"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Direction>{"h2d", "d2h", "d2d", "h2h", "peer"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Memory>{"pageable", "pinned", "write-combined", "managed",
                                                                  "device"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<Timing>{"host", "event", "gated"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<Cache>{"warm", "cold"};

struct Case {
  std::string module{};  // the API that moves the bytes: memcpy, cudaMemcpy, cuMemcpy, simulated
  std::string device{};  // host, cuda:0, sim:gtx280
  Pattern pattern = Pattern::stream;
  Direction direction = Direction::h2d;
  Memory memory = Memory::pinned;   // the host side's; Memory::device for d2d and peer
  bool async = false;               // the API's asynchronous form
  Timing timing = Timing::host;
  Cache cache = Cache::warm;
  std::uint64_t source_offset = 0;  // bytes past an aligned address
  std::uint64_t target_offset = 0;
  bool bind = true;                 // buffers and threads on the device's NUMA node

  bool operator==(const Case&) const = default;
};

// h2d <-> d2h; the other directions are their own reverse.
constexpr Direction reversed(Direction d) {
  return d == Direction::h2d ? Direction::d2h : d == Direction::d2h ? Direction::h2d : d;
}

// "cudaMemcpy cuda:0 h2d pinned stream async gated", with offsets, cold and unbound said where they apply.
std::string title(const Case&);

}  // namespace npgpu
