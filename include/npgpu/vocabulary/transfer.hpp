// Memory transfers: one complete question (a TransferCase), and its lanes, the flows of bytes that it times at once. A
// case with a size in bytes is a point. And messages that are staged through host memory in chunks.
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
#include <span>
#include <string>
#include <vector>

#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/series.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

enum class Pattern {
  stream,    // copies one way, back to back
  pingpong,  // there and back; times are one way, half a round trip
  duplex,    // both directions at once: two lanes
  chase,     // loads of 8 bytes by a kernel; each load's address is the result of the one before
  atomic,    // the same by atomic additions of zero, which return the old value
  flag,      // two sides in turn: each writes a word that the other waits for; times are one way, half a round trip
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
  cold,  // repeats go through a memory range larger than the last-level caches
};
// What moves the bytes.
enum class Executor { copy_engine, sm_kernel, cpu };
// How a copy between two devices, or a message between two ranks, reaches the other side's memory. It has no meaning
// for other directions.
enum class Access {
  write,   // the source's device writes into the target's memory; of a message: the library gets both buffers directly
  read,    // the target's device reads the source's memory
  staged,  // through the host, because neither sees the other's memory; the driver does it, and for a message npgpu, in
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

// Kernels move single words, one after the other, so that the result is a latency.
constexpr bool is_of_words(Pattern p) { return p == Pattern::chase || p == Pattern::atomic || p == Pattern::flag; }
// The size of such a word.
inline constexpr std::uint64_t single_word_bytes = 8;

// Whether an operation goes there and back.
constexpr bool is_round_trip(Pattern p) { return p == Pattern::pingpong || p == Pattern::flag; }

// One flow of bytes.
struct Lane {
  Direction direction = Direction::h2d;
  std::string source{}, target{};  // devices: host, cuda:0, sim:gtx280
  Executor executor = Executor::copy_engine;
  bool measured = true;  // false: it only loads the other lanes

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
  // The NUMA node of the host with buffers and threads of all lanes; -1: as `bind` says.
  std::int32_t host_node = -1;
  // The bytes of a chunk of a staged message between ranks (Access::staged); 0: as advised for each size.
  std::uint64_t chunk_bytes = 0;
  std::string beside = "nobody";   // see is_beside()
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

// A case between the host and `device` in that direction, or within one of them, with the usual memory and executor.
// h2h on a GPU or a simulated device copies within its host's memory, and both ends name the device.
TransferCase case_on(std::string module, const std::string& device, Direction direction = Direction::h2d);
// A case from one device to another.
TransferCase peer_case(std::string module, const std::string& source, const std::string& target,
                       Access access = Access::write);

// Whether it copies between the memories of two processes, "host@0" and "cuda:1@1".
bool is_between_ranks(const TransferCase&);

// The device of a case: the first of source and target that is not the host, else the host.
std::string device_of(const TransferCase&);
// The device that moves the bytes of the case's own lane by its engine or kernel: for Access::read the target, else
// device_of().
std::string mover_of(const TransferCase&);
// All devices of all lanes, each once, in the order of the lanes; the host only where there is no other.
std::vector<std::string> devices_of(const TransferCase&);

// Whether the host's processors affect its times: the host's clock times it, or they move the bytes or answer flags.
inline bool is_host_timed(const TransferCase& c) {
  return c.timing == Timing::host || c.executor == Executor::cpu ||
         (c.pattern == Pattern::flag && c.direction == Direction::h2d);
}

// h2d <-> d2h; the other directions are their own reverse.
constexpr Direction reversed(Direction d) {
  return d == Direction::h2d ? Direction::d2h : d == Direction::d2h ? Direction::h2d : d;
}
Lane reversed(const Lane&);

// All lanes of a case: its own, for duplex the reverse one, then more_lanes. If a case with more_lanes is timed on
// devices, one gate starts all lanes, and each goes on copying after its last timed copy until all have finished
// theirs. So all lanes run during the time of each.
std::vector<Lane> lanes(const TransferCase&);
// The case of one lane alone, as a module gets it.
TransferCase lane_case(const TransferCase&, const Lane&);

// "h2d host>cuda:0 copy-engine; d2h cuda:0>host copy-engine load": lanes as a trace stores them, and back. Nothing if
// the text is not of lanes.
std::string lanes_text(const std::vector<Lane>&);
std::optional<std::vector<Lane>> parse_lanes(const std::string&);

// "cudaMemcpy cuda:0 h2d pinned stream async gated", with offsets, cold and unbound where they apply.
std::string title(const TransferCase&);

struct TransferSize {
  std::uint64_t bytes = 0;  // one operation's payload, at least 1

  auto operator<=>(const TransferSize&) const = default;
};
template <> inline constexpr auto fields_of<TransferSize> = fields(field("bytes", &TransferSize::bytes, "B"));

// One timed run of `repeats` operations on one lane. An operation of pingpong and flag is a round trip. A trial of
// several lanes has a sample for each, with the same trial number; lanes are numbered as in lanes().
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

inline TimeClass class_of(const TransferCase& c) {
  if (c.memory == Memory::pageable || c.memory == Memory::managed || c.direction == Direction::h2h)
    return TimeClass::pageable_copies;
  return is_host_timed(c) ? TimeClass::host_copies : TimeClass::device_copies;
}

struct Transfers : UsualKind {
  static constexpr std::string_view name = "transfers";
  static constexpr std::string_view singular = "transfer";
  static constexpr std::string_view command = "transfer";
  static constexpr bool is_copy = true;
  using Case = TransferCase;
  using Axes = TransferSize;
  using Sample = TransferSample;
  using Context = TransferContext;
  static Seconds timed(const Case&, std::span<const Sample> trial);  // of the lane that took longest, and is measured
  static PointCost cost(const DeviceInfo&, const Step<Transfers>&);
  static double work(const Case& c, const Axes& size) {
    return static_cast<double>(size.bytes) * (is_round_trip(c.pattern) ? 2 : 1);
  }
  static std::vector<std::string> other_devices(const Case&);
  static std::vector<Result<Transfers>> results(const Series<Transfers>&);
  static Estimate figure(const Case&, const Result<Transfers>&);
  static std::string_view counted(const Case&, const Result<Transfers>&);
  static std::vector<FigureChoice> key_figures(const Case&, std::uint32_t lane);
};
using TransferSeries = Series<Transfers>;
using TransferPoint = Point<Transfers>;
using TransferResult = Result<Transfers>;

// What makes a row invalid: "has 0 bytes"; nothing if it is valid.
std::optional<std::string> flaw_of(const TransferSize&);
std::optional<std::string> flaw_of(const TransferSample&);
// "4 KiB"
std::string text_of(const TransferSize&);

// The theoretical rate of a case on its device (device_of), from the facts of the device. REQUIRES: the info is of that
// device.
Limit limit_of(const TransferCase&, const DeviceInfo&);

// Messages that are staged through host memory in chunks: how long they take, and how large a chunk should be.
//
// Each chunk goes through the same stages, for example out of a GPU, over the network, into a GPU. Each stage is done
// by a worker, which has one chunk at a time. With t_i(c) for a chunk of c bytes, n equal chunks of a message take
//     T(n) = sum_i t_i(bytes / n) + (n - 1) max_w sum_{i of w} t_i(bytes / n):
// the first chunk goes through all stages, and behind it the busiest worker is never idle. This is the makespan of
// equal jobs in a flow shop (Johnson 1954 has the case of two workers). Where t_i = s_i + b_i c, and one worker is
// always the busiest, with a start of s and B for a byte, T is smallest at n = sqrt(bytes (sum b_i - B) / s). Costs are
// curves, because a chunk that fits into caches is copied faster than a larger one.
//
// Example:
//   using npgpu::Seconds;
//   const npgpu::StageCost copy{.curve = {{4096, Seconds{9e-6}}, {npgpu::MiB, Seconds{28e-6}}}, .worker = 0};
//   const npgpu::StageCost send{.curve = {{4096, Seconds{5e-6}}, {npgpu::MiB, Seconds{52e-6}}}, .worker = 1};
//   const std::vector<npgpu::StageCost> stages{copy, send};
//   const std::uint64_t chunk = npgpu::advised_chunk(stages, 4 * npgpu::MiB, npgpu::MiB);
//   const Seconds time = npgpu::staged_time(stages, 4 * npgpu::MiB, 4 * npgpu::MiB / chunk);
//   std::cout << "chunks of " << npgpu::size_text(chunk) << ": " << npgpu::microseconds(time) << " us\n";

// The cost of one stage for one chunk, at some sizes.
struct StageCost {
  struct At {
    double bytes = 0;
    Seconds time{0};
  };
  std::vector<At> curve{};  // ascending, at least one; straight lines between them, and the last one goes on
  int worker = 0;           // stages of the same worker do not overlap

  // Below the first size, the time is that of the first size.
  Seconds time(double bytes) const;
};

// The time of a message in `chunks` equal chunks, at least 1.
Seconds staged_time(std::span<const StageCost>, std::uint64_t bytes, std::uint64_t chunks);

// The chunk with the shortest time of a message. It is a multiple of `grain`, at least one and at most `most` bytes, or
// the whole message where that is less. Among chunks with times within 1 % of the shortest, the largest, because it
// needs the fewest messages. Numbers of chunks are tried one by one up to 64, and then in steps of a twentieth.
std::uint64_t advised_chunk(std::span<const StageCost>, std::uint64_t bytes, std::uint64_t most,
                            std::uint64_t grain = 4096);

}  // namespace npgpu
