// Runs transfers over the channels of their lanes, whoever opens those.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

// The cases of these steps, each with its largest size.
std::map<TransferCase, std::uint64_t> max_bytes_of(std::span<const Step<Transfers>>);

// Opens the channel of one lane, whose case is that of lane_case(), for sizes up to max_bytes.
using OpenLane = std::function<std::unique_ptr<Channel>(const TransferCase&, std::uint64_t max_bytes)>;

// The channels of one case are open at a time: those of the case that was prepared last.
std::unique_ptr<Runner<Transfers>> transfer_runner(OpenLane, std::span<const Step<Transfers>>);

struct LaneTime {
  Seconds host{0};
  std::optional<Seconds> device;  // nothing for host timing
};

// How many more operations follow each measured channel's last timed one, so that it keeps the others company until
// theirs have ended. Empty: none.
using Tails = std::vector<std::uint64_t>;
// For trials of `repeats` operations on lanes whose times were in this proportion: so many that each goes on until the
// slowest is done, and one more; at most `most`.
Tails tails_of(const std::vector<LaneTime>&, std::uint64_t repeats, std::uint64_t most);

// One trial: `repeats` operations on every measured channel, all at once, and their times; nothing if a gate timed
// out. One channel, or several that only enqueue and are timed on the device, are driven from one thread, otherwise
// each from a thread of its own. Channels of `load` are driven from a thread each: they copy before the first measured
// operation, and until the last measured one has ended.
// `tails` is used only where one thread drives all channels and they are timed on their devices.
std::optional<std::vector<LaneTime>> run_trial(const TransferCase&, std::span<Channel* const> measured,
                                               std::span<Channel* const> load, std::uint64_t repeats,
                                               const Tails& tails = {});

}  // namespace npgpu
