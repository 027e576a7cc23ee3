#include "probes/simulated.hpp"

#include "netpipe/devices/simulated/library.hpp"

namespace npgpu::simulated {

namespace {

constexpr double steps_of_compute = 256;

// A step is one FMA of each chain.
Repeat compute_repeat(const ProbeCase& c, const Shape& shape, const Multiprocessors& m) {
  Repeat repeat;
  repeat.step.latency_cycles = c.type == DataType::fp64 ? m.fp64.latency_cycles : m.fma_latency_cycles;
  repeat.step.instructions = shape.ilp * issues_of_fma(c, m);
  repeat.steps = steps_of_compute;
  repeat.work = operations_of_an_fma * shape.ilp * steps_of_compute * shape.threads * static_cast<double>(shape.blocks);
  return repeat;
}

const Simulated compute_probe({{.name = "compute",
                                .summary = "chains of FMAs on simulated devices; no measurement",
                                .repeat = compute_repeat,
                                .cases =
                                    [](const std::string& device) {
                                      std::vector<ProbeCase> all{{.probe = "compute", .device = device}};
                                      if (multiprocessors_of(spec_of(device)).fp64.lanes > 0)
                                        all.push_back({.probe = "compute", .device = device, .type = DataType::fp64});
                                      return all;
                                    },
                                .shapes = [](const ProbeCase&, const Layout& l) { return compute_shapes(l); },
                                .limit = fma_limit}});

}  // namespace
}  // namespace npgpu::simulated
