// Times messages between this rank and its partner. Both have a runner, and call the same members in the same order.
#pragma once

#include <memory>
#include <span>

#include "netpipe/engine/message_memory.hpp"
#include "netpipe/ranks/group.hpp"
#include "netpipe/ranks/world.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::ranks {

StagingSlots slots_of(const TransferCase&, std::uint64_t max_bytes);

// What a rank takes at its end of a lane: payloads and slots.
struct StagingNeed {
  std::uint64_t host_bytes = 0, device_bytes = 0;
};
StagingNeed needs_of(const TransferCase&, std::uint64_t max_bytes);

// Steps of cases between the two ranks of the group. Throws Error.
std::unique_ptr<Runner<Transfers>> rank_runner(World&, Group&, std::span<const Step<Transfers>>);

}  // namespace npgpu::ranks
