#include "netpipe/modules/cuda/copy_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cuda {

namespace {

constexpr std::uint64_t slot_alignment = 256;   // what cudaMalloc aligns to; whole lines of every cache
constexpr std::uint64_t device_page = 2 * MiB;  // what an allocation takes at least

bool launches_block() {
  const char* const set = std::getenv("CUDA_LAUNCH_BLOCKING");
  return set && std::atoi(set) != 0;
}

}  // namespace

std::optional<std::string> why_impossible(const TransferCase& c) {
  if (auto why = why_no_copy(c)) return why;
  if (c.async || (c.pattern != Pattern::duplex && c.more_lanes.empty())) return std::nullopt;
  return fmt::format(
      "{} of blocking copies run one after the other, because all go through the default stream: add --async",
      c.pattern == Pattern::duplex ? "both directions of --pattern duplex" : "several lanes");
}

std::optional<std::string> why_other_executor(const TransferCase& c, Executor executor) {
  const bool by_kernel = c.executor == Executor::sm_kernel;
  if (by_kernel == (executor == Executor::sm_kernel)) return std::nullopt;
  return by_kernel
             ? fmt::format("--executor sm-kernel: {} copies by copy engines: use --module cudaKernel", c.module)
             : fmt::format("--executor {}: {} copies by kernels: use --executor sm-kernel, or --module cudaMemcpy",
                           name(c.executor), c.module);
}

std::optional<std::string> why_refused(const TransferCase& c) {
  if (auto why = why_impossible(c)) return why;
  for (const std::string& device : devices_of(c))
    if (auto why = why_not_there(device)) return why;
  if (c.direction == Direction::peer)
    if (auto why = why_no_access(c)) return why;
  if (c.pattern == Pattern::atomic)
    if (auto why = why_no_atomics(c)) return why;
  if (c.pattern == Pattern::flag && launches_block())
    return "--pattern flag cannot work while CUDA_LAUNCH_BLOCKING is set, because two kernels have to run at once: "
           "unset "
           "it";
  if (c.timing == Timing::gated && launches_block())
    return "--timing gated cannot work while CUDA_LAUNCH_BLOCKING is set, because closing the gate would wait for it "
           "to open: unset it, or use --timing event";
  if (auto why = host::why_not_on_node(c.host_node)) return why;
  if (c.memory == Memory::managed && c.host_node >= 0)
    return fmt::format("--host-node {}: the driver decides where managed memory is: use --memory pinned or pageable",
                       c.host_node);
  if (c.memory == Memory::managed && !attribute(cudaDevAttrManagedMemory, ordinal_or_throw(device_of(c))))
    return fmt::format("--memory managed is not supported by {}: use pinned or pageable", device_of(c));
  return std::nullopt;
}

std::uint64_t stride_bytes(const TransferCase& c, std::uint64_t bytes) {
  const std::uint64_t offset = std::max(c.source_offset, c.target_offset);
  return padded(saturating_plus(saturating_plus(offset, bytes), 2 * payload::guard_bytes), slot_alignment);
}

std::uint64_t area_bytes(const TransferCase& c, std::uint64_t max_bytes, std::uint64_t footprint) {
  return std::max(stride_bytes(c, max_bytes), footprint);
}

std::uint64_t slot_count(const TransferCase& c, std::uint64_t bytes, std::uint64_t area) {
  return c.cache == Cache::warm ? 1 : std::max<std::uint64_t>(1, area / stride_bytes(c, bytes));
}

std::uint64_t footprint_bytes(const TransferCase& c) {
  if (c.cache == Cache::warm) return 0;
  const int ordinal = ordinal_or_throw(device_of(c));
  const std::uint64_t wanted = 4 * std::max(l2_bytes(ordinal), host::last_level_cache_bytes());
  return std::min({wanted, host::free_host_memory() / 8, free_memory(ordinal) / 8});
}

MemoryNeed needs(const TransferCase& c, std::uint64_t max_bytes, std::uint64_t footprint) {
  const std::uint64_t area = area_bytes(c, max_bytes, footprint);
  // The gate's words and the check's verdict.
  MemoryNeed need{.host_bytes = 64 * KiB, .device_bytes = device_page};
  for (const host::End& end : host::ends_of(c)) {
    const std::uint64_t bytes = host::allocation_bytes(area, end.offset);
    if (end.kind != Memory::device) need.host_bytes = saturating_plus(need.host_bytes, bytes);
    if (end.kind == Memory::device || end.kind == Memory::managed)
      need.device_bytes = saturating_plus(need.device_bytes, padded(bytes, device_page));
  }
  return need;
}

MemoryNeed available(const TransferCase& c) {
  MemoryNeed least{.host_bytes = host::free_host_memory(), .device_bytes = UINT64_MAX};
  for (const std::string& device : devices_of(c))
    least.device_bytes = std::min(least.device_bytes, free_memory(ordinal_or_throw(device)));
  return least;
}

}  // namespace npgpu::cuda
