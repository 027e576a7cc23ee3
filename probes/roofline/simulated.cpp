// A repeat takes the longer of two times: of reads at the memory's rate, and of operations at the rate of lanes or
// tensor cores. So the ridge is where the two rates of the spec meet.
#include "probes/simulated.hpp"

#include "netpipe/devices/simulated/library.hpp"
#include "probes/roofline/shapes.hpp"

namespace npgpu::simulated {

namespace {

bool is_product(const ProbeCase& c) { return c.operation == Operation::mma; }

// A step is that of roofline/shapes.hpp. Of a product a multiply-add is a byte on the way of the SM, as in
// tensor/simulated.cpp.
Repeat roofline_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.steps = roofline::steps_of_repeat;
  repeat.work = roofline::work(s);
  repeat.step.block_bus_bytes = static_cast<double>(roofline::step_bytes) * s.threads;
  repeat.all_bytes_per_s = m.bus_bytes_per_s * m.memory_read_share;
  if (is_product(c)) {
    repeat.step.block_bytes = repeat.work / operations_of_an_fma / repeat.steps / s.blocks;
    repeat.sm_bytes_per_cycle = m.mma_share * m.tensor_fp16;
  } else {
    repeat.step.instructions = roofline::operations_of_step(c, s);
    repeat.sm_bytes_per_cycle = no_limit;
  }
  return repeat;
}

const Simulated roofline_probe({{.name = "roofline",
                                 .summary = "operations on what is read on simulated devices; no measurement",
                                 .need = Need::memory,
                                 .repeat = roofline_repeat,
                                 .cases =
                                     [](const std::string& device) {
                                       auto all = roofline::cases(device);
                                       const bool no_tensor = why_no_kernels(spec_of(device), Need::tensor).has_value();
                                       std::erase_if(all, [&](const ProbeCase& c) {
                                         return c.type == DataType::fp64 ||
                                                (is_product(c) && no_tensor);  // lanes have one rate
                                       });
                                       return all;
                                     },
                                 .shapes = [](const ProbeCase& c, const Layout& l) { return roofline::shapes(c, l); },
                                 .refuses = roofline::refuses,
                                 .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
                                   if (!is_product(c)) return fma_limit(c, m);
                                   return {operations_of_an_fma * m.mma_share * m.tensor_fp16 * m.sms * m.max_clock_hz,
                                           "the spec: 2 * multiply-adds a cycle by mma * SMs * clock"};
                                 }}});

}  // namespace
}  // namespace npgpu::simulated
