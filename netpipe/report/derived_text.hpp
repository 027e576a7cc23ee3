// The end of a report: how the trace's devices are built and what streams cost on them, if it tells.
#pragma once

#include "npgpu/report.hpp"

namespace npgpu {

void derived_text(std::ostream&, const Trace&, const TextStyle&);

}  // namespace npgpu
