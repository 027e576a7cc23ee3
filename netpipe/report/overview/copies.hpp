#pragma once

#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

Section copies_section(const DeviceOverview&, Extent);

}  // namespace npgpu
