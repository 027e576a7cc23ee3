// Loads of 8 bytes from pinned host memory or another GPU's memory, by one thread of a kernel, each from the address
// that the one before brought: an operation is a load, and its time the latency.
//
// The pointers lie in random order in 2 MiB, one in every line of 128 bytes, and are loaded past the first-level cache
// (ld.volatile). No cache of the loading GPU keeps lines of other memories for longer; the far GPU's second-level cache
// holds all of them, as it would hold a flag or a counter that is polled.
#pragma once

#include <memory>

#include "npgpu/channel.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::cuda {

std::unique_ptr<Channel> chase_channel(const TransferCase&);

}  // namespace npgpu::cuda
