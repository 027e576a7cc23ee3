#pragma once

#include <cstdint>
#include <vector>

#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

// Sizes at which all cases are shown beside their largest: near 8 B, for times (0: no case has one), and near 4 KiB,
// 64 KiB and 1 MiB, for rates.
struct CopySizes {
  std::uint64_t small = 0;
  std::vector<std::uint64_t> rates{};
};
CopySizes sizes_of(const std::vector<const CopyCurve*>&);

Section copies_section(const DeviceOverview&, Extent);

}  // namespace npgpu
