// The figures of one device.
#pragma once

#include <string>

#include "npgpu/overview.hpp"

namespace npgpu::html {

// `prefix`: of ids, unique for each device. Empty where there is nothing to draw.
std::string copy_charts(const DeviceOverview&, const std::string& prefix);
// Latency over the working set, with the sizes of caches that follow from it.
std::string ladder_chart(const Trace&, const DeviceOverview&, const std::string& prefix);
std::string stream_chart(const DeviceOverview&, const std::string& prefix);
// Clock, power and temperature over the run.
std::string strip_charts(const DeviceOverview&, const std::string& prefix);
// The four corners of each probe, and what part of its limit it reaches.
std::string corner_table(const Trace&, const DeviceOverview&);

}  // namespace npgpu::html
