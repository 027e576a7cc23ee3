// Where a copy's bytes lie: which memory is at each end of a case, and how much of it the case takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "npgpu/module.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::cuda {

// Payloads lie in slots at one distance, the same at both ends: one slot where the cache is warm; where it is
// cold, as many as fit into the footprint, so that the copies walk through more than the caches hold. A slot
// has room for its guards.
std::uint64_t stride_bytes(const TransferCase&, std::uint64_t bytes);

// The memory one end takes, from slot 0's payload on: the largest slot, or the footprint where that is more.
std::uint64_t area_bytes(const TransferCase&, std::uint64_t max_bytes, std::uint64_t footprint_bytes);
std::uint64_t slot_count(const TransferCase&, std::uint64_t bytes, std::uint64_t area_bytes);

// Four times the larger of the device's L2 and the host's last-level cache, or an eighth of the memory that is
// free at either end where that is less; 0 for a warm case. Makes the case's device current if it is cold.
std::uint64_t footprint_bytes(const TransferCase&);

// What opening the case takes: both ends and, for a round trip, the landing buffer, which is as the source.
// Managed memory counts on both sides, because its pages may be on either.
MemoryNeed needs(const TransferCase&, std::uint64_t max_bytes, std::uint64_t footprint_bytes);

// What is free for it now: on the host, and on the device of all of its that has least. Makes another one current.
MemoryNeed available(const TransferCase&);

// Which cases a CUDA copy can be asked for: the same for the runtime's and the driver's.

// Why the case can run on no GPU, and what would make it run, in one sentence that names the options;
// nothing if it can. Asks nothing of the machine.
std::optional<std::string> why_impossible(const TransferCase&);
// Why a module whose copies `executor` does cannot do those of the case.
std::optional<std::string> why_other_executor(const TransferCase&, Executor executor);

// The same, and why it cannot run on the device it names.
std::optional<std::string> why_refused(const TransferCase&);

// What the modules of CUDA copies share: everything but the name and the call.
class Copies : public Module {
 public:
  std::string_view device_kind() const override { return "cuda"; }
  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    if (auto why = why_other_executor(c, executor())) return why;
    return why_refused(c);
  }
  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    return cuda::needs(c, max_bytes, footprint_bytes(c));
  }
  MemoryNeed available(const TransferCase& c) const override { return cuda::available(c); }
};

}  // namespace npgpu::cuda
