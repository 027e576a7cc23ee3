// Jobs that are cut into chunks and issued to CUDA streams, measured: whole jobs (papers 000 and 003), and the small
// ones that tell what a stream, a copy and a launch cost. One runner serves both: a micro-measurement is a job with
// parts left out.
//
// A job copies bytes in, runs a kernel over words of 32 bits on the device, and copies bytes out. Each of the three is
// cut into `chunks`; chunk c goes to stream c % streams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/clock.hpp"
#include "npgpu/device.hpp"
#include "npgpu/engine.hpp"
#include "npgpu/names.hpp"
#include "npgpu/sample.hpp"
#include "npgpu/units.hpp"

namespace npgpu {

// What the kernel does with each of its words, `iterations` times.
enum class Workload {
  none,
  increment,  // paper 000: word += *factor, in memory each time
  memory,     // one coalesced word read from a buffer far beyond the last level cache: bound by device memory
  compute,    // eight multiply-adds in each of four independent chains in registers
};
enum class IssueOrder {
  breadth_first,  // all copies in, then all kernels, then all copies out
  depth_first,    // chunk by chunk: copy in, kernel, copy out
  // Copies in, kernels and copies out in streams and memory of their own, none waiting for another: how directions and
  // kernels slow each other, and how many engines there are. Takes three times the streams.
  apart,
};
enum class StreamPool {
  pooled,  // made before the clock starts, and used again
  fresh,   // made inside the timed region
};
// What waits behind a closed gate, a kernel that waits, while a job is issued. Not a scoped enumeration, so that a
// condition on it asks whether there is a gate at all.
namespace gating {
enum Gating {
  open,      // nothing, there is no gate: as the host issues it
  gated,     // everything, and then the gate is opened: device time without the host's
  one_free,  // every stream but the last, until the last one's work has ended: whether it waits behind theirs
};
}
using gating::Gating;
// If the free stream's work has not ended so long after the last call, it waits for a stream behind the gate, which is
// opened. Ten times as long as that work takes where it need not wait.
inline constexpr Seconds one_free_patience{200e-6};

template <>
inline constexpr std::array<std::string_view, 4> names_of<Workload>{"none", "increment", "memory", "compute"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<IssueOrder>{"breadth-first", "depth-first", "apart"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<StreamPool>{"pooled", "fresh"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<Gating>{"open", "gated", "one-free"};

// One complete question; with a JobShape it is a point.
struct OverlapCase {
  std::string device{};  // cuda:0
  Workload workload = Workload::increment;
  IssueOrder order = IssueOrder::breadth_first;
  StreamPool pool = StreamPool::pooled;
  Gating gated = Gating::open;

  auto operator<=>(const OverlapCase&) const = default;
};
// "overlap cuda:0 increment breadth-first pooled", "overlap cuda:0 none apart pooled gated",
// "overlap cuda:0 none breadth-first pooled one-free"
std::string title(const OverlapCase&);

// The axes. Bytes are of the whole job, multiples of 4; 0: the job has no such part.
struct JobShape {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t kernel_bytes = 0;  // words that the kernel works on
  std::uint64_t iterations = 0;    // of the kernel's loop; 0: it comes and goes
  std::uint32_t chunks = 1;
  std::uint32_t streams = 1;
  std::uint32_t threads = 512;  // of a block; a chunk's kernel has ceil(words/threads) blocks

  auto operator<=>(const JobShape&) const = default;
};
std::uint64_t blocks_of(const JobShape&);  // of the kernel, uncut

// One whole job, exactly as it came.
struct OverlapSample {
  std::uint32_t point = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;          // 1 results compared and right, 0 wrong, -1 not compared after this trial
  std::uint64_t number = 0;          // of this trial among all of the run, so that a drift can be seen
  double host_us = not_measured;     // first call to the end (one_free: of the last stream), the device idle before
  double issue_us = not_measured;    // of it, first to last asynchronous call; streams are there already
  double create_us = not_measured;   // of it, making the streams; fresh only
  double destroy_us = not_measured;  // after it; fresh only
  double device_us = not_measured;   // opening of the gate to the end of the last stream's work; gated only

  bool operator==(const OverlapSample&) const = default;
};

struct OverlapPoint {
  JobShape job;
  std::uint64_t first_sample = 0;
  std::uint32_t samples = 0;
  Stop stop = Stop::trials;
  double wall_us = 0;
  Telemetry telemetry;
};

// One case over its jobs.
struct OverlapSweep {
  OverlapCase question;
  std::string schedule;
  std::string device_uuid;
  std::string device_name;
  bool simulated = false;
  std::string binding;
  std::string error;
  std::vector<OverlapPoint> points;
  std::vector<OverlapSample> samples;
};

// ---- how a job is cut and issued ---------------------------------------------------------------------

struct Piece {
  std::uint64_t first = 0;  // byte
  std::uint64_t bytes = 0;
};
// Chunk c of n: bytes from c*total/n to (c+1)*total/n, both rounded down to whole lines of 128 B but the very end.
Piece piece_of(std::uint64_t total, std::uint32_t chunks, std::uint32_t chunk);

enum class JobPart { in, kernel, out };
struct Issue {
  JobPart part = JobPart::in;
  std::uint32_t chunk = 0;
  std::uint32_t stream = 0;

  bool operator==(const Issue&) const = default;
};
// All calls of a job in the order in which the host makes them; parts that the job has not are left out.
std::vector<Issue> issues_of(IssueOrder, const JobShape&);
std::uint32_t streams_of(IssueOrder, const JobShape&);  // that are used in all

// Why no device can run this job; nothing if there is no such reason.
std::optional<std::string> refuses(const OverlapCase&, const JobShape&);

// ---- measuring ---------------------------------------------------------------------------------------

// What one job took. Nothing where it does not apply.
struct JobRan {
  Seconds host{0};
  Seconds issue{0};
  std::optional<Seconds> create;
  std::optional<Seconds> destroy;
  std::optional<Seconds> device;
  bool voided = false;  // the gate timed out
};

struct JobQuestion {
  OverlapCase question;
  JobShape job;

  auto operator<=>(const JobQuestion&) const = default;
};
struct JobNeed {
  std::uint64_t host_bytes = 0;  // pinned
  std::uint64_t device_bytes = 0;
};

// Runs jobs of any case on one device; it owns its buffers. Calling order for each job: prepare { run }* intact.
// Everything throws Error.
class JobRunner {
 public:
  virtual ~JobRunner() = default;
  // Every following run is of this case and job. Runs it twice, so that nothing is done for the first time in a trial.
  virtual void prepare(const OverlapCase&, const JobShape&) = 0;
  virtual JobRan run() = 0;
  // Compares what the last run left on the host and on the device with what it must leave, word by word. Nothing if all
  // is well, otherwise one sentence.
  virtual std::optional<std::string> intact() = 0;
  virtual const Clock& clock() const = 0;
  virtual Telemetry telemetry() { return {}; }
  virtual std::string binding() const = 0;
};

// What runs jobs on one kind of device. One file a kind, which ends with NPGPU_OVERLAP(Class): probes/overlap_cuda.cpp.
class OverlapBackend {
 public:
  virtual ~OverlapBackend() = default;
  virtual std::string_view kind() const = 0;  // what its devices' names begin with: cuda, sim
  virtual std::vector<DeviceInfo> devices() const = 0;
  virtual std::string why_none() const { return {}; }
  // Throws Error(usage) naming those there are, or Error(nothing) with why_none() where there are none.
  virtual DeviceInfo device(const std::string& id) const;
  // Why its device cannot run this job, which other devices may; nothing if there is no such reason.
  virtual std::optional<std::string> refuses(const JobQuestion&) const { return std::nullopt; }
  virtual std::uint64_t cache_bytes(const std::string& device) const = 0;  // last level before memory
  // What one runner for all of these takes, and what is free now.
  virtual JobNeed needs(const std::string& device, std::span<const JobQuestion>) const = 0;
  virtual JobNeed available(const std::string& device) const = 0;
  virtual std::unique_ptr<JobRunner> open(const std::string& device, std::span<const JobQuestion>) const = 0;
};

const std::vector<std::unique_ptr<OverlapBackend>>& overlap_backends();
// Throws Error: usage for a word that is no device that runs jobs, nothing where this build or machine has none.
const OverlapBackend& find_overlap_backend(const std::string& device);
void register_overlap_backend(std::unique_ptr<OverlapBackend>);

struct MeasuredJob {
  OverlapPoint point;
  std::vector<OverlapSample> samples;
  std::string mismatch;  // what was wrong with the results
};
// Measures one job: warm-up, trials as the schedule says, one check of the results after the last. Each trial is one
// whole job; `number` counts them over the run. The schedule is fed the device's time where all is gated, the
// host's otherwise. Nothing if `interrupted` turned true. Throws Error(failed) if a gate times out again and again.
std::optional<MeasuredJob> measure_job(JobRunner&, Schedule&, const OverlapCase&, const JobShape&,
                                       std::uint64_t& number, const std::function<bool()>& interrupted);

// Iterations with which the kernel of this job, uncut, takes about `ratio` times as long as its copies, at least 1:
// from medians of few runs. `job.iterations` does not matter.
std::uint64_t iterations_for(JobRunner&, const OverlapCase&, const JobShape&, double ratio);

}  // namespace npgpu

#define NPGPU_OVERLAP(Class)                                      \
  namespace {                                                     \
  [[maybe_unused]] const bool registered_overlap = [] {           \
    ::npgpu::register_overlap_backend(std::make_unique<Class>()); \
    return true;                                                  \
  }();                                                            \
  }
