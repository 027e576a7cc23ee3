#include "npgpu/transfer.hpp"

namespace npgpu {

namespace {

// The device's own reason where it gives one.
Limit unknown(const Limit& limit, const std::string& otherwise) {
  const bool says = limit.source.starts_with("unknown: ") || limit.source.starts_with("none: ");
  return {not_measured, says ? limit.source : "unknown: " + otherwise};
}

// Half of a memory's rate: a copy reads every byte and writes it, and its bytes are counted once.
Limit copy_within(const Limit& memory, const std::string& whose) {
  if (!(memory.per_s > 0)) return unknown(memory, "the rate of " + whose + " memory is not known");
  return {memory.per_s / 2, "half of " + memory.source + ", because a copy reads and writes every byte"};
}

}  // namespace

Limit limit_of(const TransferCase& c, const DeviceInfo& device) {
  switch (c.direction) {
    case Direction::h2d:
    case Direction::d2h:
      // Of one direction, for pingpong and duplex too: a link carries both at once.
      if (!(device.link.per_s > 0)) return unknown(device.link, "the link's rate is not known");
      return device.link;
    case Direction::d2d:
      return copy_within(device.memory, "the device's");
    case Direction::h2h:
      if (device.id != "host") break;  // what it says of memory is of its own
      return copy_within(device.memory, "the host's");
    case Direction::peer:
      break;
  }
  return unknown({}, c.direction == Direction::h2h ? "the rate of the host's memory is not known"
                                                   : "the rate between two devices is not known");
}

}  // namespace npgpu
