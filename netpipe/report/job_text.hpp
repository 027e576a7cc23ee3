#pragma once

#include <string>

#include "npgpu/job.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

// Every job of a case as a table. A simulated device's says SIMULATED in its title.
std::string jobs_text(const JobSeries&, const TextStyle&);

}  // namespace npgpu
