// Advice for a program: whether a job is faster as a CUDA graph than by the same calls in streams, how many streams are
// enough and how large their buffers are, and which way of copying many pieces is done first. Pure functions.
//
// Example:
//   const npgpu::MeasuredCosts costs = npgpu::stream_costs(npgpu::read_trace("node.h5")).at(0);
//   const npgpu::Job job{.in_bytes = npgpu::MiB, .out_bytes = npgpu::MiB, .kernel = npgpu::Seconds{50e-6}};
//   const auto order = npgpu::Order::breadth_first;
//   const std::vector<std::uint32_t> counts = npgpu::stream_counts(16);
//   const npgpu::Prediction of_streams = npgpu::choose_streams(job, costs.costs, order, counts);
//   const std::vector<npgpu::SplitTime> splits = npgpu::one_chunk_a_stream(of_streams, order);
//   const npgpu::GraphAdvice graph = npgpu::advise_graph(job, costs.costs, costs.graph.value(), order, counts,
//                                                        npgpu::advised_split(job, splits));
//   std::cout << "streams: " << npgpu::microseconds(of_streams.time)
//             << " us, a graph: " << npgpu::microseconds(graph.best.run.total) << " us\n";
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/predict.hpp"
#include "npgpu/model/simulate.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// A job in chunks, which are dealt to the streams in turn. With as many chunks as streams, each chunk has memory of its
// own. With more, the chunks of a stream share memory: the next one is copied in when the last one has been copied out,
// so that the host has to issue them depth-first.
struct SplitTime {
  std::uint32_t chunks = 1, streams = 1;
  Order order = Order::breadth_first;
  StreamRun run{};
};

// The costs of graphs on one device of the trace. They come from jobs that were launched as graphs, where there are
// some. Otherwise they come from calls that launch graphs of independent kernels, alone on an idle device: a job's node
// runs on another engine than the nodes before and after it, and so counts as one of these. Nothing where graphs of
// fewer than two sizes were launched.
std::optional<GraphCosts> graph_costs(const Trace&, const std::string& device, const std::string& device_uuid);

// The costs of the same device where one call launches a whole job in so many chunks: first the time of the call
// itself, then an equal time for each node.
StreamCosts as_graph(const StreamCosts&, const GraphCosts&, const Job&, std::uint32_t chunks);
std::uint32_t nodes_of(const Job&, std::uint32_t chunks);

// Advice on a job as a graph, which has a chain of copy, kernel and copy for each chunk.
struct GraphAdvice {
  SplitTime best, advised;               // streams: chains; advised: the fewest within 1 % of the best
  std::optional<Seconds> instantiate{};  // of the advised one
  // The time that the advised graph saves over the advised streams, as a share of theirs; below 0: it takes longer.
  double gain = 0;
  std::optional<double> pays_after{};  // launches; nothing where it saves less than 1 %, or that is not known
};
GraphAdvice advise_graph(const Job&, const StreamCosts&, const GraphCosts&, Order,
                         std::span<const std::uint32_t> candidates, const SplitTime& advised_streams);

// ---- measured graphs and measured streams ---------------------------------------------------------------------------

// A workload that was measured both ways. The kernel's time is that of job_of(), from the unsplit job in a stream.
struct GraphComparison {
  MeasuredWorkload streams, graph;
  double kernel_us = not_measured;
  std::vector<double> streams_us, graph_us;  // predicted, for each split
};
// The workloads in both lists. Throws Error(usage) where the costs of graphs are not known.
std::vector<GraphComparison> compare_graphs(std::span<const MeasuredWorkload> streams,
                                            std::span<const MeasuredWorkload> graphs, const MeasuredCosts&);

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

// Device memory of a split job: each stream has one buffer for a chunk's bytes in, and one for its bytes out. A kernel
// that works in place needs only the larger of the two.
struct Buffers {
  // One stream has these, for the largest chunk: whole lines of 128 B, or whole items.
  std::uint64_t in_bytes = 0, out_bytes = 0;
  std::uint64_t all_bytes = 0;  // of all streams
};
Buffers buffers_of(const Job&, std::uint32_t chunks, std::uint32_t streams);

// The numbers of streams up to `most` that leave each stream a line of both copies, and whole items; 1 always.
std::vector<std::uint32_t> stream_counts_of(const Job&, std::uint32_t most);
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
// The advice, by one rule: within 1 % of the best the least memory, then the fewest streams, then a power of two of
// chunks (of a job of items, a number that divides them). A job that gains less than 1 % stays whole. Throws
// std::out_of_range if there is no split.
const SplitTime& advised_split(const Job&, std::span<const SplitTime>);
// What the rule chooses from: the candidates of the prediction, with a chunk in each stream, and chunks that take turns
// in fewer buffers. Only what fits into `max_memory`; empty where nothing does. REQUIRES: the prediction is of the same
// job, costs and order.
std::vector<SplitTime> splits_of(const Job&, const StreamCosts&, Order, const Prediction&,
                                 std::optional<std::uint64_t> max_memory, std::uint32_t max_streams);

// ---- errors of predictions of measured jobs -------------------------------------------------------------------------

// Measured jobs of similar length. Short jobs have the largest errors, because calls and gaps are most of their time.
struct LengthClass {
  double from_us = 0, to_us = 0;  // the unsplit job's time; to_us: infinity where there is no end
  std::uint32_t workloads = 0;
  Spread error{};  // of the simulator: |predicted / measured - 1|, in two and more streams

  bool has(double unsplit_us) const { return unsplit_us >= from_us && unsplit_us < to_us; }
};
struct ModelErrors {
  std::string source;                    // "among 205 jobs measured on an NVIDIA H200, h200_design.h5"
  std::vector<LengthClass> classes{};    // by length
  std::optional<LengthClass> in_turn{};  // of jobs in which chunks took turns, where there are any; of any length
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
// Their errors, all lengths together; nothing where there are none.
std::optional<LengthClass> error_in_turn(std::span<const SplitInTurn>);

// ---- the whole advice -----------------------------------------------------------------------------------------------

struct Advice {
  SplitTime best, advised;  // within the memory, where that is limited
  std::optional<std::uint64_t> max_memory{};
  bool is_limited = false;             // by max_memory: what is advised without it does not fit
  bool is_capped = false;              // the best has as many streams as were allowed: more may be faster
  std::vector<SplitTime> in_memory{};  // where it is limited: the fastest of each number of streams
  std::optional<LengthClass> error{};  // of jobs of this length
  std::optional<LengthClass> error_in_turn{};
  std::string error_source{};
  std::optional<GraphAdvice> graph{};  // nothing where costs of graphs are not known, or the memory is limited

  // For the form that is advised; nothing where none like it was measured.
  const std::optional<LengthClass>& error_of_form() const { return in_turn() ? error_in_turn : error; }
  bool in_turn() const { return advised.chunks > advised.streams; }
};
// Throws Error(usage) where nothing fits into the memory. REQUIRES: forecast() made the forecast from the same job,
// costs and order.
Advice advise(const Job&, const MeasuredCosts& measured, Order, const Forecast&, const ModelErrors&,
              std::optional<std::uint64_t> max_memory, std::uint32_t max_streams);

// Which way of copying many pieces is done first: of what was measured, and of any number and size between.
//
// Example:
//   const std::vector<npgpu::PieceTable> tables = npgpu::piece_tables(npgpu::read_trace("node.h5"));
//   std::cout << tables.size() << " tables\n";
//   for (const npgpu::PieceTable& table : tables) {
//     const npgpu::PieceAdvice advice = npgpu::advise_pieces(table, 100, 3000);
//     std::cout << title(table.question) << ": " << npgpu::name(advice.ways.at(0).way) << ", "
//               << advice.ways.at(0).time_us.value << " us\n";
//   }

struct TextStyle;  // npgpu/report/report.hpp

struct WayTime {
  PieceWay way = PieceWay::loop;
  Estimate time_us;  // of one copy of all pieces
  Estimate host_us;  // of it, in calls; not of what is predicted
  // Its time over that of the fastest way, less 1. Measured: of the rounds that both were visited in, so that what
  // slowed a whole round counts for neither. Predicted: from both times.
  Estimate over_fastest;
  bool is_as_fast = false;  // the interval of over_fastest reaches 0: it cannot be told from the fastest one
};

struct PieceRow {
  std::uint32_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::vector<WayTime> ways;          // usable ones, the fastest first
  std::vector<std::string> unusable;  // "batch: the results were wrong"
  std::uint32_t causes = 0;           // of disturbance, of any way
  bool unsteady = false;

  std::uint64_t bytes() const { return pieces * piece_bytes; }
  const WayTime* of(PieceWay) const;  // null: not measured, or not usable
  bool is_decided() const { return ways.size() > 1 && !ways[1].is_as_fast; }
};

// A case: all its points, by pieces, then by size.
struct PieceTable {
  PieceCase question;
  std::string device_name;
  bool simulated = false;
  std::string error{};  // why it was not run to its end
  std::vector<PieceRow> rows;

  std::vector<PieceWay> ways() const;  // that were measured, in their order
};
std::vector<PieceTable> piece_tables(const Trace&);

// What a way takes for any number and size: straight lines between the measured sizes of a piece, and between the
// measured numbers of pieces. A time that is a constant, and a part for each piece, and a part for each byte, is a
// straight line in each of them.
struct PieceAdvice {
  std::uint32_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::vector<WayTime> ways;       // the fastest first
  std::vector<std::string> notes;  // where it rests on less than it should
  bool is_measured = false;        // the table has this point: these are its times, and no lines
};
// Intervals hold those of the measured times, and half of what such lines miss measured times by, if these are left out
// (9 of 10 are missed by less, as factors): without them the lines are twice as long. Throws Error(usage) where the
// point is more than 16 times beyond what was measured. REQUIRES: the table has a row.
PieceAdvice advise_pieces(const PieceTable&, std::uint32_t pieces, std::uint64_t piece_bytes);

// What each way of copying pieces takes, and which is done first.
struct PieceForecast {
  const PieceTable* table = nullptr;
  PieceAdvice advice;
};
void piece_advice_text(std::ostream&, const std::vector<PieceForecast>&, const TextStyle&);
void piece_advice_json(std::ostream&, const std::vector<PieceForecast>&);

// Models of the literature for jobs in n streams: how long a job takes, and which n is best. None of them simulates;
// each takes a few times of the unsplit job. plots/npgpu/study/models.py compares them with measured jobs.
//
// Example:
//   const npgpu::MeasuredCosts costs = npgpu::stream_costs(npgpu::read_trace("node.h5")).at(0);
//   const npgpu::Job job{.in_bytes = npgpu::MiB, .out_bytes = npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
//   const npgpu::ModelInputs inputs = npgpu::model_inputs(job, costs, {});
//   for (const npgpu::StreamModel model : {npgpu::StreamModel::cc1, npgpu::StreamModel::van_werkhoven}) {
//     const npgpu::StreamModelChoice choice = npgpu::choice_of(model, inputs, npgpu::stream_counts(64));
//     std::cout << npgpu::name(model) << ": " << choice.streams << " streams\n";
//   }

// `whole` are the times of the unstreamed job: H, E, D; t_T = H + D, t_E = E.
namespace models {

inline Seconds transfers(const Stages& whole) { return whole.h2d + whole.d2h; }

// ---- CUDA C Best Practices Guide 3.2, as Gomez-Luna et al. 2012 quote it --------------------------------------------
inline Seconds best_practices_kernel(const Stages& whole, double n) { return whole.kernel + transfers(whole) / n; }
inline Seconds best_practices_transfers(const Stages& whole, double n) { return transfers(whole) + whole.kernel / n; }
inline Seconds best_practices(const Stages& whole, double n) {
  return whole.kernel >= transfers(whole) ? best_practices_kernel(whole, n) : best_practices_transfers(whole, n);
}

// ---- Gomez-Luna et al. 2012: one copy engine, stream creation counted -----------------------------------------------
// c.c. 1.x, (1) and (3): t_T + n t_sc while t_T >= t_E + t_T/n, else t_E + t_T/n + n t_sc.
inline Seconds cc1(const Stages& whole, Seconds t_sc, double n) {
  return std::max(transfers(whole), whole.kernel + transfers(whole) / n) + n * t_sc;
}
// (2) t_T/(t_T - t_E) where transfers dominate, (4) sqrt(t_T/t_sc) where the kernel does. (2) grows without limit as
// t_E nears t_T, because it asks only for where (1) begins to hold, whatever the streams cost.
inline double cc1_optimum_as_printed(const Stages& whole, Seconds t_sc) {
  const Seconds t_t = transfers(whole);
  return t_t > whole.kernel ? t_t / (t_t - whole.kernel) : std::sqrt(t_t / t_sc);
}
// What minimizes max(t_T, t_E + t_T/n) + n t_sc: the lesser of (2) and (4).
inline double cc1_optimum(const Stages& whole, Seconds t_sc) {
  const Seconds t_t = transfers(whole);
  const double cheapest = std::sqrt(t_t / t_sc);
  return std::max(1.0, t_t > whole.kernel ? std::min(t_t / (t_t - whole.kernel), cheapest) : cheapest);
}
// c.c. 2.x, (5) and (7): H + t_E/n + D + n t_sc while H >= t_E, else H/n + t_E + D + n t_sc.
inline Seconds cc2(const Stages& whole, Seconds t_sc, double n) {
  return std::max(whole.h2d, whole.kernel) + std::min(whole.h2d, whole.kernel) / n + whole.d2h + n * t_sc;
}
// (6) sqrt(t_E/t_sc) and (8) sqrt(H/t_sc).
inline double cc2_optimum(const Stages& whole, Seconds t_sc) {
  return std::sqrt(std::min(whole.h2d, whole.kernel) / t_sc);
}

// ---- van Werkhoven, Maassen, Seinstra, Bal: Performance models for CPU-GPU data transfers (CCGrid 2014) -------------
// Two copy engines.
inline Seconds van_werkhoven(const Stages& whole, double n) {
  const auto [h, e, d] = whole;
  return std::max({h + e / n + d / n, h / n + e + d / n, h / n + e / n + d});
}

}  // namespace models

// ---- the models, and what they choose -------------------------------------------------------------------------------

enum class StreamModel { best_practices, cc1, cc1_corrected, cc2, van_werkhoven, veneva_small, veneva_big };
template <>
inline constexpr std::array<std::string_view, 7> names_of<StreamModel>{
    "best-practices", "cc1", "cc1-corrected", "cc2", "van-werkhoven", "veneva-small", "veneva-big"};
// Paper and equations: of the time, then of n.
std::string_view source_of(StreamModel);

// (7) of Veneva & Imamura 2025: what is left of a split job's time when the part of the shorter stages that could be
// hidden is taken off, over the bytes that the job copies and n. Its parameters are fitted to measured jobs.
//   small: a bytes + b log10 n + c            big: (a bytes + b) log2(n^(4/3)) + c
struct OverheadFit {
  std::array<double, 3> small{}, big{};  // us
};
// By least squares of relative residuals, as the study of predictions fits them, to the workloads in streams that are
// there; nothing with fewer than ten of them.
std::optional<OverheadFit> fit_overheads(std::span<const MeasuredWorkload>, const MeasuredCosts&);

struct ModelInputs {
  Stages whole;             // each stage of the unsplit job alone, gaps included
  Seconds t_sc{0};          // of creating a stream, also where streams are there: the paper always counts it
  Seconds gap{0};           // what one more chunk costs the engine of the longest stage
  Seconds unsplit{0};       // the job in one stream, simulated
  std::uint64_t bytes = 0;  // copied, in and out
  std::optional<OverheadFit> overheads{};
};
ModelInputs model_inputs(const Job&, const MeasuredCosts&, std::optional<OverheadFit>);

// REQUIRES: those of Veneva & Imamura have their overheads.
Seconds time_of(StreamModel, const ModelInputs&, double n);
// Where the paper gives an equation for n; not finite where streams cost nothing.
std::optional<double> optimum_of(StreamModel, const ModelInputs&);

struct StreamModelChoice {
  StreamModel model = StreamModel::best_practices;
  std::optional<double> optimum{};  // optimum_of()
  // A candidate: the neighbour of that number with the lesser time; without such a number, that of the least time.
  std::uint32_t streams = 1;
  Seconds time{0};               // with them, as the model says
  std::vector<Seconds> times{};  // as the candidates
};
// REQUIRES: candidates ascend, and there is one.
StreamModelChoice choice_of(StreamModel, const ModelInputs&, std::span<const std::uint32_t> candidates);

}  // namespace npgpu
