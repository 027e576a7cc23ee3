// From a trace of stream experiments: what a node charges; how long a job takes in n streams and which n is best; and
// what is predicted of jobs that were measured, and that no cost was derived from. Pure functions of a trace.
//
// Example:
//   const auto costs = npgpu::stream_costs(npgpu::read_trace("streams.h5"));
//   const npgpu::Job job{.in_bytes = 64 * npgpu::MiB, .out_bytes = 64 * npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
//   const npgpu::Forecast all =
//       npgpu::forecast(job, costs.at(0), npgpu::Order::breadth_first, npgpu::stream_counts(64));
//   std::cout << all.prediction.streams << " streams: " << all.time_us.value << " us\n";
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/derive.hpp"
#include "npgpu/regret.hpp"
#include "npgpu/result.hpp"

namespace npgpu {

// How long kernels of one sort take with so many blocks, alone on the device: a few blocks leave some of it idle, and
// many share what bounds them, which is a multiprocessor's own (compute) or the whole device's (memory).
struct KernelTimes {
  Workload workload = Workload::none;
  std::uint32_t threads = 0;        // of a block
  std::uint64_t few = 0, many = 0;  // iterations of these two curves over blocks
  Curve time_of_few, time_of_many;
  // Blocks of a multiprocessor that go first, while others wait for them; 0: all share what bounds them.
  std::uint32_t oldest_first = 0;
};
// How a kernel of this sort, of so many blocks that take so long together, goes in parts: see Job.
struct KernelParts {
  Curve of_fraction, block_time;
};
KernelParts kernel_parts(const KernelTimes&, std::uint64_t blocks, Seconds whole, std::uint64_t slots);

// What is measured of a device that runs jobs in streams.
enum class Cost {
  // the host's times for calls
  issue_h2d,
  issue_kernel,
  issue_d2h,
  spread_of_calls,
  stream_create,
  stream_destroy,
  // copies, one after the other
  rate_h2d,
  gap_h2d,
  rate_d2h,
  gap_d2h,
  gate,
  gap_kernel,
  // from one operation to the next in its stream
  latency_h2d,
  latency_kernel,
  copy_engines,
  duplex_slowdown_h2d,
  duplex_slowdown_d2h,
  duplex_extra_gap,
  gap_ahead_of_kernel,
  gap_behind_kernel,
  blocks_at_once,
  queues_h2d,
  queues_kernel,
  queues_d2h,
  submit,
};
template <>
inline constexpr std::array<std::string_view, 25> names_of<Cost>{
    // calls
    "issue h2d", "issue kernel", "issue d2h", "spread of calls", "t_sc", "destroy",
    // copies
    "rate h2d", "gap h2d", "rate d2h", "gap d2h", "gate", "gap kernel",
    // in a stream, and together
    "latency h2d", "latency kernel", "copy engines", "duplex slow-down h2d", "duplex slow-down d2h", "duplex extra gap",
    "gap ahead of kernel", "gap behind kernel", "blocks at once", "queues h2d", "queues kernel", "queues d2h",
    "submit"};

struct CostParameter : Parameter {
  Cost cost;
};

// What a job costs as a CUDA graph, over the nodes of the graph: copies and kernels.
struct GraphCosts {
  Curve launch;          // the host's time of the call that launches it
  Curve instantiate;     // the host's time of making it; empty: not known
  bool of_jobs = false;  // `launch` is of graphs of jobs; else of graphs of kernels
};

// What one device of a trace charges for streams, with what it was measured from.
struct MeasuredCosts {
  std::string device, device_uuid, device_name;
  bool simulated = false;
  StreamCosts costs;                      // streams pooled: stream_create is 0; see `create`
  Seconds create{0}, destroy{0};          // of one stream
  std::vector<CostParameter> parameters;  // each cost with interval, method and verdict; times in us, none below 0
  std::vector<std::string> missing;       // a sentence each: what could not be measured, and what would measure it
  bool usable = false;                    // copies both ways and calls were measured: a job can be predicted
  // Of one copy, in bytes: where the curves were measured.
  std::uint64_t min_copy = 0, max_copy = 0;
  // As the driver reports them; 0: not known.
  std::uint32_t multiprocessors = 0, threads_per_multiprocessor = 0, blocks_per_multiprocessor = 0;
  // Threads of a multiprocessor whose blocks work without slowing each other, as parts of kernels show it; 0: all that
  // it holds.
  std::uint32_t threads_at_once = 0;
  std::optional<GraphCosts> graph;   // nothing where the trace has no such calls
  std::vector<KernelTimes> kernels;  // of the sorts that were measured down to a block for each multiprocessor
};

// One entry a device of the trace with jobs in streams. Only the experiment "overheads" is used: gated and host-timed
// micro-measurements; of jobs of all three parts only the host's time for their calls, and what a chunk more costs
// where the kernel is one block.
std::vector<MeasuredCosts> stream_costs(const Trace&);

// Blocks of so many threads that the device works on at once; 0 where it does not say. Registers and shared memory of
// the kernel may allow fewer.
std::uint64_t slots_of(const MeasuredCosts&, std::uint32_t threads);
// Gives a job of such blocks its slots and, where its kernel's sort was measured with such blocks, its times in parts.
// `iterations`: of the kernel; 0: not known. Then its whole time shows by how much its blocks differ from the measured
// ones, and the fewest of them are taken to differ by as much.
void describe_kernel(Job&, const MeasuredCosts&, std::uint32_t threads, Workload sort = Workload::none,
                     std::uint64_t iterations = 0);

// How long this job's whole kernel takes alone, by the kernels of its sort with such blocks; nothing if there are none.
std::optional<Seconds> kernel_time(const MeasuredCosts&, Workload sort, const JobShape&);

// What a job must have to be predicted: a part of 0 bytes or of no time is easily one that was forgotten.
enum class Parts { all, some };

struct Forecast {
  Prediction prediction;
  Estimate time_us;                     // with the best number of streams
  std::uint32_t fewest = 1, most = 1;   // 95 % interval of the best number
  std::vector<Estimate> candidates_us;  // as prediction.candidates
};
// Simulates every candidate with the costs as measured, then with costs drawn from their intervals (parametric
// bootstrap, fixed seed): what the measurement's scatter leaves open, not what the model leaves out. Throws
// Error(usage) where the costs are not usable, the job lacks a part that was not said to be left out, or the order is
// `independent`: then a kernel would not wait for its input.
Forecast forecast(const Job&, const MeasuredCosts&, Order, std::span<const std::uint32_t> candidates,
                  Parts = Parts::all);

// ---- measured jobs, and what is predicted of them ------------------------------------------------------------------

struct Spread {
  double median = not_measured, p95 = not_measured, most = not_measured;
};
Spread spread_of(std::vector<double>);  // NaN where there is nothing

// A job as it was measured, unsplit and split into as many chunks as streams. Lists are as long as `streams`.
struct MeasuredSplits {
  std::vector<std::uint32_t> streams{};  // ascending
  std::vector<Estimate> time_us{};
  std::vector<ByRound> us_by_round{};

  template <class K> void add(std::uint32_t n, const Result<K>& run) {
    streams.push_back(n);
    time_us.push_back(run.time_us);
    us_by_round.push_back(run.us_by_round);
  }
};
// A workload of the trace.
struct MeasuredWorkload : MeasuredSplits {
  JobCase question;
  JobShape job;                    // unsplit
  std::vector<double> issue_us{};  // the host's time for all calls; NaN where it was not measured
};
// Whole jobs (host-timed, pooled) with copies, a kernel, the unsplit job and at least three ways of splitting it. Times
// that others disturbed are left out.
std::vector<MeasuredWorkload> workloads_of(const Trace&);
// Those with the unsplit job, but fewer counts of streams, or with streams made for the job. The study of predictions
// (python -m npgpu.study) scores none of them.
std::vector<MeasuredWorkload> other_workloads_of(const Trace&);
// How many times of whole jobs were left out of all these lists.
std::size_t disturbed_times(const Trace&);
// As workloads_of(), of jobs that were launched as graphs. npgpu/graphs.hpp compares them.
std::vector<MeasuredWorkload> graph_workloads_of(const Trace&);

// With the creation of streams that are made for the job.
StreamCosts costs_of(const MeasuredWorkload&, const MeasuredCosts&);
// The job as a model sees it. Its kernel's time is the unsplit job's less what copies and calls take of it; where the
// costs have kernels of its sort, the mean of that and what those say, each weighed by how far it may be off; but that
// alone where the two are further apart than two latencies of an operation after a kernel.
Job job_of(const MeasuredWorkload&, const MeasuredCosts&);

// A measured workload, and what is predicted of it. Lists are as long as its streams.
struct PredictedJob {
  MeasuredWorkload workload;
  Job job;                           // as job_of() has it
  std::vector<Stages> chunks;        // of one chunk, each alone on its engine, gaps included; first those of the whole
  std::vector<double> predicted_us;  // unsplit: the measured time, from which the kernel's is taken
  // The same, with each call taking as many times what the costs say as calls of the other jobs did.
  std::vector<double> as_host_was_us;
};
struct PredictedJobs {
  std::vector<PredictedJob> jobs;    // of workloads_of()
  std::vector<PredictedJob> others;  // of other_workloads_of()
  // The host's time for the calls of split jobs, over what the costs say: the median. Where the host was slower or
  // faster than when the costs were measured, predictions of short jobs are off by as much.
  Estimate calls{};
};
// Throws Error(usage) if there is neither a workload nor another, or the costs are not usable.
PredictedJobs predict_jobs(std::span<const MeasuredWorkload>, const MeasuredCosts&,
                           std::span<const MeasuredWorkload> others = {});
// What each of the numbers of streams costs where it is chosen: cross_validated_regret() of each.
std::vector<Estimate> regrets_of_choosing(const MeasuredWorkload&);
// |predicted / measured - 1| in each number of streams but one.
std::vector<double> errors_of(const PredictedJob&);

}  // namespace npgpu
