// What a document says of the step of a recorded application.
#pragma once

#include <string>
#include <vector>

#include "netpipe/report/document.hpp"
#include "npgpu/model/record.hpp"

namespace npgpu {

std::string item_text(const StepItem&);  // "copy 64 MiB pageable to device"; the name of a kernel
Table step_kernels_table(const std::vector<AppKernel>&);
// "17.2 ms a step; 10.1 ms of them are pageable copies. Pinned: 8.9 ms (1.93 times); ..."
std::string answer_of(const AppForecastReport&);

}  // namespace npgpu
