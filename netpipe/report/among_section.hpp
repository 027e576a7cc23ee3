// A GPU among those of its model that others shared, in words and cells.
#pragma once

#include <ostream>

#include "netpipe/report/overview/sections.hpp"
#include "npgpu/shared.hpp"

namespace npgpu {

// "cuda:0 among 7 NVIDIA H200s of others", a row for each figure; or a note that there are none.
Section among_section(const AmongOthers&);
std::string value_text(const SharedMetric&, double value);  // "55.3 GB/s"
std::string change_text(double share);                      // "-0.4 %"

}  // namespace npgpu
