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
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/health.hpp"
#include "npgpu/matrix.hpp"
#include "npgpu/result.hpp"

namespace npgpu {

struct TextStyle;     // npgpu/report.hpp
struct TraceResults;  // npgpu/trace_results.hpp

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

}  // namespace npgpu
