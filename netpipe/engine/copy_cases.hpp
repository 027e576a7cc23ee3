// Which copies no GPU does, real or simulated.
#pragma once

#include "npgpu/transfer.hpp"

namespace npgpu {

// Between two devices, through the host.
inline bool is_staged_peer(const TransferCase& c) {
  return c.direction == Direction::peer && c.access == Access::staged;
}

// Pageable and managed memory is staged by the host, whatever the call is named; so is what goes from one device to
// another that does not see its memory.
inline bool only_enqueues(const TransferCase& c) {
  return c.async && c.memory != Memory::pageable && c.memory != Memory::managed && !is_staged_peer(c);
}

// Why the case can run on no device, and what would make it run, in one sentence that names the options; nothing if it
// can. Asks nothing of the machine.
std::optional<std::string> why_no_copy(const TransferCase&);

}  // namespace npgpu
