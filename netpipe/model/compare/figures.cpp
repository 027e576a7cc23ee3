// What stands for a device: which cases of each kind give key figures.
#include <fmt/format.h>

#include "npgpu/catalogue.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

std::string copy_way(Direction direction) {
  switch (direction) {
    case Direction::h2d: return "host to device";
    case Direction::d2h: return "device to host";
    case Direction::d2d: return "within the device";
    case Direction::h2h: return "within the host";
    case Direction::peer: break;
  }
  return "device to device";
}

}  // namespace

std::vector<FigureChoice> Transfers::key_figures(const TransferCase& c, std::uint32_t lane) {
  constexpr auto rate = FigureUnit::bytes_per_s;
  if (!c.more_lanes.empty() || c.source_offset || c.target_offset || c.host_node >= 0 || is_beside(c)) return {};
  if (is_between_ranks(c)) {
    const std::string ends = c.source + '>' + c.target + (c.access == Access::staged ? ", staged" : "");
    if (c.async || c.chunk_bytes || c.pattern == Pattern::duplex) return {};
    if (c.pattern == Pattern::stream) return {{"messages one way, " + ends, Among::largest, rate}};
    return {{"smallest message, " + ends, Among::smallest}, {"largest message, " + ends, Among::largest, rate}};
  }
  const auto question = question_of(c);
  if (!question) return {};
  const std::string cold = c.cache == Cache::cold ? ", cold" : "";
  switch (*question) {
    case CopyQuestion::to_device:
    case CopyQuestion::to_host:
    case CopyQuestion::within_device:
    case CopyQuestion::within_device_cold:
    case CopyQuestion::to_peer:
    case CopyQuestion::within_host:
    case CopyQuestion::within_host_cold: return {{"copy, " + copy_way(c.direction) + cold, Among::largest, rate}};
    case CopyQuestion::both_ways:
      return {{"both ways, " + copy_way(lane ? reversed(c.direction) : c.direction), Among::largest, rate}};
    case CopyQuestion::to_device_pageable:
    case CopyQuestion::to_host_pageable: return {{"pageable copy, " + copy_way(c.direction), Among::largest, rate}};
    case CopyQuestion::to_device_blocking:
    case CopyQuestion::to_host_blocking: return {{"smallest copy, " + copy_way(c.direction), Among::smallest}};
    case CopyQuestion::to_device_queued:
    case CopyQuestion::to_host_queued:
    case CopyQuestion::to_device_write_combined:
    case CopyQuestion::within_host_both_ways:
    case CopyQuestion::there_and_back:
    case CopyQuestion::there_and_back_pageable:
    case CopyQuestion::there_and_back_in_host: break;
  }
  return {};
}

std::vector<FigureChoice> Probes::key_figures(const ProbeCase& c, std::uint32_t) {
  return description_of(c).key_figures(c);
}

std::vector<FigureChoice> Jobs::key_figures(const JobCase& c, std::uint32_t) {
  if (c.workload != Workload::none) return {};
  if (c.pool == StreamPool::fresh) return {{"jobs in fresh streams"}};
  if (c.gating == Gating::gated) return {{"copies in streams"}};
  return {};
}

std::vector<FigureChoice> Calls::key_figures(const CallCase& c, std::uint32_t) {
  if (is_beside(c)) return {};
  const auto question = question_of(c);
  if (question == CallQuestion::launch) return {{"launch alone", Among::smallest}};
  if (question == CallQuestion::launch_in_a_row) return {{"launch back to back", Among::smallest}};
  if (question == CallQuestion::signal) return {{"launch until the host sees it", Among::smallest}};
  if (c.call == Call::function) return {{fmt::format("{}, {}", c.function, npgpu::name(c.spacing))}};
  if (c.call == Call::graph_launch && c.spacing == Spacing::alone)
    return {{c.form == GraphForm::chain ? "graph launch, chain" : "graph launch, fork"}};
  return {};
}

}  // namespace npgpu
