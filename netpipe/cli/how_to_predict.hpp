// What a trace that holds the costs of streams can be asked next.
#pragma once

#include <string>

#include "npgpu/trace.hpp"

namespace npgpu::cli {

// A line a device that predictions can be made for: "into how many streams to cut a job: npgpu predict TRACE ...".
// Nothing where there is none.
std::string how_to_predict(const Trace&, const std::string& path);

}  // namespace npgpu::cli
