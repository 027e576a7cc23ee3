// Which cases a CUDA copy can be asked for: the same for the runtime's and the driver's.
#pragma once

#include <optional>
#include <string>

#include "npgpu/transfer.hpp"

namespace npgpu::cuda {

// Why the case can run on no GPU, and what would make it run, in one sentence that names the options;
// nothing if it can. Asks nothing of the machine.
std::optional<std::string> why_impossible(const TransferCase&);

// The same, and why it cannot run on the device it names.
std::optional<std::string> why_refused(const TransferCase&);

}  // namespace npgpu::cuda
