// What stands for a device: which cases give key figures, and of which class each case is.
#include <fmt/format.h>

#include "netpipe/model/compare/curves.hpp"

namespace npgpu::model {

namespace {

std::string way(Direction direction) {
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

std::vector<FigureChoice> figures_of(const TransferCase& c, std::uint32_t lane) {
  constexpr auto rate = FigureUnit::bytes_per_s;
  if (!c.more_lanes.empty() || c.source_offset || c.target_offset || c.host_node >= 0 || is_beside(c)) return {};
  if (is_between_ranks(c)) {
    const std::string ends = c.source + '>' + c.target + (c.access == Access::staged ? ", staged" : "");
    if (c.async || c.chunk_bytes || c.pattern == Pattern::duplex) return {};
    if (c.pattern == Pattern::stream) return {{"messages one way, " + ends, Among::largest, rate}};
    return {{"smallest message, " + ends, Among::smallest}, {"largest message, " + ends, Among::largest, rate}};
  }
  const bool pinned = c.memory == Memory::pinned, host_timed = is_host_timed(c);
  if (c.pattern == Pattern::duplex && pinned && !host_timed)
    return {{"both ways, " + way(lane ? reversed(c.direction) : c.direction), Among::largest, rate}};
  if (c.pattern != Pattern::stream) return {};
  const std::string cold = c.cache == Cache::cold ? ", cold" : "";
  if (c.direction == Direction::h2h) return {{"copy, " + way(c.direction) + cold, Among::largest, rate}};
  if (c.memory == Memory::pageable && !c.async) return {{"pageable copy, " + way(c.direction), Among::largest, rate}};
  if (!host_timed && (pinned || c.memory == Memory::device))
    return {{"copy, " + way(c.direction) + cold, Among::largest, rate}};
  if (host_timed && pinned && !c.async) return {{"smallest copy, " + way(c.direction), Among::smallest}};
  return {};
}

std::vector<FigureChoice> figures_of(const ProbeCase& c, std::uint32_t) {
  const std::string where = c.device == "host" ? "host " : "";
  if (c.probe == "product") return {};
  if (c.probe == "gemm")
    return {{fmt::format("{}gemm {}{}", where, name(c.type),
                         c.space == Space::host && where.empty() ? ", copies included" : ""),
             Among::fastest, FigureUnit::flop_per_s}};
  if (counts_operations(c)) {
    const auto unit = is_whole_number(c.type) ? FigureUnit::operations_per_s : FigureUnit::flop_per_s;
    const std::string by = c.operation == Operation::fma ? "" : fmt::format(" by {}", name(c.operation));
    return {{fmt::format("{}{} {}{}", where, c.probe, name(c.type), by), Among::fastest, unit}};
  }
  if (c.probe == "onchip")
    return {{fmt::format("bandwidth of {}", name(c.space)), Among::fastest, FigureUnit::bytes_per_s}};
  if (c.probe != "bandwidth" && !counts_loads(c)) return {};
  if (c.operation != Operation::chase) {
    if (c.form != Form::streaming || counts_loads(c)) return {};
    return {{fmt::format("{}bandwidth {} {}", where, name(c.operation), name(c.type)), Among::fastest,
             FigureUnit::bytes_per_s, c.space == Space::global}};
  }
  if (c.space == Space::global || c.space == Space::host)
    return {{where + "latency of memory", Among::largest, FigureUnit::us_a_load},
            {where + "latency of the first cache", Among::smallest, FigureUnit::us_a_load}};
  return {{fmt::format("{}latency, {}", where, name(c.space)), Among::smallest, FigureUnit::us_a_load}};
}

std::vector<FigureChoice> figures_of(const JobCase& c, std::uint32_t) {
  if (c.workload != Workload::none) return {};
  if (c.pool == StreamPool::fresh) return {{"jobs in fresh streams"}};
  if (c.gating == Gating::gated) return {{"copies in streams"}};
  return {};
}

std::vector<FigureChoice> figures_of(const CallCase& c, std::uint32_t) {
  if (is_beside(c)) return {};
  const bool alone = c.manner == Manner::alone;
  if (c.call == Call::launch) return {{alone ? "launch alone" : "launch back to back", Among::smallest}};
  if (c.call == Call::signal && alone) return {{"launch until the host sees it", Among::smallest}};
  if (c.call == Call::graph_launch && alone)
    return {{c.form == GraphForm::chain ? "graph launch, chain" : "graph launch, fork"}};
  return {};
}

std::vector<FigureChoice> figures_of(const PartitionCase&, std::uint32_t) { return {}; }

}  // namespace npgpu::model
