// Copies on a simulated node: between its GPUs, and between them and the host's memory. The bytes are real: they are
// moved between real buffers, and checked like any others. What a copy costs stands in fabric.hpp and node.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::simulated {

// Whether all devices of the case are GPUs of one node.
bool is_on_node(const TransferCase&);
// Why the case cannot run there, and what would make it run; nothing if it can. As for a whole case, so for a lane.
std::optional<std::string> why_refused_on_node(const TransferCase&);
// Channels of one node that live at the same time share its clock and its links.
std::unique_ptr<Channel> open_node_lane(const TransferCase&, std::uint64_t max_bytes);

}  // namespace npgpu::simulated
