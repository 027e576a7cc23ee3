// Bulk copies of simulated devices: a copy takes a plain load's latency and what the spec adds; so many of them are
// under way as the shape says, until L2 or memory gives no more.
#include "probes/simulated.hpp"

#include "netpipe/devices/simulated/library.hpp"
#include "probes/tma/shapes.hpp"

namespace npgpu::simulated {

namespace {

double copy_latency(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  const double load = c.space == Space::l2 ? m.l2_latency_cycles : m.memory_latency_cycles;
  if (s.rung == tma::plain) return load;
  return load + (s.rung == tma::box ? m.box_latency_cycles : m.bulk_latency_cycles);
}

Repeat tma_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.work = tma::work(c, s);
  repeat.step.latency_cycles = copy_latency(c, s, m);
  repeat.all_bytes_per_s = no_limit;
  if (c.operation == Operation::chase) {
    repeat.steps = static_cast<double>(tma::loads_of_repeat);
    return repeat;
  }
  // A step is one copy of each that is under way. What a cluster receives in each of its blocks left L2 once.
  repeat.steps = static_cast<double>(tma::boxes_of_repeat) / s.ilp;
  const double bytes = static_cast<double>(s.threads) / warp_threads * s.ilp * s.access_bytes;
  repeat.step.block_bus_bytes = bytes / (s.rung == tma::multicast ? s.cluster : 1);
  repeat.all_bytes_per_s = c.space == Space::l2 ? m.l2_bytes_per_s : m.bus_bytes_per_s;
  return repeat;
}

std::uint32_t multicasts_at_once(const std::string& device, std::uint32_t size) {
  const Multiprocessors m = multiprocessors_of(spec_of(device));
  return size <= m.cluster_blocks ? (m.sms - m.idle_sms) / size : 0;
}

const Simulated tma_probe({{.name = "tma",
                            .need = Need::bulk,
                            .repeat = tma_repeat,
                            .shapes = [](const ProbeCase& c,
                                         const Layout& l) { return tma::shapes(c, l, multicasts_at_once); },
                            .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
                              if (c.operation == Operation::chase) return {not_measured, "none: a latency has no peak"};
                              if (c.space == Space::l2)
                                return {not_measured, "none: of a multicast L2 sends once what arrives many times"};
                              return memory_limit(c, m);
                            }}});

}  // namespace
}  // namespace npgpu::simulated
