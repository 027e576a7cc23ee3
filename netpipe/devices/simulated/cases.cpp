#include "netpipe/devices/simulated/cases.hpp"

#include <fmt/format.h>

namespace npgpu::simulated {

namespace {

using Refusal = std::optional<std::string>;

constexpr auto host_memories = "pinned, pageable, write-combined or managed";

Refusal wrong_memory(const TransferCase& c) {
  switch (c.direction) {
    case Direction::d2d:
      if (c.memory == Memory::device) return std::nullopt;
      return fmt::format("--memory {}: --direction d2d copies within the device: use --memory device", name(c.memory));
    case Direction::h2d:
    case Direction::d2h:
      if (c.memory != Memory::device) return std::nullopt;
      return fmt::format("--memory device: --direction {} has host memory at its other end: use {}, or --direction d2d",
                         name(c.direction), host_memories);
    case Direction::h2h:
      if (c.memory == Memory::pageable || c.memory == Memory::pinned) return std::nullopt;
      return fmt::format("--memory {}: --direction h2h copies within the host: use --memory pinned or pageable",
                         name(c.memory));
    case Direction::peer:
      break;
  }
  return "--direction peer: simulated devices do not reach each other: use h2d, d2h, d2d or h2h";
}

Refusal wrong_on_host(const TransferCase& c) {
  if (c.async) return "--async: --direction h2h is done by the calling thread: leave --async out";
  if (c.timing != Timing::host)
    return fmt::format("--timing {}: --direction h2h is done by the CPU, which events do not see: use --timing host",
                       name(c.timing));
  if (c.pattern == Pattern::duplex)
    return "--pattern duplex: --direction h2h has no link with two directions: use --direction h2d, or --module memcpy";
  return std::nullopt;
}

Refusal wrong_behind_gate(const TransferCase& c) {
  if (!c.async) return "--timing gated: a blocking copy would wait for its own gate: add --async, or use --timing host";
  if (c.memory == Memory::pageable || c.memory == Memory::managed)
    return fmt::format(
        "--timing gated: copies of {} memory are staged by the host and wait for it: use --memory pinned, "
        "or --timing host",
        name(c.memory));
  return std::nullopt;
}

bool only_enqueues(const TransferCase& c) {
  return c.async && c.memory != Memory::pageable && c.memory != Memory::managed;
}

Refusal wrong_duplex(const TransferCase& c) {
  if (c.direction == Direction::d2d)
    return "--pattern duplex: --direction d2d has no link with two directions: use --direction h2d or d2h";
  if (c.timing == Timing::host || !only_enqueues(c))
    return fmt::format(
        "--pattern duplex: {} copies of {} memory timed on the {} need two host threads, and a simulated "
        "device has one: use --async --memory pinned --timing gated or event",
        c.async ? "asynchronous" : "blocking", name(c.memory), c.timing == Timing::host ? "host" : "device");
  return std::nullopt;
}

Refusal wrong_lanes(const TransferCase& c) {
  for (const Lane& lane : c.more_lanes) {
    if (!lane.measured)
      return "a lane that is only a load is driven by a host thread of its own, and a simulated device has one thread: "
             "measure that lane too, or use a real device";
    if (const std::string& other = device_of(lane_case(c, lane)); other != device_of(c))
      return fmt::format("lanes on {} and on {}: each simulated device has its own clock: use lanes of one device",
                         device_of(c), other);
  }
  if (c.more_lanes.empty() || (c.timing != Timing::host && only_enqueues(c))) return std::nullopt;
  return "lanes that block need a host thread each, and a simulated device has one: use --async --memory pinned "
         "--timing "
         "gated or event";
}

Refusal no_link(Direction direction, Memory memory, const Spec& spec) {
  if (spec.link(direction, memory)) return std::nullopt;
  std::string there;
  const auto& links = direction == Direction::h2d ? spec.h2d : spec.d2h;
  if (direction == Direction::h2d || direction == Direction::d2h)
    for (const auto& [kind, link] : links) there += (there.empty() ? "" : ", ") + std::string(name(kind));
  if (there.empty())
    return fmt::format("--direction {}: {} has no such link: add it to its spec, or use another direction",
                       name(direction), spec.name);
  return fmt::format("--memory {}: the spec of {} has no {} link for it: use {}", name(memory), spec.name,
                     name(direction), there);
}

}  // namespace

Refusal why_refused(const TransferCase& c, const Spec& spec) {
  if (c.cache == Cache::cold) return "--cache cold: a simulated device has no caches to miss: use --cache warm";
  if (auto why = wrong_memory(c)) return why;
  if (c.direction == Direction::h2h) {
    if (auto why = wrong_on_host(c)) return why;
  }
  if (c.timing == Timing::gated) {
    if (auto why = wrong_behind_gate(c)) return why;
  }
  if (c.pattern == Pattern::duplex) {
    if (auto why = wrong_duplex(c)) return why;
  }
  if (auto why = wrong_lanes(c)) return why;
  if (auto why = no_link(c.direction, c.memory, spec)) return why;
  if (c.pattern != Pattern::stream) return no_link(reversed(c.direction), c.memory, spec);
  return std::nullopt;
}

}  // namespace npgpu::simulated
