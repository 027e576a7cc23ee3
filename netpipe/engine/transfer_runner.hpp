// Runs transfers over the channels of their lanes, whoever opens those.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "npgpu/channel.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu {

// The cases of these steps, each with its largest size.
std::map<TransferCase, std::uint64_t> max_bytes_of(std::span<const Step<Transfers>>);

// Opens the channel of one lane, whose case is that of lane_case(), for sizes up to max_bytes.
using OpenLane = std::function<std::unique_ptr<Channel>(const TransferCase&, std::uint64_t max_bytes)>;

// The channels of one case are open at a time: those of the case that was prepared last.
std::unique_ptr<Runner<Transfers>> transfer_runner(OpenLane, std::span<const Step<Transfers>>);

}  // namespace npgpu
