#include "netpipe/devices/cuda/copy_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cuda {

namespace {

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

std::optional<std::string> why_refused(const TransferCase& c) {
  if (auto why = why_impossible(c)) return why;
  if (auto why = why_not_there(device_of(c))) return why;
  if (c.timing == Timing::gated && launches_block())
    return "--timing gated cannot work while CUDA_LAUNCH_BLOCKING is set, because closing the gate would wait for it "
           "to open: unset it, or use --timing event";
  if (c.memory == Memory::managed && !attribute(cudaDevAttrManagedMemory, ordinal_or_throw(device_of(c))))
    return fmt::format("--memory managed is not supported by {}: use pinned or pageable", device_of(c));
  return std::nullopt;
}

namespace {

constexpr std::uint64_t slot_alignment = 256;   // what cudaMalloc aligns to; whole lines of every cache
constexpr std::uint64_t device_page = 2 * MiB;  // what an allocation takes at least

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
  return saturating_plus(bytes, unit - 1) == UINT64_MAX ? UINT64_MAX : (bytes + unit - 1) / unit * unit;
}

void add(MemoryNeed& need, const End& end, std::uint64_t area) {
  const std::uint64_t bytes = host::allocation_bytes(area, end.offset);
  if (end.kind != Memory::device) need.host_bytes = saturating_plus(need.host_bytes, bytes);
  if (end.kind == Memory::device || end.kind == Memory::managed)
    need.device_bytes = saturating_plus(need.device_bytes, rounded_up(bytes, device_page));
}

}  // namespace

End source_of(const TransferCase& c) {
  const bool on_host = c.direction == Direction::h2d || c.direction == Direction::h2h;
  return {on_host ? c.memory : Memory::device, c.source_offset};
}

End target_of(const TransferCase& c) {
  const bool on_host = c.direction == Direction::d2h || c.direction == Direction::h2h;
  return {on_host ? c.memory : Memory::device, c.target_offset};
}

std::uint64_t stride_bytes(const TransferCase& c, std::uint64_t bytes) {
  const std::uint64_t offset = std::max(c.source_offset, c.target_offset);
  return rounded_up(saturating_plus(saturating_plus(offset, bytes), 2 * payload::guard_bytes), slot_alignment);
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
  add(need, source_of(c), area);
  add(need, target_of(c), area);
  if (c.pattern == Pattern::pingpong) add(need, source_of(c), area);
  return need;
}

MemoryNeed available(const TransferCase& c) {
  return {.host_bytes = host::free_host_memory(), .device_bytes = free_memory(ordinal_or_throw(device_of(c)))};
}

}  // namespace npgpu::cuda
