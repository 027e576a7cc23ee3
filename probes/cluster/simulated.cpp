// Clusters of simulated devices: a load from another block waits one latency whichever block it is, and each SM reads
// and writes others' memory at one rate, whatever the cluster; a block's own memory has the rate of its banks.
#include "probes/simulated.hpp"

#include <fmt/format.h>

#include "netpipe/devices/simulated/library.hpp"
#include "probes/cluster/shapes.hpp"

namespace npgpu::simulated {

namespace {

std::uint32_t clusters_at_once(const std::string& device, std::uint32_t size) {
  const Multiprocessors m = multiprocessors_of(spec_of(device));
  return size <= m.cluster_blocks ? (m.sms - m.idle_sms) / size : 0;
}

double cluster_rate(const Multiprocessors& m, bool own) {
  return own ? static_cast<double>(m.shared_banks) * m.bank_bytes : m.cluster_bytes_per_cycle;
}

Repeat cluster_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.work = cluster::work(c, s);
  repeat.step.latency_cycles = s.stride ? m.cluster_latency_cycles : m.shared_latency_cycles;
  repeat.all_bytes_per_s = no_limit;
  if (c.operation == Operation::chase) {
    repeat.steps = static_cast<double>(cluster::loads_of_repeat);
    return repeat;
  }
  repeat.steps = static_cast<double>(cluster::steps_of_repeat);
  repeat.step.block_bytes = static_cast<double>(s.threads) * s.ilp * s.access_bytes;
  repeat.sm_bytes_per_cycle = cluster_rate(m, s.stride == 0);
  return repeat;
}

const Simulated cluster_probe({{.name = "cluster",
                                .need = Need::cluster,
                                .repeat = cluster_repeat,
                                .shapes = [](const ProbeCase& c,
                                             const Layout&) { return cluster::shapes(c, clusters_at_once); },
                                .refuses = [](const ProbeCase& c, const Shape& s) -> std::optional<std::string> {
                                  if (clusters_at_once(c.device, s.cluster) > 0) return std::nullopt;
                                  return fmt::format("{} runs no clusters of {} blocks", c.device, s.cluster);
                                },
                                .limit = [](const ProbeCase&, const Multiprocessors&) -> Limit {
                                  return {not_measured, "none: the spec gives the rate itself"};
                                }}});

}  // namespace
}  // namespace npgpu::simulated
