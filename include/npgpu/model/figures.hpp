// Figures of a trace: of staged messages, energy, soaks and operations of several GPUs; and the results of all kinds,
// computed once. The first are staged messages in the trace of a rank. For each size: the chunk that the costs of the
// stages advise, the time of a message with it by these costs, the chunk that was chosen after trials, and how that
// compares with other chunks.
//
// Example:
//   const auto all = npgpu::staged_messages(npgpu::read_trace("rank.h5"));  // of npgpu transfer --access staged
//   for (const npgpu::StagedMessages& messages : all)
//     for (const npgpu::StagedSize& size : messages.sizes)
//       std::cout << messages.source << " to " << messages.target << ", " << npgpu::size_text(size.bytes)
//                 << ": chunks of " << npgpu::size_text(size.chunk) << ", " << size.predicted_us << " us\n";
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/judge/matrix.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

// Times are one way, in microseconds; NaN: not measured.
struct StagedSize {
  std::uint64_t bytes = 0;
  std::uint64_t chunk = 0;             // advised by the costs of the stages; 0: not known
  double predicted_us = not_measured;  // with it, by these costs
  std::uint64_t taken_chunk = 0;       // chosen by --chunk advised, after trials; 0: not known
  double advised_us = not_measured;    // measured with --chunk advised
  std::uint64_t best_chunk = 0;        // of those that were measured, the advised one left out; 0: none was
  double best_us = not_measured;       // with it
  double regret() const { return advised_us / best_us - 1; }
};
struct StagedMessages {
  std::string source{}, target{};
  Pattern pattern = Pattern::pingpong;
  std::vector<StagedSize> sizes{};  // that were measured staged
};

// The cost of stages depends on how much of a message the caches hold. It is measured for messages of 16 KiB times
// powers of four; the extent of a message is the smallest of these sizes that holds it.
std::uint64_t extent_of(std::uint64_t bytes);
// "rank1_extent65536_stage0_us": the cost's name in /provenance/ranks_after.
std::string stage_fact(int partner, std::uint64_t extent, int stage);
// "worker 0: 4096 0.31 16384 0.9": a cost as /provenance/ranks_after holds it, with sizes in bytes and times in us; and
// back. Nothing if the text is no cost.
std::string stage_text(const StageCost&);
std::optional<StageCost> parse_stage(const std::string&);

// How the chunk of a size was chosen. Trials began with the chunk that the costs of the stages advise.
struct ChunkChoice {
  std::uint64_t advised = 0, taken = 0;
  struct Tried {
    std::uint64_t chunk = 0;
    Seconds least{0};  // the shortest of its trials, for a message one way
  };
  std::vector<Tried> tried{};  // by chunk; empty where there was nothing to choose from
};
// "rank1_pingpong65536_chunk": the choice's name in /provenance/ranks_chunks.
std::string chunk_fact(int partner, Pattern, std::uint64_t bytes);
// "advised 16384, taken 32768: 8192 60.1 16384 41.2 32768 38": as stage_text().
std::string choice_text(const ChunkChoice&);
std::optional<ChunkChoice> parse_choice(const std::string&);

// Only patterns of one lane. Empty where the trace does not say how chunks were chosen.
std::vector<StagedMessages> staged_messages(const Trace&);

// What a trace says of energy: watts at rest, and joules an operation or a byte.
//
// Example:
//   for (const npgpu::EnergyFigure& f : npgpu::energy_figures(npgpu::read_trace("energy.h5")))
//     if (f.why.empty() && !npgpu::is_idle(f.question.work))
//       std::cout << npgpu::work_text(f.question) << ": " << f.each_pj().value << " pJ\n";

struct EnergyFigure {
  EnergyCase question;
  std::string device_name, device_uuid;
  bool simulated = false;
  bool counts_energy = false;  // by a counter; else by readings of power
  double power_limit_w = not_measured;
  EnergyResult full;  // all of the time in work; of idle, at rest
  // J an operation or a byte over idle. Where energy is in proportion to work: the slope of power over work a second,
  // by least squares over all windows at rest, at half work and at full work that count; else of the windows at rest
  // and at full work alone. Its interval is Student's. NaN of idle.
  Estimate each_j;
  // What half work took over idle for each operation, over what full work did: 1 where energy is in proportion to work.
  double half_over_line = not_measured;
  bool is_proportional() const { return half_over_line > 0.95 && half_over_line < 1.05; }
  std::string why;  // nothing of this can be said; else empty

  Estimate each_pj() const;  // the same in pJ
  // J an operation or a byte, idle included.
  double all_in_j() const { return full.power_w.value / full.rate.value; }
  // By a limit of power or temperature; then energy is not in proportion to work.
  bool is_clock_lowered() const { return (full.causes & static_cast<std::uint32_t>(Cause::throttled)) != 0; }
  // Its power, by its interval, may be the most that the device is allowed: the limit may hold the rate back, also
  // where the clock that is read stays.
  bool is_at_power_limit() const { return full.power_w.high >= power_limit_w; }
};
// In the order of the trace's series.
std::vector<EnergyFigure> energy_figures(const Trace&);

// What a trace says of a soak: what each load did from its begin to its end, and what the device said meanwhile.
//
// Example:
//   const auto devices = npgpu::soak_devices(npgpu::read_trace("node.h5"));  // of npgpu check --soak 10min
//   std::cout << devices.size() << " devices were soaked\n";
//   for (const auto& d : devices) std::cout << d.id << ' ' << d.loads.size() << " loads\n";

// One load by itself, or one part of several at once.
struct SoakFigure {
  SoakCase question{};
  SoakLoad part{};
  std::size_t slices = 0;
  // Medians of the first third of its slices and of the last one, per second; NaN where no slice has a rate.
  Estimate begin{}, end{};
  double lowest = not_measured;  // of a slice
  // How much the end is above the begin, as a share, with the interval of the difference of their logarithms
  // (median_difference); no interval of fewer than two slices in a third.
  Estimate change{};
  double clock_mhz = not_measured, power_w = not_measured;  // means over slices
  double temperature_c = not_measured;                      // highest
  double compared = not_measured;                           // share of the work whose results were compared
  std::uint64_t mismatches = 0;
  double last_third_s = not_measured;  // of the soak, when its last third began
  std::vector<SoakSample> samples{};   // in order of time
  std::vector<double> rates{};         // of these, those that have one

  bool is_together() const { return question.load == SoakLoad::together; }
  std::string name() const;  // "tensor", "peer to cuda:1", "tensor, together"
};

struct SoakDevice {
  std::string id{}, name{}, uuid{};
  bool simulated = false;
  double elapsed_s = 0;  // when its last slice began, and that slice
  std::vector<SoakFigure> loads{};
  // Reasons that take clocks away, each with when it was first read and in how many slices it was.
  struct Throttle {
    std::uint64_t reason = 0;  // one bit
    double at_s = not_measured;
    double last_s = not_measured;
    std::size_t slices = 0;
  };
  std::vector<Throttle> throttles{};
  std::size_t slices = 0;
  double temperature_c = not_measured;  // median over the second half of its slices
  double highest_c = not_measured;
  std::vector<SoakSample> words{};    // that memory tests found wrong
  std::vector<std::string> errors{};  // of its series
};
// In the order of the trace's series; empty of a trace without a soak.
std::vector<SoakDevice> soak_devices(const Trace&);

// "too hot, power cap": reasons that take clocks away.
std::string throttle_text(std::uint64_t reasons);
// Operations or bytes per second of one slice; NaN where it has none.
double rate_of(const SoakSample&);
// "4 min 2 s", "12 s", "1 h 3 min".
std::string soak_time_text(double seconds);

// What a trace says of operations that several GPUs do together: each by size, what the links between the GPUs allow,
// and which link is slow.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");  // of npgpu collectives
//   const auto studies = npgpu::collective_studies(trace, npgpu::node_matrix(trace));
//   std::cout << studies.size() << " sets of GPUs worked together\n";
//   for (const npgpu::CollectiveStudy& node : studies)
//     for (const npgpu::CollectiveFigure& one : node.figures)
//       std::cout << title(one.question) << ": " << one.best.value * 1e-9 << " GB/s of bus bandwidth\n";

struct TextStyle;  // npgpu/report/report.hpp
struct TraceResults;

// One operation of one type, by size.
struct CollectiveFigure {
  CollectiveCase question{};
  std::vector<CollectiveResult> points{};  // by size; those that are not usable, too
  Estimate smallest_us{};                  // of the smallest size
  Estimate best{};                         // the largest bus bandwidth, bytes per second
  double half_bytes = not_measured;        // from which size on half of it is reached
  double limit = not_measured;             // of the bus bandwidth: what the links allow; NaN: not known
  std::string limit_source{};              // what was measured for it, or why it is not known
  double tree_limit = not_measured;        // of an all-reduce by two binary trees over the same links
  double share = not_measured;             // of the limit that the largest size reaches
  CheckVerdict verdict = CheckVerdict::not_judged;
  std::string why{};    // of the verdict, where it is not ok
  std::string cause{};  // what of the library's choice makes it slow: "it goes over SHM, ..."; empty if nothing known
  std::string error{};
};

// Links that are slower than others of the same kind, or than NVLinks of their number and generation.
struct SlowLink {
  // One, whose links are all slow; two, the ends of one; or more in a row, of which it is not known which are at fault.
  std::vector<std::string> devices{};
  double share = not_measured;  // of what it is compared with, which the text names
  std::string text{};           // "copies to and from sim:node:5 have 25 GB/s, 50 % of what others of the ring have"
};

// All that the same GPUs did in the ways that this program has.
struct CollectiveStudy {
  std::vector<std::string> gpus{};
  std::string device_name{}, library{};
  bool simulated = false;
  std::vector<CollectiveFigure> figures{};
  std::vector<SlowLink> slow_links{};
  std::string links_judged_by{};  // what each link is compared with; empty: no ring of copies was measured
  CheckVerdict verdict = CheckVerdict::not_judged;  // the worst of them
};

// From which share of the limit on the largest size is ok: two H100s reach 61 to 77 % at 128 MiB, and more at larger
// ones. Nothing smaller is judged. Where three GPUs or more send to one other each, NCCL (2.28, addP2pToPlan in
// src/enqueue.cc) gives each pair a part of its channels, and more of them for messages of more than 16 MiB a channel:
// on four H200s 8 channels carry 45 % of the limit at 128 MiB.
inline constexpr double least_collective_share = 0.50;
constexpr std::uint64_t least_judged_bytes(CollectiveOperation operation) {
  return operation == CollectiveOperation::send_receive ? 256 * MiB : 128 * MiB;
}

// What a small all-reduce may take on the devices: so much to start, and so much for each of a ring's 2(n-1) steps. Two
// H100s take 6.4 us.
inline constexpr std::uint64_t most_small_bytes = 4 * KiB;
inline constexpr double most_start_us = 10, most_step_us = 5;

// REQUIRES: node_matrix() made the matrix from the same trace.
std::vector<CollectiveStudy> collective_studies(const Trace&, const NodeMatrix&);

// The time of a size between those that were measured, in us: straight between the sizes next to it, and beyond the
// largest by its rate. Its interval is that of both. Nothing below the smallest size, and where nothing was measured.
std::optional<Estimate> time_of(const CollectiveFigure&, std::uint64_t bytes);

// What GPUs did together, and its limits; nothing where a trace has none.
void collectives_text(std::ostream&, const TraceResults&, const TextStyle&);
// The time of an operation of several GPUs of a size that need not have been measured.
struct CollectiveForecast {
  const CollectiveStudy* study = nullptr;
  const CollectiveFigure* figure = nullptr;
  std::uint64_t bytes = 0;
  Estimate us{};
};
void collective_forecast_text(std::ostream&, const std::vector<CollectiveForecast>&);
void collective_forecast_json(std::ostream&, const std::vector<CollectiveForecast>&);

// The results of a whole trace, computed once for all reports. REQUIRES: the trace outlives them, and does not change.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   const npgpu::TraceResults all(trace);  // once for several reports
//   npgpu::report_text(std::cout, all, {.width = 80});
//   npgpu::report_json(std::cout, all);

struct TraceResults {
  const Trace& trace;  // must outlive this
  std::vector<Drift> drifts;
  std::vector<BesideOthers> beside;
  BusySibling sibling;
  std::vector<EnergyFigure> energies;
  std::vector<Roofline> rooflines;
  std::vector<SoakDevice> soaks;
  std::vector<PieceTable> pieces;
  std::vector<StagedMessages> messages;
  std::vector<PartitionStudy> partitions;
  std::vector<MeasuredCosts> costs;  // of streams
  std::vector<DeviceParameters> derived;
  NodeMatrix matrix;
  MatrixVerdict verdict;  // of the matrix
  std::vector<CollectiveStudy> collectives;

  explicit TraceResults(const Trace&);
};

}  // namespace npgpu
