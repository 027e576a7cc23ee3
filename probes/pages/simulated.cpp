// Pages of simulated devices: a load takes L2's latency, and beyond the reach of the table of recent pages a miss more.
#include "probes/simulated.hpp"

#include "probes/pages/shapes.hpp"

namespace npgpu::simulated {

namespace {

Repeat pages_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.work = repeat.steps = static_cast<double>(pages::loads_of_repeat);
  repeat.step.latency_cycles =
      m.l2_latency_cycles + (static_cast<double>(s.bytes) > m.tlb_bytes ? m.tlb_miss_cycles : 0);
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

const Simulated pages_probe({{.name = "pages",
                              .summary = "loads from other pages on simulated devices; no measurement",
                              .need = Need::pages,
                              .repeat = pages_repeat,
                              .cases = [](const std::string& device) { return std::vector{pages::only_case(device)}; },
                              .shapes = [](const ProbeCase&, const Layout& l) { return pages::shapes(l); },
                              .refuses = [](const ProbeCase&, const Shape& s) { return pages::refuses(s); },
                              .limit = [](const ProbeCase&, const Multiprocessors&) -> Limit {
                                return {not_measured, "none: a latency has no peak"};
                              }}});

}  // namespace
}  // namespace npgpu::simulated
