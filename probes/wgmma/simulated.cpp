// Warp groups of simulated devices: a product keeps all tensor cores of an SM for its multiply-adds; where it is waited
// for, the spec's latency comes on top. A sparse one does twice the operations in the same time.
#include "probes/simulated.hpp"

#include "probes/wgmma/shapes.hpp"

namespace npgpu::simulated {

namespace {

double group_fmas_per_cycle(const ProbeCase& c, const Multiprocessors& m) {
  const double dense = c.type == DataType::tf32   ? m.tensor_tf32
                       : c.type == DataType::fp8  ? m.tensor_fp8
                       : c.type == DataType::int8 ? m.tensor_int8
                                                  : m.tensor_fp16;
  return dense * (c.operation == Operation::wgmma_sparse ? 2 : 1);
}

Repeat wgmma_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.work = wgmma::work(c, s);
  repeat.steps = wgmma::products;
  repeat.all_bytes_per_s = no_limit;
  const double fmas = wgmma::operations_of_product(c, s) / 2, rate = group_fmas_per_cycle(c, m);
  // In the terms of multiprocessors.hpp a multiply-add is a byte on the way of the SM.
  repeat.step.block_bytes = fmas * s.threads / wgmma::group_threads;
  repeat.sm_bytes_per_cycle = rate;
  if (c.form == Form::dependent) repeat.step.latency_cycles = fmas / rate + m.wgmma_latency_cycles;
  return repeat;
}

const Simulated wgmma_probe({{.name = "wgmma",
                              .need = Need::wgmma,
                              .repeat = wgmma_repeat,
                              .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
                                return {2 * group_fmas_per_cycle(c, m) * m.sms * m.max_clock_hz,
                                        "the spec: 2 * multiply-adds a cycle * SMs * clock, of sparse products twice"};
                              }}});

}  // namespace
}  // namespace npgpu::simulated
