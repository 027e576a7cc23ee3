// The figures of a device by a part of its series alone.
#pragma once

#include <vector>

#include "npgpu/model/device_model.hpp"

namespace npgpu::model {

// Series of one device.
DeviceModel kernel_figures(const std::vector<const ProbeSeries*>&);

// How sharply latency and rate of memory give way to each other, by `memory_knee`, by the share of the bytes that is
// written, and by whether blocks come and go.
double knee_of_memory(double memory_knee, double written, bool come_and_go);

}  // namespace npgpu::model
