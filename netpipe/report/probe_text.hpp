#pragma once

#include <string>

#include "npgpu/probe.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

// Every shape of a probe as a table. A simulated device's says SIMULATED in its title.
std::string probe_text(const ProbeSeries&, const TextStyle&);

}  // namespace npgpu
