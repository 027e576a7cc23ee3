// A message in chunks through slots of host memory: while one chunk travels, the next leaves the device, and the one
// before enters the other one.
#pragma once

#include <cstdint>

#include "netpipe/engine/message_memory.hpp"
#include "netpipe/ranks/world.hpp"

namespace npgpu::ranks {

struct Staging {
  World* world = nullptr;
  int partner = 0;
  std::uint64_t slots = 2;  // of each memory, at least 2: one travels while the other is copied
  std::uint64_t chunk = 1;  // bytes; the last of a message may be shorter
};

// Both return when their side is done: the memory may be changed, or has it all.
void send_staged(const Staging&, MessageMemory&, std::uint64_t bytes);
void receive_staged(const Staging&, MessageMemory&, std::uint64_t bytes);
// Both at once, chunk by chunk: what two ranks do that send to each other.
void exchange_staged(const Staging&, MessageMemory& from, MessageMemory& to, std::uint64_t bytes);

}  // namespace npgpu::ranks
