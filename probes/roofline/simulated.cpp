// A repeat takes the longest of three times: of reads at the rate of memory, L2 or shared memory, and of operations at
// that of the type's lanes or of tensor cores. So a ridge is where two rates of the spec meet.
#include "probes/simulated.hpp"

#include <algorithm>

#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/roofline/shapes.hpp"

namespace npgpu::simulated {

namespace {

bool is_product(const ProbeCase& c) { return c.operation == Operation::mma; }

bool is_known(const ProbeCase& c, const Spec& spec) {
  if (c.space != Space::global && why_no_kernels(spec, Need::onchip)) return false;
  if (c.type == DataType::fp64) return multiprocessors_of(spec).fp64.lanes > 0;
  return !is_product(c) || !why_no_kernels(spec, Need::tensor);
}

// A step is that of roofline/shapes.hpp. Of a product a multiply-add is a byte on the way of the SM, as in
// tensor/simulated.cpp; where shared memory takes longer for the step's bytes, its time stands there.
Repeat roofline_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.steps = roofline::steps_of_repeat(c);
  repeat.work = roofline::work(c, s);
  const double bytes = static_cast<double>(roofline::step_bytes) * s.threads;
  const bool is_shared = c.space == Space::shared;
  repeat.step.block_bus_bytes = is_shared ? 0 : bytes;
  repeat.all_bytes_per_s = c.space == Space::l2 ? beyond_l2(s, m) : m.bus_bytes_per_s * m.memory_read_share;
  repeat.sm_bytes_per_cycle = is_product(c) ? m.mma_share * m.tensor_fp16 : m.shared_banks * double{word_bytes};
  const double shared_cycles = is_shared ? bytes / (m.shared_banks * double{word_bytes}) : 0;
  double product_cycles = 0;
  if (is_product(c))
    product_cycles = repeat.work / operations_of_an_fma / repeat.steps / s.blocks / repeat.sm_bytes_per_cycle;
  else repeat.step.instructions = roofline::operations_of_step(c, s) * issues_of_fma(c, m);
  repeat.step.block_bytes = std::max(shared_cycles, product_cycles) * repeat.sm_bytes_per_cycle;
  return repeat;
}

const Simulated roofline_probe({{.name = "roofline",
                                 .summary = "operations on what is read on simulated devices; no measurement",
                                 .need = Need::memory,
                                 .repeat = roofline_repeat,
                                 .cases =
                                     [](const std::string& device) {
                                       auto all = roofline::cases(device);
                                       const Spec spec = spec_of(device);
                                       std::erase_if(all, [&](const ProbeCase& c) { return !is_known(c, spec); });
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
