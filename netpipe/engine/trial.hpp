// One trial: the timed loop, and who drives which channel. There is no other timed loop for transfers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npgpu/transfer.hpp"
#include "npgpu/channel.hpp"

namespace npgpu {

struct LaneTime {
  Seconds host{0};
  std::optional<Seconds> device;  // nothing for host timing
};

struct Trial {
  std::vector<LaneTime> lanes;  // one a channel
  bool voided = false;          // a gate timed out: the times mean nothing
};

// Runs `repeats` operations on every channel. One channel: on the calling thread. Two: both at once, from
// this thread if both only enqueue and are timed on the device, else each from a thread of its own.
Trial run_trial(const TransferCase&, std::span<Channel* const> channels, std::uint64_t repeats);

}  // namespace npgpu
