// Where a trace was taken, in a few lines.
#pragma once

#include <string>

#include "npgpu/report.hpp"

namespace npgpu {

// Title, run, host, devices, and what the plan left out. Every line is ended by a newline.
std::string facts_text(const Trace&, const TextStyle&);

}  // namespace npgpu
