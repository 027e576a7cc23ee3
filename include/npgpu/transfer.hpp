// Memory transfers: one complete question (a TransferCase) and its lanes, the flows of bytes that it times at once.
// With a size in bytes it is a point.
//
// Example:
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");  // or cuda:0, with the module cudaMemcpy
//   npgpu::TransferCase both = npgpu::case_on("simulated", gpu.id, npgpu::Direction::h2d);
//   both.pattern = npgpu::Pattern::duplex;
//   both.timing = npgpu::Timing::gated;
//   both.async = true;
//   std::cout << title(both) << '\n';
//   for (const npgpu::Lane& lane : npgpu::lanes(both)) std::cout << lane.source << " to " << lane.target << '\n';
//   std::cout << "at most " << npgpu::limit_of(both, gpu).per_s / 1e9 << " GB/s each way\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/beside.hpp"
#include "npgpu/names.hpp"
#include "npgpu/series.hpp"

namespace npgpu {

enum class Pattern {
  stream,    // copies one way, back to back
  pingpong,  // there and back; times are one way, half a round trip
  duplex,    // both directions at once: two lanes
  chase,     // loads of 8 bytes by a kernel, each of whose address is what the one before brought
  atomic,    // the same by atomic additions, which change nothing and bring what was there
  flag,      // each of two writes a word, which the other waits for, in turn; times are one way, half a round trip
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
// Who moves the bytes.
enum class Executor { copy_engine, sm_kernel, cpu };
// How a copy between two devices reaches the other one's memory; of messages between ranks, also between hosts. With
// other directions it has no meaning.
enum class Access {
  write,   // the source's device writes into the target's memory; a message: the library takes both ends as they are
  read,    // the target's device reads the source's memory
  staged,  // neither sees the other's memory: the driver takes the bytes through the host; a message: npgpu does, in
           // chunks
};

template <>
inline constexpr std::array<std::string_view, 6> names_of<Pattern>{"stream", "pingpong", "duplex",
                                                                   "chase",  "atomic",   "flag"};
template <> inline constexpr std::array<std::string_view, 5> names_of<Direction>{"h2d", "d2h", "d2d", "h2h", "peer"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Memory>{"pageable", "pinned", "write-combined", "managed",
                                                                  "device"};
template <> inline constexpr std::array<std::string_view, 3> names_of<Timing>{"host", "event", "gated"};
template <> inline constexpr std::array<std::string_view, 2> names_of<Cache>{"warm", "cold"};
template <> inline constexpr std::array<std::string_view, 3> names_of<Executor>{"copy-engine", "sm-kernel", "cpu"};
template <> inline constexpr std::array<std::string_view, 3> names_of<Access>{"write", "read", "staged"};

// Kernels move single words, one after the other: what is asked for is a latency.
constexpr bool is_of_words(Pattern p) { return p == Pattern::chase || p == Pattern::atomic || p == Pattern::flag; }
// Of such a word.
inline constexpr std::uint64_t single_word_bytes = 8;

// An operation is there and back.
constexpr bool is_round_trip(Pattern p) { return p == Pattern::pingpong || p == Pattern::flag; }

// One flow of bytes.
struct Lane {
  Direction direction = Direction::h2d;
  std::string source{}, target{};  // devices: host, cuda:0, sim:gtx280
  Executor executor = Executor::copy_engine;
  bool measured = true;  // false: only a load on the others

  auto operator<=>(const Lane&) const = default;
};

struct TransferCase {
  std::string module{};  // the API that moves the bytes: memcpy, cudaMemcpy, cuMemcpy, simulated
  std::string source{};  // devices; see case_on()
  std::string target{};
  Pattern pattern = Pattern::stream;
  Direction direction = Direction::h2d;
  Memory memory = Memory::pinned;  // the host side's; Memory::device for d2d and peer
  bool async = false;              // the API's asynchronous form
  Timing timing = Timing::host;
  Cache cache = Cache::warm;
  Executor executor = Executor::copy_engine;
  Access access = Access::write;    // of all lanes between two devices
  std::uint64_t source_offset = 0;  // bytes past an aligned address
  std::uint64_t target_offset = 0;
  bool bind = true;  // buffers and threads on the device's NUMA node
  // The NUMA node of the host that buffers and threads of all lanes are on; -1: as `bind` says.
  std::int32_t host_node = -1;
  // Of a message between ranks that is staged (Access::staged): the bytes of a chunk; 0: as advised for each size.
  std::uint64_t chunk_bytes = 0;
  Beside beside = Beside::nobody;  // the second process on its device
  std::vector<Lane> more_lanes{};  // in addition to those of the pattern; one module and timing

  auto operator<=>(const TransferCase&) const = default;
};
template <>
inline constexpr auto fields_of<TransferCase> = fields(
    field("module", &TransferCase::module), field("source", &TransferCase::source),
    field("target", &TransferCase::target), field("pattern", &TransferCase::pattern),
    field("direction", &TransferCase::direction), field("memory", &TransferCase::memory),
    field("async", &TransferCase::async), field("timing", &TransferCase::timing), field("cache", &TransferCase::cache),
    field("executor", &TransferCase::executor), optional_field("access", &TransferCase::access),
    field("source_offset_bytes", &TransferCase::source_offset, "B"),
    field("target_offset_bytes", &TransferCase::target_offset, "B"), field("bind", &TransferCase::bind),
    optional_field("host_node", &TransferCase::host_node),
    optional_field("chunk_bytes", &TransferCase::chunk_bytes, "B"), optional_field("beside", &TransferCase::beside),
    field("more_lanes", &TransferCase::more_lanes));

// A case between the host and `device` in that direction, or within one of them; memory and executor as usual for it.
// h2h on a GPU or a simulated device copies within its host's memory, and both ends name the device.
TransferCase case_on(std::string module, const std::string& device, Direction direction = Direction::h2d);
// A case from one device to another.
TransferCase peer_case(std::string module, const std::string& source, const std::string& target,
                       Access access = Access::write);

// Between the memories of two processes, "host@0" and "cuda:1@1".
bool is_between_ranks(const TransferCase&);

// The device that a case is about: the first of source and target that is not the host, else the host.
std::string device_of(const TransferCase&);
// The device whose engine or kernel moves the bytes of the case's own lane: for Access::read the target, else
// device_of().
std::string mover_of(const TransferCase&);
// All devices of all lanes, each once, in the order of the lanes; the host only where there is no other.
std::vector<std::string> devices_of(const TransferCase&);

// The host's processors have a part in its times: its clock times it, they move the bytes, or they answer flags.
inline bool is_host_timed(const TransferCase& c) {
  return c.timing == Timing::host || c.executor == Executor::cpu ||
         (c.pattern == Pattern::flag && c.direction == Direction::h2d);
}

// h2d <-> d2h; the other directions are their own reverse.
constexpr Direction reversed(Direction d) {
  return d == Direction::h2d ? Direction::d2h : d == Direction::d2h ? Direction::h2d : d;
}
Lane reversed(const Lane&);

// All lanes of a case: its own, for duplex the reverse one, then more_lanes. With more_lanes that are timed on devices,
// all lanes start by one gate, and each goes on copying behind its last timed copy until the others have theirs: every
// lane's time is one in which all ran.
std::vector<Lane> lanes(const TransferCase&);
// The case of one of its lanes alone, as a module is asked for it.
TransferCase lane_case(const TransferCase&, const Lane&);

// "h2d host>cuda:0 copy-engine; d2h cuda:0>host copy-engine load": as a trace stores lanes, and back; nothing if the
// text is none.
std::string lanes_text(const std::vector<Lane>&);
std::optional<std::vector<Lane>> parse_lanes(const std::string&);

// "cudaMemcpy cuda:0 h2d pinned stream async gated", with offsets, cold and unbound said where they apply.
std::string title(const TransferCase&);

struct TransferSize {
  std::uint64_t bytes = 0;  // one operation's payload, at least 1

  auto operator<=>(const TransferSize&) const = default;
};
template <> inline constexpr auto fields_of<TransferSize> = fields(field("bytes", &TransferSize::bytes, "B"));

// One timed run of `repeats` operations on one lane. An operation of pingpong and flag is a round trip. A trial of
// several lanes gives a sample a lane, with the same trial number, numbered as in lanes().
struct TransferSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::uint32_t lane = 0;
  std::int32_t intact = -1;  // 1 payload compared and right, 0 wrong, -1 not compared after this trial
  std::uint64_t repeats = 0;
  double host_us = not_measured;    // of all repeats together, host clock around the repeats and settle
  double device_us = not_measured;  // of all repeats together, device events around the repeats

  bool operator==(const TransferSample&) const = default;
};
template <>
inline constexpr auto fields_of<TransferSample> = fields(field("visit", &TransferSample::visit),
                                                         field("trial", &TransferSample::trial),
                                                         field("lane", &TransferSample::lane),
                                                         field("intact", &TransferSample::intact, "1", intact_codes),
                                                         field("repeats", &TransferSample::repeats),
                                                         field("host_us", &TransferSample::host_us, "us"),
                                                         field("device_us", &TransferSample::device_us, "us"));

struct TransferContext {
  Limit limit;  // theoretical rate of one operation's payload in one direction, bytes per second

  bool operator==(const TransferContext&) const = default;
};
template <> inline constexpr auto fields_of<TransferContext> = fields(field("limit", &TransferContext::limit));

struct Transfers {
  static constexpr std::string_view name = "transfers";
  static constexpr std::string_view singular = "transfer";
  using Case = TransferCase;
  using Axes = TransferSize;
  using Sample = TransferSample;
  using Context = TransferContext;
  static Seconds timed(const Case&, std::span<const Sample> trial);  // of the lane that took longest, and is measured
};
using TransferSeries = Series<Transfers>;
using TransferPoint = Point<Transfers>;

// What makes a row senseless, as "has 0 bytes"; nothing if it is sound.
std::optional<std::string> flaw_of(const TransferSize&);
std::optional<std::string> flaw_of(const TransferSample&);
// "4 KiB"
std::string text_of(const TransferSize&);

// The theoretical rate of a case on its device (device_of), from what the device says of itself.
Limit limit_of(const TransferCase&, const DeviceInfo&);

}  // namespace npgpu
