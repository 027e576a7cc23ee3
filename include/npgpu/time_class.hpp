// Classes of measurement. The times of one class drift together: what slows one of its points slows the others. Each
// kind says the class of its cases: class_of().
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>())
//     std::cout << title(series.question) << ": " << npgpu::name(npgpu::class_of(series.question))
//               << ", unsteady above " << 100 * series.unsteady_above << " %\n";
#pragma once

#include <array>
#include <string_view>

#include "npgpu/names.hpp"

namespace npgpu {

enum class TimeClass {
  device_copies,    // copies by the device, and what several devices do together, timed by events
  host_copies,      // the same timed by the host's clock, or moved by its processors
  pageable_copies,  // of pageable and managed memory, and within the host's memory
  kernels,          // probes on a device, and functions that the device times
  host_probes,
  calls,       // and copies of pieces
  jobs,        // timed by the host's clock
  gated_jobs,  // timed by the device: all was enqueued before it began
  windows,     // of energy and of soaks: power and work, no times
};
template <>
inline constexpr std::array<std::string_view, 9> names_of<TimeClass>{"device-copies", "host-copies", "pageable-copies",
                                                                     "kernels",       "host-probes", "calls",
                                                                     "jobs",          "gated-jobs",  "windows"};

}  // namespace npgpu
