// What follows from a prediction: how many streams are enough, how large their buffers are, what fits into less memory,
// and what error such predictions had for measured jobs. Pure functions.
//
// Example:
//   const npgpu::MeasuredCosts costs = npgpu::stream_costs(npgpu::read_trace("streams.h5")).at(0);
//   const npgpu::Job job{.in_bytes = 64 * npgpu::MiB, .out_bytes = 64 * npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
//   const auto order = npgpu::Order::depth_first;
//   const npgpu::Forecast all = npgpu::forecast(job, costs, order, npgpu::stream_counts(64));
//   const npgpu::Advice advice =
//       npgpu::advise(job, costs, order, all, npgpu::known_errors(), 32 * npgpu::MiB, 64);  // in 32 MiB
//   std::cout << advice.advised.chunks << " chunks in " << advice.advised.streams << " streams: "
//             << npgpu::microseconds(advice.advised.run.total) << " us\n";
//   if (advice.error) std::cout << "error of such predictions: " << 100 * advice.error->error.median << " %\n";
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/graphs.hpp"
#include "npgpu/predict.hpp"

namespace npgpu {

// Device memory of a split job: each stream has one buffer for a chunk's bytes in, and one for its bytes out. A kernel
// that works in place needs only the larger of the two.
struct Buffers {
  std::uint64_t in_bytes = 0, out_bytes = 0;  // of one stream: of the largest chunk, in whole lines of 128 B
  std::uint64_t all_bytes = 0;                // of all streams
};
Buffers buffers_of(const Job&, std::uint32_t chunks, std::uint32_t streams);

// The candidates of a prediction, each with one chunk in each stream.
std::vector<SplitTime> one_chunk_a_stream(const Prediction&, Order);
// Splits of the job whose chunks take turns in the buffers of up to `max_streams` streams. The buffers together take at
// most `most_bytes`; the order is depth-first. Empty where not even one line of each copy fits. Throws Error(usage) as
// simulate() does.
std::vector<SplitTime> chunks_in_turn(const Job&, const StreamCosts&, std::uint64_t most_bytes,
                                      std::uint32_t max_streams);

// Times within this share of the best count as equal to it: more streams gain nothing.
inline constexpr double same_time_tolerance = 0.01;
// The split with the shortest time; and the one with the fewest streams that takes at most `slower_by` longer. Both
// throw std::out_of_range if there is no split.
const SplitTime& fastest(std::span<const SplitTime>);
const SplitTime& fewest_streams(std::span<const SplitTime>, double slower_by = same_time_tolerance);
// Among the splits within 1 % of the best, the fewest streams that are a power of two, because chunks then have round
// sizes. Where none is a power of two, the fewest streams.
const SplitTime& advised_streams(std::span<const SplitTime>);
// Among the splits that take at most `slower_by` longer than `time`, the one that needs the least memory. If some of
// them have a power of two of chunks, only those count. Nothing if no split is fast enough.
std::optional<SplitTime> least_memory(const Job&, std::span<const SplitTime>, Seconds time, double slower_by);

// ---- errors of predictions of measured jobs -------------------------------------------------------------------------

// Measured jobs of similar length. Short jobs have the largest errors, because calls and gaps are most of their time.
struct LengthClass {
  double from_us = 0, to_us = 0;  // the unsplit job's time; to_us: infinity where there is no end
  std::uint32_t workloads = 0;
  Spread error{};  // of the simulator: |predicted / measured - 1|, in two and more streams

  bool has(double unsplit_us) const { return unsplit_us >= from_us && unsplit_us < to_us; }
};
struct ModelErrors {
  std::string source;                  // "among 205 jobs measured on an NVIDIA H200, h200_design.h5"
  std::vector<LengthClass> classes{};  // by length
};
ModelErrors errors_by_length(std::span<const PredictedJob>, const std::string& source);
// The errors for the 259 jobs in data/traces/h200_design.h5 and h200_small_design.h5, which were predicted from the
// costs in h200_streams.h5 and h200_small_streams.h5 of the same folder.
const ModelErrors& known_errors();

// A measured job in which chunks took turns: more chunks than streams, issued by the host depth-first.
struct SplitInTurn {
  std::uint32_t chunks = 0, streams = 0;
  double measured_us = not_measured, predicted_us = not_measured;
};
// Only jobs that the trace also has unsplit.
std::vector<SplitInTurn> predict_in_turn(const Trace&, const MeasuredCosts&);

// ---- the whole advice -----------------------------------------------------------------------------------------------

struct Advice {
  SplitTime best, advised;  // within the memory, where that is limited
  // Chunks in turn, with the least memory within 1 % of the best time. Only where that is half of the job or less.
  std::optional<SplitTime> lean{};
  std::optional<std::uint64_t> max_memory{};
  std::vector<SplitTime> in_memory{};  // where chunks take turns: the fastest of each number of streams
  std::optional<LengthClass> error{};  // of jobs of this length
  std::string error_source{};
  std::optional<GraphAdvice> graph{};  // nothing where costs of graphs are not known, or chunks take turns

  // True only where the memory is limited, and too small for one chunk in each stream.
  bool in_turn() const { return advised.chunks > advised.streams; }
};
// Throws Error(usage) where nothing fits into the memory. REQUIRES: forecast() made the forecast from the same job,
// costs and order.
Advice advise(const Job&, const MeasuredCosts& measured, Order, const Forecast&, const ModelErrors&,
              std::optional<std::uint64_t> max_memory, std::uint32_t max_streams);

}  // namespace npgpu
