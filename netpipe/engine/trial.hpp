// One trial of a transfer: the timed loop, and which thread drives which channel. There is no other timed loop for
// transfers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "npgpu/channel.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu {

struct LaneTime {
  Seconds host{0};
  std::optional<Seconds> device;  // nothing for host timing
};

// Runs `repeats` operations on every measured channel, all at once, and returns their times; nothing if a gate timed
// out. One channel, or several that only enqueue and are timed on the device, are driven from one thread, otherwise
// each from a thread of its own. Channels of `load` are driven from a thread each: they copy before the first measured
// operation, and until the last measured one has ended.
std::optional<std::vector<LaneTime>> run_trial(const TransferCase&, std::span<Channel* const> measured,
                                               std::span<Channel* const> load, std::uint64_t repeats);

}  // namespace npgpu
