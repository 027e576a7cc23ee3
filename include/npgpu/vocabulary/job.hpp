// Measured jobs, split into chunks that are issued to streams: whole jobs (Gomez-Luna et al. 2012; Veneva & Imamura
// 2025), and small ones without some stages, which show what a stream, a copy and a launch cost.
//
// A job copies bytes in, runs a kernel over words of 32 bits on the device, and copies bytes out. Each stage is split
// into `chunks`; chunk c goes to stream c % streams.
//
// Example:
//   const npgpu::JobShape shape{
//       .bytes_in = npgpu::MiB, .bytes_out = npgpu::MiB, .kernel_bytes = npgpu::MiB, .chunks = 4, .streams = 2};
//   for (const npgpu::Issue& call : npgpu::issues_of(npgpu::Order::depth_first, shape)) {
//     const npgpu::Piece piece = npgpu::piece_of(npgpu::MiB, shape.chunks, call.chunk);
//     std::cout << "stream " << call.stream << ": " << npgpu::name(call.stage) << ", " << piece.bytes << " bytes from "
//               << piece.first << " on\n";
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/simulate.hpp"

namespace npgpu {

// What the kernel does with each of its words, `iterations` times.
enum class Workload {
  none,
  increment,  // word += *factor, in memory each time (Gomez-Luna et al. 2012)
  memory,     // one coalesced word read from a buffer far beyond the last level cache: bound by device memory
  compute,    // eight multiply-adds in each of four independent chains in registers
};
enum class StreamPool {
  pooled,  // created before the clock starts, and used again
  fresh,   // created inside the timed region
};
// Which streams wait behind a closed gate (a kernel that waits) while a job is issued.
enum class Gating {
  open,              // none; there is no gate, and the job runs as the host issues it
  gated,             // all; then the gate is opened, so that the time is the device's without the host's
  last_stream_free,  // all but the last, until its work has ended: shows whether that waits behind the others
};
// How the host gives a job's operations to the device.
enum class Issuing {
  streams,  // call by call
  graph,    // the same calls, captured into a CUDA graph before the clock starts: one call launches them all
};
// How long the free stream may take after the last call, ten times as long as it takes alone. If it has not ended by
// then, it waits for a stream behind the gate, and the gate is opened.
inline constexpr Seconds last_stream_free_patience{200e-6};

template <>
inline constexpr std::array<std::string_view, 4> names_of<Workload>{"none", "increment", "memory", "compute"};
template <> inline constexpr std::array<std::string_view, 2> names_of<StreamPool>{"pooled", "fresh"};
template <> inline constexpr std::array<std::string_view, 3> names_of<Gating>{"open", "gated", "last-stream-free"};
template <> inline constexpr std::array<std::string_view, 2> names_of<Issuing>{"streams", "graph"};

struct JobCase {
  std::string device{};  // cuda:0
  Workload workload = Workload::increment;
  Order order = Order::breadth_first;
  StreamPool pool = StreamPool::pooled;
  Gating gating = Gating::open;
  Issuing issue = Issuing::streams;

  auto operator<=>(const JobCase&) const = default;
};
template <>
inline constexpr auto fields_of<JobCase> = fields(field("device", &JobCase::device),
                                                  field("workload", &JobCase::workload),
                                                  field("order", &JobCase::order), field("pool", &JobCase::pool),
                                                  field("gating", &JobCase::gating),
                                                  optional_field("issue", &JobCase::issue));
inline std::string device_of(const JobCase& c) { return c.device; }
inline bool is_host_timed(const JobCase& c) { return c.gating != Gating::gated; }
std::string title(const JobCase&);  // "jobs cuda:0 none independent pooled gated"; "... graph"

// The axes. Bytes are of the whole job, multiples of 4; 0: the job has no such stage.
struct JobShape {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t kernel_bytes = 0;  // words that the kernel works on
  std::uint64_t iterations = 0;    // of the kernel's loop; 0: it comes and goes
  std::uint32_t chunks = 1;
  std::uint32_t streams = 1;
  std::uint32_t threads = 512;  // of a block; a chunk's kernel has ceil(words/threads) blocks
  // In plans only. > 0: the runner chooses the iterations so that the unsplit kernel takes this many times as long as
  // the copies.
  double kernel_ratio = 0;

  auto operator<=>(const JobShape&) const = default;
};
template <>
inline constexpr auto fields_of<JobShape> = fields(
    field("bytes_in", &JobShape::bytes_in, "B"), field("bytes_out", &JobShape::bytes_out, "B"),
    field("kernel_bytes", &JobShape::kernel_bytes, "B"), field("iterations", &JobShape::iterations),
    field("chunks", &JobShape::chunks), field("streams", &JobShape::streams), field("threads", &JobShape::threads));
std::uint64_t blocks_of(const JobShape&);  // of the kernel, unsplit
double last_block_of(const JobShape&);     // share of the last block's threads that have a word

// One whole job, exactly as it came.
struct JobSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;          // 1 results compared and right, 0 wrong, -1 not compared after this trial
  std::uint64_t number = 0;          // of this trial among all of its run; shows drift
  double host_us = not_measured;     // first call to the end (last_stream_free: of the last stream) on an idle device
  double issue_us = not_measured;    // of it, first to last asynchronous call; streams are there already
  double create_us = not_measured;   // of it, creating the streams; fresh only
  double destroy_us = not_measured;  // after it; fresh only
  double device_us = not_measured;   // opening of the gate to the end of the last stream's work; gated only

  bool operator==(const JobSample&) const = default;
};
template <>
inline constexpr auto fields_of<JobSample> =
    fields(field("visit", &JobSample::visit), field("trial", &JobSample::trial),
           field("intact", &JobSample::intact, "1", intact_codes), field("number", &JobSample::number),
           field("host_us", &JobSample::host_us, "us"), field("issue_us", &JobSample::issue_us, "us"),
           field("create_us", &JobSample::create_us, "us"), field("destroy_us", &JobSample::destroy_us, "us"),
           field("device_us", &JobSample::device_us, "us"));

inline TimeClass class_of(const JobCase& c) {
  return c.gating == Gating::gated ? TimeClass::gated_jobs : TimeClass::jobs;
}

struct Jobs : UsualKind {
  static constexpr std::string_view name = "jobs";
  static constexpr std::string_view singular = "job";
  static constexpr std::string_view command = "streams";
  static constexpr std::string_view smaller = "measure smaller jobs (--bytes-in, --bytes-out)";
  using Case = JobCase;
  using Axes = JobShape;
  using Sample = JobSample;
  struct Details {
    double issue_us = not_measured;   // of all asynchronous calls
    double create_us = not_measured;  // fresh streams
    double destroy_us = not_measured;
    double speed_up = not_measured;  // over the same job unsplit in one stream, if that is there
  };
  static Seconds timed(const Case&, std::span<const Sample> trial);  // the device's where all is gated, else the host's
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const Step<Jobs>&);
  static std::vector<Result<Jobs>> results(const Series<Jobs>&);
  static std::string_view counted(const Case&, const Result<Jobs>&);
  static std::vector<FigureChoice> key_figures(const Case&, std::uint32_t lane);
};
using JobSeries = Series<Jobs>;
using JobPoint = Point<Jobs>;
using JobResult = Result<Jobs>;
using JobStep = Step<Jobs>;

std::optional<std::string> flaw_of(const JobShape&);
std::string text_of(const JobShape&);  // "60 MiB in, 60 MiB out, kernel 60 MiB x 64, 16 chunks in 16 streams"

// ---- how a job is split and issued ----------------------------------------------------------------------------------

struct Piece {
  std::uint64_t first = 0, bytes = 0;  // from byte `first` on
};
// Chunk c of n: bytes from c*total/n to (c+1)*total/n. Both are rounded down to whole lines of 128 B, except the end of
// the last chunk.
Piece piece_of(std::uint64_t total, std::uint32_t chunks, std::uint32_t chunk);

struct Issue {
  Stage stage = Stage::h2d;
  std::uint32_t chunk = 0, stream = 0;

  bool operator==(const Issue&) const = default;
};
// All calls of a job in the order in which the host makes them, without the stages that it does not have.
std::vector<Issue> issues_of(Order, const JobShape&);
std::uint32_t streams_of(Order, const JobShape&);  // that are used in all

// Why no device can run this job.
std::optional<std::string> refuses(const JobStep&);

inline const auto& job_backends() { return backends<Jobs>(); }
// Throws Error(usage) for a word that is no device that runs jobs.
const Backend<Jobs>& find_job_backend(const std::string& device);

}  // namespace npgpu
