#pragma once

#include <string>

#include "npgpu/probe.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

// "66.9 TFLOP/s", "493 GOP/s", "4.29 TB/s", and for a chase the time of one load: "271 ns".
std::string probe_rate_text(const ProbeCase&, double per_s);
// "blocks 132 x 1024 threads, ilp 4, 16 B each, in 4 GiB, alone"
std::string shape_text(const Shape&);

// Every shape of a probe as a table. A simulated device's says SIMULATED in its title.
std::string probe_text(const ProbeSweep&, const TextStyle&);

}  // namespace npgpu
