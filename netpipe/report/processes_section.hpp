// What a second process costs, written once for a terminal and for a page.
#pragma once

#include "netpipe/report/overview/sections.hpp"
#include "npgpu/matrix.hpp"

namespace npgpu {

// For each figure a row alone, and one for each kind of second process. The name says what it is of.
Section processes_section(const ProcessGpu&);

}  // namespace npgpu
