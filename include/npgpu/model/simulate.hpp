// Jobs split into streams: what a job asks, what a node costs, when each piece runs, and how many pieces are best; and
// jobs of more stages, as pipelines. Pure functions.
//
// Example:
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");
//   const npgpu::StreamCosts costs = npgpu::simulated_costs(gpu, npgpu::Memory::pinned);
//   const npgpu::Job job{.in_bytes = 64 * npgpu::MiB, .out_bytes = 64 * npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
//   const auto best = npgpu::choose_streams(job, costs, npgpu::Order::breadth_first, npgpu::stream_counts(32));
//   std::cout << best.streams << " streams: " << best.speed_up << " times as fast\n";
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

// Seconds over some quantity, as measured: straight between its points, constant below the first, beyond the last at
// the slope of the last two (constant if there is only one point). Without points it is 0 everywhere.
class Curve {
 public:
  struct Point {
    double x = 0;
    Seconds time{0};
  };
  Curve() = default;
  // Throws Error(usage) unless the x ascend strictly and all times are finite and >= 0.
  explicit Curve(std::vector<Point> points);
  // start + slope * x
  static Curve line(Seconds start, Seconds slope);

  Seconds operator()(double x) const;
  bool empty() const { return points_.empty(); }
  std::span<const Point> points() const { return points_; }
  // All times so many times as long.
  Curve scaled(double factor) const;

 private:
  std::vector<Point> points_;
};

enum class Stage { h2d, kernel, d2h };
template <> inline constexpr std::array<std::string_view, 3> names_of<Stage>{"h2d", "kernel", "d2h"};

// A time for each stage of a job.
struct Stages {
  Seconds h2d{0}, kernel{0}, d2h{0};
  Seconds of(Stage s) const { return s == Stage::h2d ? h2d : s == Stage::kernel ? kernel : d2h; }
  Seconds sum() const { return h2d + kernel + d2h; }
};

struct Job {
  std::uint64_t in_bytes = 0;   // to the device; 0: nothing is copied there
  std::uint64_t out_bytes = 0;  // from the device
  Seconds kernel{0};            // of the whole, alone on the device; 0: no kernel
  // How the kernel divides: its time over that fraction of the job, alone on the device, fractions up to 1. Without a
  // curve, blocks fill the slots in whole waves; without blocks, kernel/n each.
  Curve kernel_of_fraction{};
  std::uint64_t blocks = 0;  // of the whole; 0: unknown
  std::uint64_t slots = 0;   // blocks of this kernel that the device holds at once, SMs * blocks of an SM; 0: unknown
  // How long a block takes while so many are on the device, whosoever they are, up to `slots`. Empty: each takes as
  // long as in its kernel alone.
  Curve block_time{};
  double last_block = 1;  // the last one's threads, in those of a whole block
  double warp = 0;        // a warp's threads over those of a block: its parts have whole warps; 0: any part
  // Blocks that have a time: multiprocessors among which the slots are divided, and where a block stays once it is
  // placed; 0: each slot is one. And how many of a multiprocessor's blocks go at once, the oldest first; 0: all.
  std::uint64_t multiprocessors = 0, active_blocks_per_sm = 0;
  // Equal items, such as frames, that no chunk has a part of; 0: chunks end anywhere. What advises keeps to it. A
  // simulated chunk is an n-th of the job in any case, which is off by less than an item.
  std::uint64_t items = 0;
};
// Whether so many chunks have whole items: all as many, or the last one less.
constexpr bool keeps_items_whole(std::uint64_t items, std::uint64_t chunks) {
  return !items || (chunks <= items && (items % chunks == 0 || (items + 1) % chunks == 0));
}

// In which order the host issues: all copies in, all kernels, all copies out; or one chunk after the other; or that,
// with each stage in streams of its own, so that none waits for another.
enum class Order { breadth_first, depth_first, independent };
template <>
inline constexpr std::array<std::string_view, 3> names_of<Order>{"breadth-first", "depth-first", "independent"};

// What kernels of different streams do to each other.
enum class Compute {
  serial,  // one after the other (c.c. 1.x)
  shared,  // what a chunk leaves of the device goes to the next one: a chunk that takes t alone, (whole/n)/t of it
  slots,   // blocks go into free slots, chunk after chunk, and each stays its time
};
template <> inline constexpr std::array<std::string_view, 3> names_of<Compute>{"serial", "shared", "slots"};

// Implicit synchronization (Gomez-Luna et al. 2012, c.c. 2.x): a copy from the device waits for all kernels issued
// before it, in whatever stream.
enum class ImplicitSync {
  none,
  start,  // until the last of them has started, as the programming guide says
  end,    // until the last of them has ended, which is what (5) and (7) there amount to
};
template <> inline constexpr std::array<std::string_view, 3> names_of<ImplicitSync>{"none", "start", "end"};

// Hardware queues of each engine; 0: one for each stream. An operation enters no earlier than the one before it in its
// queue. The rules, from timelines of an H200 (driver 580): copies of stream s are in queue s mod Q; an engine takes
// all that is ready of one queue, then turns to the next; with one copy engine, both directions are in the queues of
// `h2d`. A kernel gets, when it is launched, the queue used the longest ago of those in which nothing waits, else of
// all. So kernels whose copies end late can stand before others.
struct Queues {
  std::uint32_t h2d = 0, kernel = 0, d2h = 0;
};

// What a node charges, whatever the job. Each can be measured by itself; none is fitted to whole jobs.
struct StreamCosts {
  // The host's time to issue one operation (oh, ok, od): of a call in a row of calls while the device is kept busy.
  Stages issue{};
  // The same over the bytes of a chunk; empty: `issue` for all. The kernel's goes by the chunk's bytes to the device.
  Curve issue_h2d{}, issue_kernel{}, issue_d2h{};
  // From the return of a call until the device could begin, together with the way back, from the last end until the
  // host knows: host time of a job of one operation, less that of the call and the device's.
  Seconds submit{0};
  // From run to run all of these calls take more or less time: so many times as long, each as likely as the others. A
  // job's time is the median over these; of an even number the upper one in the middle. Empty: always 1.
  std::vector<double> call_factors{};
  // The host's time for the call that launches a graph, before the first operation's `issue`. 0: there is no graph.
  Seconds graph_launch{0};
  // Creating one stream (t_sc): slope of the time of creating n streams over n. 0 where streams are used again.
  Seconds stream_create{0};
  // What a copy keeps its engine for, over its bytes (t_h, t_d): device time of one copy, less `latency`.
  Curve copy_h2d{}, copy_d2h{};
  // What each operation, the first one included, adds to that on its engine (g_h, g_k, g_d): slope over n of n equal
  // copies back to back, of the same total, less the start of the curve; for kernels, of n empty ones.
  Stages gap{};
  // From the end of an operation until the next one of its stream may start (lh, lk), unless it is of the same stage;
  // and from the end of a copy out until the host knows, in addition to `submit` (ld).
  Stages latency{};
  // Only where the next one is issued before that end, and so has to wait: what the host issues later starts at once.
  bool latency_of_waiting_only = false;
  // How many times longer bytes take while the other copy engine is at work (sl_h, sl_d).
  double duplex_slowdown_h2d = 1, duplex_slowdown_d2h = 1;
  // By how much the gap of a copy is longer that starts while the other engine is at work: slope over n of n chunks
  // copied in and out, each in its own stream, less what all else makes of it.
  Seconds duplex_extra_gap{0};
  // For how long a copy in that a kernel follows in its stream keeps its engine after its end, while it signals the
  // kernel. Measured with chunks that are copied in and computed, each in its own stream: slope over their number, less
  // what all else makes of it.
  Seconds gap_ahead_of_kernel{0};
  // By how much longer the gap of a copy out is that follows a kernel in its stream. Measured with small chunks that
  // are copied in, computed and copied out, each in its own stream: the rest of their time, which no other cost
  // explains.
  Seconds gap_behind_kernel{0};
  int copy_engines = 2;  // 1: both directions share it
  Queues queues{};       // Q, CUDA_DEVICE_MAX_CONNECTIONS
  ImplicitSync implicit_sync = ImplicitSync::none;
  // Copies of all streams go one after the other, in both directions and in the order of their calls. Confidential
  // computing does that (arXiv 2606.23969).
  bool serial_copies = false;
  Compute compute = Compute::shared;
};

// All of them as JSON in seconds, and read from it: every number comes back bit for bit. Throws Error(usage) with the
// key that is missing or wrong.
std::string text_of(const StreamCosts&);
StreamCosts stream_costs_of(std::string_view json);

// The same, with each of the host's calls taking so many times as long.
StreamCosts with_calls(StreamCosts, double times_as_long);

// What a simulated device charges, from the facts it states of itself, with copies from and to host memory of that
// kind. Its latencies come before operations there and after them here: a copy in starts earlier by its latency, and
// its kernel by as much later. Where the spec does not say it, compute capability 1.x has one kernel at a time, and 2.x
// implicit synchronization (end). Of a twin, all that its trace said.
// Throws Error(usage) if the device is not simulated or has no such copies.
StreamCosts simulated_costs(const DeviceInfo&, Memory host_memory);

// Where an operation runs. With one copy engine all copies run on `copy_in`.
enum class Server { host, copy_in, copy_out, compute };
template <> inline constexpr std::array<std::string_view, 4> names_of<Server>{"host", "copy-in", "copy-out", "compute"};

struct TimelineEntry {
  Stage stage = Stage::h2d;
  std::uint32_t chunk = 0;
  std::uint32_t queue = 0;
  Server server = Server::host;  // host: the issuing of the operation
  Seconds start{0}, end{0};      // from the first stream's creation
};

// How long each server was at work; for `compute` the time with at least one kernel.
struct Busy {
  Seconds host{0}, copy_in{0}, copy_out{0}, compute{0};
};

struct StreamRun {
  Seconds total{0};  // until the host knows that the last operation has ended
  Busy busy;
};
struct Timeline {
  StreamRun run;
  std::vector<TimelineEntry> entries;  // of one server by start; servers one after the other
};

// Plays a job in n chunks through the servers: an operation starts as early as everything before it allows; of several
// that could start at the same time, the one issued first does. Copies that run both ways at once flow at
// 1/duplex_slowdown_*. Chunk c goes to stream c mod `streams`; 0: one each. In the order `independent` a stream is
// three. Throws Error(usage) if n is 0, or the costs are negative, not finite, or have duplex_slowdown_* below 1.
Timeline simulate(const Job&, std::uint32_t n, const StreamCosts&, Order, std::uint32_t streams = 0);
// The same without the list: for sweeps.
StreamRun simulate_total(const Job&, std::uint32_t n, const StreamCosts&, Order, std::uint32_t streams = 0);

// The time of one chunk's stages on their servers, gaps included, both directions alone: s_h, s_k, s_d.
Stages chunk_times(const Job&, std::uint32_t n, const StreamCosts&);

// What a job can never be faster than.
enum class Bound { h2d_engine, d2h_engine, copy_engine, compute, host_issue };
template <>
inline constexpr std::array<std::string_view, 5> names_of<Bound>{"h2d-engine", "d2h-engine", "copy-engine", "compute",
                                                                 "host-issue"};
// The server that is longest at work, and for how long.
std::pair<Bound, Seconds> busiest(const Busy&, int copy_engines);

struct StreamTime {
  std::uint32_t streams = 1;
  StreamRun run;
};
struct Prediction {
  std::uint32_t streams = 1;           // the best; the fewest of equals
  Seconds time{0};                     // with them
  double speed_up = 1;                 // over one stream
  Bound bound = Bound::compute;        // busiest() at `streams`
  Seconds bound_time{0};               // for how long
  std::vector<StreamTime> candidates;  // in the order given
};
// Simulates every candidate; 1 is added if it is not among them. Throws Error(usage) like simulate().
Prediction choose_streams(const Job&, const StreamCosts&, Order, std::span<const std::uint32_t> candidates);
// 1, 2, 3, ... up to `most`.
std::vector<std::uint32_t> stream_counts(std::uint32_t most);

// Jobs as pipelines, described by data: the stages that every chunk goes through one after the other, and the work of
// the host between two parts of the job. A job of simulate.hpp, which copies in, runs a kernel and copies out, is the
// pipeline with one part and three stages.
//
// Within a part a chunk's stages follow each other in its stream, and chunks do not wait for each other. A part ends
// when all of its chunks have ended; then the host works, and then the next part begins.
//
// Example:
//   const npgpu::StreamCosts costs =
//       npgpu::simulated_costs(npgpu::devices::find("sim:h200"), npgpu::Memory::pinned);
//   const npgpu::PipelineStage in{.stage = npgpu::Stage::h2d, .name = "field", .bytes = 64 * npgpu::MiB};
//   const npgpu::PipelineStage work{
//       .stage = npgpu::Stage::kernel, .name = "step", .kernel = {.time = npgpu::Seconds{1e-3}}};
//   const npgpu::PipelineStage out{.stage = npgpu::Stage::d2h, .name = "sums", .bytes = npgpu::MiB};
//   const npgpu::Pipeline all{{.stages = {in, work, out}, .host_work = "adds", .host = npgpu::Seconds{1e-4}},
//                             {.stages = {work, out}}};
//   const auto best = npgpu::choose_streams(all, costs, npgpu::Order::breadth_first, npgpu::stream_counts(64));
//   std::cout << best.streams << " streams: " << npgpu::microseconds(best.time) << " us\n";

// How a kernel divides; see the members of Job.
struct PipelineKernel {
  Seconds time{0};  // of the whole, alone on the device
  Curve of_fraction{};
  std::uint64_t blocks = 0, slots = 0;  // only where it is the only kernel of its part
  Curve block_time{};
  double last_block = 1, warp = 0;
  std::uint64_t multiprocessors = 0, active_blocks_per_sm = 0;
};

struct PipelineStage {
  Stage stage = Stage::h2d;
  std::string name{};       // of the buffer that is copied, or of the kernel
  std::uint64_t bytes = 0;  // of a copy, all chunks together; never 0
  PipelineKernel kernel{};  // of a kernel, where its time is known
};

struct PipelinePart {
  std::vector<PipelineStage> stages{};  // of every chunk, in order
  std::string host_work{};              // the host's work after the part; empty: none
  Seconds host{0};                      // its time, where it is known
};

using Pipeline = std::vector<PipelinePart>;

// The job's stages that are not empty, in one part.
Pipeline pipeline_of(const Job&);

// As simulate_total() for a job. Each part is simulated by itself, because all chunks of one end before the next
// begins. Streams are created once. `breadth_first` issues the copies in of all chunks before the kernel of the first,
// and so on; consecutive copies of one chunk stay together. `independent` is for jobs only. Throws Error(usage) as
// simulate() does, and where a part has no stage.
StreamRun simulate_total(const Pipeline&, std::uint32_t n, const StreamCosts&, Order, std::uint32_t streams = 0);

// Simulates every candidate; 1 is added if it is not among them. `bound` is that of all parts together, without the
// host's work between parts.
Prediction choose_streams(const Pipeline&, const StreamCosts&, Order, std::span<const std::uint32_t> candidates);

}  // namespace npgpu
