#pragma once

#include <string>

#include "npgpu/overlap.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

// Every job of a case as a table. A simulated device's says SIMULATED in its title.
std::string jobs_text(const OverlapSweep&, const TextStyle&);

}  // namespace npgpu
