// Which cases a simulated device can be asked for: those of a real one, less what needs a second host thread or a
// cache, and with links that its spec has.
#pragma once

#include <optional>
#include <string>

#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::simulated {

// Why the case cannot run, and what would make it run, in one sentence that names the option; nothing if it can.
std::optional<std::string> why_refused(const TransferCase&, const Spec&);

}  // namespace npgpu::simulated
