#include "netpipe/engine/copy_cases.hpp"

#include <fmt/format.h>

namespace npgpu {

namespace {

std::optional<std::string> why_no_peer_copy(const TransferCase& c) {
  if (c.source == c.target || c.source == "host" || c.target == "host")
    return "--direction peer needs two devices: name the other one with --to";
  if (c.memory != Memory::device)
    return fmt::format("--memory {}: --direction peer copies between the memories of two devices: use --memory device",
                       name(c.memory));
  if (c.access == Access::staged && c.executor == Executor::sm_kernel)
    return "--access staged: a kernel cannot reach memory that its device does not see: use --executor copy-engine, or "
           "--access write or read";
  return std::nullopt;
}

std::optional<std::string> why_no_chase(const TransferCase& c) {
  if (c.executor != Executor::sm_kernel)
    return "--pattern chase: a kernel loads, no copy engine does: use --executor sm-kernel";
  if (c.direction != Direction::h2d && !(c.direction == Direction::peer && c.access == Access::read))
    return "--pattern chase: a kernel loads from the host's memory or another device's: use --direction h2d, or "
           "--direction peer --access read; npgpu probe latency has the device's own";
  if (!c.more_lanes.empty()) return "--pattern chase: the latency of a load is measured alone, with no other lane";
  if (c.source_offset || c.cache == Cache::cold)
    return "--pattern chase: its lines lie where no cache of the kernel's device holds them: leave --soffset and "
           "--cache out";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_no_copy(const TransferCase& c) {
  const bool duplex = c.pattern == Pattern::duplex;
  if (c.direction == Direction::peer)
    if (auto why = why_no_peer_copy(c)) return why;
  if (c.pattern == Pattern::chase)
    if (auto why = why_no_chase(c)) return why;
  if (c.direction == Direction::h2h) {
    if (c.memory != Memory::pageable && c.memory != Memory::pinned)  // the CPU would read write-combined uncached
      return fmt::format("--memory {}: --direction h2h copies within the host: use --memory pinned or pageable",
                         name(c.memory));
    if (c.async)
      return "--async: --direction h2h is done by the calling thread, whatever the call's name: leave it out";
    if (c.timing != Timing::host)
      return fmt::format("--timing {}: --direction h2h is done by the CPU, which events do not see: use --timing host",
                         name(c.timing));
    if (duplex || !c.more_lanes.empty())
      return "--pattern duplex: --direction h2h has no link with two directions: use --direction h2d, or --module "
             "memcpy";
    return std::nullopt;
  }
  if (c.direction == Direction::d2d && c.memory != Memory::device)
    return fmt::format("--memory {}: --direction d2d copies within the device: use --memory device", name(c.memory));
  if (c.direction != Direction::d2d && c.direction != Direction::peer && c.memory == Memory::device)
    return fmt::format(
        "--memory device: --direction {} has host memory at its other end: use pinned, pageable, write-combined or "
        "managed, or --direction d2d",
        name(c.direction));
  if (c.timing == Timing::gated && !c.async)
    return "--timing gated: a blocking copy would wait for its own gate: add --async, or use --timing host";
  if (c.timing == Timing::gated && is_staged_peer(c))
    return "--timing gated: a copy that is staged through the host takes more than what fits behind a gate: use "
           "--timing "
           "event or host";
  if (c.executor == Executor::sm_kernel && (c.memory == Memory::pageable || c.memory == Memory::managed))
    return fmt::format("--memory {}: a kernel copies what its device sees in place: use --memory pinned",
                       name(c.memory));
  if (c.executor == Executor::sm_kernel && !c.async)
    return "--executor sm-kernel: a kernel is only enqueued: add --async";
  if (c.timing == Timing::gated && !only_enqueues(c))
    return fmt::format(
        "--timing gated: copies of {} memory are staged by the host and wait for it: use --memory pinned, or --timing "
        "host",
        name(c.memory));
  if (duplex && c.direction == Direction::d2d)
    return "--pattern duplex: --direction d2d has no link with two directions: use --direction h2d or d2h";
  return std::nullopt;
}

}  // namespace npgpu
