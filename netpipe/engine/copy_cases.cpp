#include "netpipe/engine/copy_cases.hpp"

#include <fmt/format.h>

namespace npgpu {

std::optional<std::string> why_no_copy(const TransferCase& c) {
  const bool duplex = c.pattern == Pattern::duplex;
  if (c.direction == Direction::peer)
    return "--direction peer: copies between two GPUs are not there yet: use h2d, d2h, d2d or h2h";
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
  if (c.direction != Direction::d2d && c.memory == Memory::device)
    return fmt::format(
        "--memory device: --direction {} has host memory at its other end: use pinned, pageable, write-combined or "
        "managed, or --direction d2d",
        name(c.direction));
  if (c.timing == Timing::gated && !c.async)
    return "--timing gated: a blocking copy would wait for its own gate: add --async, or use --timing host";
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
