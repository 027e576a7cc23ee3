// Loads of 8 bytes from pinned host memory, another GPU's memory or its own, by one thread of a kernel, each from the
// address that the one before brought: an operation is a load, and its time the latency. Pattern::atomic: additions of
// zero in place of loads, of the scope of the whole system.
//
// The pointers lie in random order in 2 MiB, one in every line of 128 bytes, and are loaded past the first-level cache
// (ld.volatile). No cache of the loading GPU keeps lines of other memories for longer; the second-level cache of the
// GPU whose memory it is holds all of them, as it would hold a flag or a counter that is polled.
#pragma once

#include <memory>

#include "npgpu/channel.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::cuda {

std::unique_ptr<Channel> chase_channel(const TransferCase&);

}  // namespace npgpu::cuda
