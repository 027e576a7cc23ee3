// The overview in words and cells. A section is written once, and printed as text, Markdown and HTML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netpipe/report/document.hpp"
#include "npgpu/judge/overview.hpp"

namespace npgpu {

constexpr int screen_digits = 3;  // of rates and times, significant

// How much is said: what a run ends with; what fits a screen; intervals, too; all texts in full, as in Markdown; every
// case, example and level.
enum class Extent { glance, screen, wide, document, page };
constexpr bool is_brief(Extent extent) { return extent <= Extent::wide; }

// "NVIDIA H200 on node7"; SIMULATED first where all devices are.
std::string headline_of(const Overview&);
// "2026-11-21 22:02 UTC, 1:58, npgpu 0.1.0 (15de6ca)"
std::string run_text(const Overview&);
bool is_simulated(const Overview&);  // any device is
// "PASS: 24 passed, 1 warning, 7 not checked"
std::string verdict_text(const Overview&);
// "cuda:0, 132 SMs, 139.8 GiB, ...": one entry for each GPU, or for the first of those that say the same.
std::vector<Entry> who_of(const Overview&);

// What the screen shows, in its order; without sections that are empty, and behind the verdict. `series_in_trace`: as
// in TextStyle.
std::vector<Section> sections_of(const Overview&, Extent, std::size_t series_in_trace = 0);
// The first screen: of each question one figure. Empty where the trace has none of them.
std::vector<Section> glance_of(const Overview&, std::size_t series_in_trace = 0);
// Those of one device: COPIES, MEMORY, COMPUTE, CALLS, STREAMS.
std::vector<Section> sections_of(const DeviceOverview&, Extent);
// The verdict, what fails or warns with its first cause, and the rest in few lines.
Section health_section(const Overview&, Extent);
// A row for each GPU, and what sets one apart; empty with fewer GPUs than `least`.
Section gpus_section(const Overview&, std::size_t least = 2);
Section host_section(const DeviceOverview&);
Section quality_section(const Overview&, Extent, std::size_t series_in_trace);

// Sizes at which all cases are shown, apart from their largest: near 8 B, for times (0: no case has one), and near 4
// KiB, 64 KiB and 1 MiB, for rates.
struct CopySizes {
  std::uint64_t small = 0;
  std::vector<std::uint64_t> rates{};
};
CopySizes sizes_of(const std::vector<const CopyCurve*>&);

// "*" it is unsteady, "d" it was disturbed, "?" something else makes it doubtful.
std::string marks_of(const Figure&);
std::string marks_of(const TransferResult&);
// "3* 2d 1!"; empty where there is nothing to say.
std::string marks_of(const PointCounts&);

}  // namespace npgpu
