// A flag to and fro: each of two writes a word of 8 bytes, which the other waits for, in turn. An operation is there
// and back, begun by a thread of the GPU that moves the case's bytes.
//
// - peer: two GPUs. Each writes into the other's memory and looks at its own, where its second-level cache holds it.
// - d2d: two kernels of one GPU, at once, over its own memory.
// - h2d: a kernel and a thread of the host. Both words are in pinned host memory, as a GPU's memory is not mapped
// there;
//   the host answers while settle() waits.
//
// Words are stored and loaded past the first-level cache and without fences (volatile, which is relaxed at the scope of
// the system): the time of the signal alone. Who has waited for 12 s gives up, so that a flag that never comes is a
// lost trial and not a hung machine; intact() then says so.
#pragma once

#include <memory>

#include "npgpu/channel.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::cuda {

std::unique_ptr<Channel> flag_channel(const TransferCase&);

}  // namespace npgpu::cuda
