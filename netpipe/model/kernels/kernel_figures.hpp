// The figures of a device by a part of its series alone.
#pragma once

#include <vector>

#include "npgpu/model/device_model.hpp"

namespace npgpu::model {

// Series of one device.
DeviceModel kernel_figures(const std::vector<const ProbeSeries*>&);

}  // namespace npgpu::model
