// What to do with a prediction: how many streams are enough, how large their buffers are, what fits into less memory,
// and how far such predictions were from jobs that were measured. Pure functions.
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

// Device memory of a split job: each stream has a buffer for a chunk's bytes in, and another one for its bytes out. A
// kernel that works in place needs the larger of the two only.
struct Buffers {
  std::uint64_t in_bytes = 0, out_bytes = 0;  // of one stream: of the largest chunk, in whole lines of 128 B
  std::uint64_t all_bytes = 0;                // of all streams
};
Buffers buffers_of(const Job&, std::uint32_t chunks, std::uint32_t streams);

// The candidates of a prediction: a chunk in each stream.
std::vector<SplitTime> one_chunk_a_stream(const Prediction&, Order);
// Chunks in turn through the buffers of up to so many streams, which together take at most so much memory; depth-first.
// Empty where not even one line of each copy fits. Throws Error(usage) like simulate().
std::vector<SplitTime> chunks_in_turn(const Job&, const StreamCosts&, std::uint64_t most_bytes,
                                      std::uint32_t max_streams);

// More streams than these are worth nothing: the fewest whose time is within 1 % of the best.
inline constexpr double same_time_tolerance = 0.01;
// Throw std::out_of_range of none.
const SplitTime& fastest(std::span<const SplitTime>);
const SplitTime& fewest_streams(std::span<const SplitTime>, double slower_by = same_time_tolerance);
// Of those within 1 % of the best the fewest streams that are a power of two, as chunks then have round sizes; the
// fewest, where none is.
const SplitTime& advised_streams(std::span<const SplitTime>);
// That of the least memory whose time is within so much of a time, and whose number of chunks is a power of two where
// one is; nothing if there is none.
std::optional<SplitTime> least_memory(const Job&, std::span<const SplitTime>, Seconds time, double slower_by);

// ---- how far predictions were from measured jobs
// ----------------------------------------------------------------------

// Measured jobs of about one length. Short ones are predicted worst: calls and gaps count for most in them.
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
// Of the 259 jobs in data/traces/h200_design.h5 and h200_small_design.h5, predicted from the costs in h200_streams.h5
// and h200_small_streams.h5 there.
const ModelErrors& known_errors();

// Measured jobs whose chunks took turns: more chunks than streams, depth-first, as the host issued them, and the
// unsplit job beside them.
struct SplitInTurn {
  std::uint32_t chunks = 0, streams = 0;
  double measured_us = not_measured, predicted_us = not_measured;
};
std::vector<SplitInTurn> predict_in_turn(const Trace&, const MeasuredCosts&);

// ---- all of it ------------------------------------------------------------------------------------------------------

struct Advice {
  SplitTime best, advised;  // within the memory, where that is limited
  std::optional<SplitTime>
      lean{};  // chunks in turn, of the least memory within 1 % of the best; if it is half of the job or less
  std::optional<std::uint64_t> max_memory{};
  std::vector<SplitTime> in_memory{};  // where chunks take turns: the fastest of each number of streams
  std::optional<LengthClass> error{};  // of the jobs of this length
  std::string error_source{};
  std::optional<GraphAdvice> graph{};  // nothing where its costs are not known, or chunks take turns

  // Only where the memory is limited, and too little for a chunk in each stream.
  bool in_turn() const { return advised.chunks > advised.streams; }
};
// `measured` as the forecast was made with. Throws Error(usage) where nothing fits into the memory.
Advice advise(const Job&, const MeasuredCosts& measured, Order, const Forecast&, const ModelErrors&,
              std::optional<std::uint64_t> max_memory, std::uint32_t max_streams);

}  // namespace npgpu
