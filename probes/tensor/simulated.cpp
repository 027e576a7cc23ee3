// Tensor cores of simulated devices: each scheduler has one, so that few warps keep few of them busy, and a chain's
// products wait for each other.
#include "probes/simulated.hpp"

#include "probes/tensor/tiles.hpp"

namespace npgpu::simulated {

namespace {

double tensor_rate(const ProbeCase& c, const Multiprocessors& m) {
  const double share = c.operation == Operation::mma && c.type != DataType::fp64 ? m.mma_share : 1;
  switch (c.type) {
    case DataType::tf32: return share * m.tensor_tf32;
    case DataType::fp8: return share * m.tensor_fp8;
    case DataType::int8: return share * m.tensor_int8;
    case DataType::fp64: return share * m.tensor_fp64;
    default: return share * m.tensor_fp16;
  }
}

// A step is one product of each chain. In the terms of multiprocessors.hpp a multiply-add is a byte on the way of the
// SM, whose rate is that of its tensor cores.
Repeat tensor_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  const bool is_wgmma = c.operation == Operation::wgmma;
  Repeat repeat;
  repeat.steps = 2.0 * tensor::pairs_of(c.operation);
  repeat.work = tensor::work(c, s);
  const double warps = std::max(1.0, s.threads / double{warp_threads});
  const double busy = std::min(1.0, warps / m.schedulers);
  repeat.step.latency_cycles = is_wgmma ? 0 : m.tensor_latency_cycles;  // wgmma's products are queued
  repeat.step.instructions = s.ilp;
  repeat.step.block_bytes = repeat.work / 2 / repeat.steps / s.blocks / busy;
  repeat.sm_bytes_per_cycle = tensor_rate(c, m);
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

const Simulated tensor_probe(
    {{.name = "tensor",
      .need = Need::tensor,
      .repeat = tensor_repeat,
      .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
        ProbeCase full = c;
        full.operation = Operation::wgmma;
        return {2 * tensor_rate(full, m) * m.sms * m.max_clock_hz, "the spec: 2 * multiply-adds a cycle * SMs * clock"};
      }}});

}  // namespace
}  // namespace npgpu::simulated
