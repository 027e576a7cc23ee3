// From a trace of stream experiments: what a node charges; how long a job takes in n streams and which n is best; what
// is predicted of jobs that were measured, and that no cost was derived from; and the same of the partition method.
// Pure functions of a trace.
//
// Example:
//   const auto costs = npgpu::stream_costs(npgpu::read_trace("streams.h5"));
//   const npgpu::Job job{.in_bytes = 64 * npgpu::MiB, .out_bytes = 64 * npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
//   const npgpu::Forecast all =
//       npgpu::forecast(job, costs.at(0), npgpu::Order::breadth_first, npgpu::stream_counts(64));
//   std::cout << all.prediction.streams << " streams: " << all.time_us.value << " us\n";
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/derive.hpp"
#include "npgpu/model/device_model.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/partition.hpp"

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
  implicit_sync,  // what copies out wait for: an ImplicitSync
  serial_copies,  // 1: copies of all streams go one after the other
};
template <>
inline constexpr std::array<std::string_view, 27> names_of<Cost>{
    // calls
    "issue h2d", "issue kernel", "issue d2h", "spread of calls", "t_sc", "destroy",
    // copies
    "rate h2d", "gap h2d", "rate d2h", "gap d2h", "gate", "gap kernel",
    // in a stream, and together
    "latency h2d", "latency kernel", "copy engines", "duplex slow-down h2d", "duplex slow-down d2h", "duplex extra gap",
    "gap ahead of kernel", "gap behind kernel", "blocks at once", "queues h2d", "queues kernel", "queues d2h", "submit",
    "implicit sync", "serial copies"};

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
struct MeasuredCosts : DeviceModel {
  StreamCosts costs;                      // streams pooled: stream_create is 0; see `create`
  Seconds create{0}, destroy{0};          // of one stream
  std::vector<CostParameter> parameters;  // each cost with interval, method and verdict; times in us, none below 0
  std::vector<std::string> missing;       // a sentence each: what could not be measured, and what would measure it
  bool usable = false;                    // copies both ways and calls were measured: a job can be predicted
  // Sizes of one copy between which the curves were measured, in bytes.
  std::uint64_t min_copy = 0, max_copy = 0;
  // Those that run blocks, where probes counted them, else as the driver reports them; the others as it reports them;
  // 0: not known.
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

// Gives a job a kernel that nobody has run yet: its time alone on the device, without what an empty one takes, its
// blocks, and its time in up to so many parts. Throws Error(usage) as time_of_kernel() does.
KernelTime describe_kernel(Job&, const DeviceModel&, const KernelCounts&, std::uint32_t most_parts);

// A spec, as data/devices holds them, of the device of a trace: by it a simulated device measures, simulates and
// predicts as the trace says. `source`: the trace's name, for people. Throws Error(usage) where the trace lacks what
// streams cost or how kernels take their time.
std::string twin_of(const Trace&, const MeasuredCosts&, const std::string& source);

// The costs of a simulated device, as its spec states them: exact, and of one that nobody measured.
MeasuredCosts costs_of_spec(const DeviceInfo&);

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
// Why a measured time is in none of the lists of predicted jobs: others disturbed it; its results were wrong, or it has
// no time; it is of a part of a job, behind a gate, or in independent order; it has another number of streams than of
// chunks, and its chunks do not take turns; the same job was not measured unsplit, or only unsplit; it is of a graph
// that has no comparison.
enum class LeftOut { disturbed, wrong, part, other_streams, no_unsplit, not_split, graph };
template <>
inline constexpr std::array<std::string_view, 7> names_of<LeftOut>{"disturbed",  "wrong",     "part", "other-streams",
                                                                   "no-unsplit", "not-split", "graph"};
struct LeftOutTimes {
  LeftOut why = LeftOut::disturbed;
  std::size_t times = 0;
};
struct GraphComparison;
// Every time of a job in the trace is predicted or counted here. `graphs`: those that compare_graphs() has.
std::vector<LeftOutTimes> left_out_times(const Trace&, std::span<const GraphComparison> graphs);
// As workloads_of(), of jobs that were launched as graphs. npgpu/model/advice.hpp compares them.
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

// From a trace of the partition method: how long each size takes in each number of streams, and what number two models
// choose: the regressions of Veneva & Imamura 2025, fitted to this device, and the simulator with measured costs. Pure
// functions of a trace. Times are in us.
//
// Example:
//   for (const npgpu::PartitionStudy& study : npgpu::partition_studies(npgpu::read_trace("partition.h5")))
//     for (const npgpu::PartitionRow& row : study.rows)
//       std::cout << row.size << " unknowns: " << row.best << " streams are best\n";

struct TextStyle;  // npgpu/report/report.hpp

// ---- the paper's model ----------------------------------------------------------------------------------------------

// How well a fitted form holds.
struct RegressionQuality {
  std::uint32_t rows = 0;
  double r2 = not_measured, mse = not_measured, rmse = not_measured;  // mse in the square of the times' unit
};
template <>
inline constexpr auto fields_of<RegressionQuality> = fields(field("rows", &RegressionQuality::rows),
                                                            field("r2", &RegressionQuality::r2),
                                                            field("mse", &RegressionQuality::mse),
                                                            field("rmse", &RegressionQuality::rmse));

// Veneva & Imamura 2025. Sizes in unknowns, times in the unit of its coefficients. Coefficients that could not be
// fitted are NaN, and so is what rests on them.
struct PartitionRegressions {
  // (4) sum(N) = sum_slope N + sum_start: the stages that streams hide, of the unsplit run
  double sum_slope = not_measured, sum_start = not_measured;
  // (7) overhead(N, n) = small_size N + small_log log10(n) + small_start, for N up to 1e6
  double small_size = not_measured, small_log = not_measured, small_start = not_measured;
  //     = (big_size N + big_log) log2(n^(4/3)) + big_start, for larger ones
  double big_size = not_measured, big_log = not_measured, big_start = not_measured;
  RegressionQuality sum_quality{}, small_quality{}, big_quality{};  // of the three forms

  static constexpr double small_up_to = 1e6;

  double sum(double size) const { return sum_slope * size + sum_start; }
  double overhead(double size, double n) const;
  // (n-1)/n sum - overhead: what n streams save.
  double gain(double size, double n) const;
  // (6): the candidate with the largest gain; 1 if none has any. The paper's Table IV comes out only if 1 is judged
  // like the others, where (7) is negative for small sizes. Nothing where a coefficient is missing.
  std::optional<std::uint32_t> optimum(double size, std::span<const std::uint32_t> candidates) const;
};
template <>
inline constexpr auto fields_of<PartitionRegressions> =
    fields(field("sum_slope", &PartitionRegressions::sum_slope), field("sum_start", &PartitionRegressions::sum_start),
           field("small_size", &PartitionRegressions::small_size), field("small_log", &PartitionRegressions::small_log),
           field("small_start", &PartitionRegressions::small_start), field("big_size", &PartitionRegressions::big_size),
           field("big_log", &PartitionRegressions::big_log), field("big_start", &PartitionRegressions::big_start));
// (5) from measured times: streamed - unsplit + (n-1)/n sum
double partition_overhead(double streamed, double unsplit, double sum, double n);
// sqrt(sum / t_sc), the rule of Gomez-Luna et al. 2012 as Table I of the paper has it.
double creation_optimum(double sum, double t_sc);

// ---- both models and the measurement --------------------------------------------------------------------------------

struct PartitionChoice {
  std::optional<std::uint32_t> streams{};  // nothing: the model has no answer
  Estimate regret;                         // measured time there over the best measured, less 1; at least 0
  Estimate even_regret;                    // the same of PartitionRow::even_us
  Estimate cross_validated;                // that regret without the luck of the least; see npgpu/model/statistics.hpp
  bool hit = false;                        // as good as the best within the noise of the two
  std::vector<double> predicted_us{};      // as PartitionRow::streams; empty where the model only chooses
};
// One size; the first of its streams is 1.
struct PartitionRow : MeasuredSplits {
  std::uint64_t size = 0;
  std::uint32_t best = 1;
  Estimate stage2_us;  // over all numbers of streams: the host does the same work in all of them
  // Whole runs with that time for the host's stage in place of their own, as streams. What the host's stage takes more
  // or less from run to run is in none of them, and it is most of what whole runs scatter by.
  std::vector<Estimate> even_us;
  std::array<Estimate, partition_stages.size()> stages_us{};  // of the unsplit run; NaN where not measured
  double sum_us = not_measured;                               // of the four that streams hide
  std::vector<double> overhead_us, gain_us;                   // (5) and what (6) compares, as streams
  std::vector<double> fitted_overhead_us;                     // (7), fitted to all sizes
  std::vector<PartitionChoice> choices;                       // as partition_models
};
// What chooses, in the order of PartitionRow::choices.
struct PartitionModel {
  std::string_view model, source;
};
template <>
inline constexpr auto fields_of<PartitionModel> = fields(field("model", &PartitionModel::model),
                                                         field("source", &PartitionModel::source));
inline constexpr std::array<PartitionModel, 4> partition_models{{
    {"simulator", "discrete events with measured costs, nothing fitted to whole runs"},
    {"Veneva & Imamura 2025", "(4) and (7), fitted to the other sizes"},
    {"sqrt(sum / t_sc)", "Gomez-Luna et al. 2012, as their Table I"},
    {"n = 1", "no streams"},
}};
// One type on one device. What choices cost over all sizes says the study of predictions (python -m npgpu.study
// --partitions).
struct PartitionStudy {
  std::string device, device_name;
  bool simulated = false;
  Precision type = Precision::fp64;
  std::uint32_t sub_system = 10;
  std::vector<PartitionRow> rows;    // by size
  PartitionRegressions fitted;       // to all sizes; each size's choice is of a fit to the others
  std::vector<std::string> missing;  // a sentence each: what is not there, and what would measure it
};
// By ordinary least squares, as theirs were, to the rows that have a sum, but for `without`. (4) takes two sizes, and
// either form of (7) two sizes and two numbers of streams; else it stays NaN.
PartitionRegressions regressions_of(std::span<const PartitionRow>, const PartitionRow* without = nullptr);
// Sizes with the unsplit run and at least one other number of streams.
std::vector<PartitionStudy> partition_studies(const Trace&);

// The partition method, size by size: what was measured, and what each model chooses.
void partition_text(std::ostream&, std::span<const PartitionStudy>, const TextStyle&);

}  // namespace npgpu
