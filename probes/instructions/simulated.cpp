// Instructions of simulated devices: each class has so many lanes of an SM, and a latency.
#include "probes/simulated.hpp"

#include "probes/instructions/shapes.hpp"

namespace npgpu::simulated {

namespace {

const Multiprocessors::Instructions& class_of_instruction(const ProbeCase& c, const Multiprocessors& m) {
  switch (c.operation) {
    case Operation::add: return c.type == DataType::fp64 ? m.fp64 : m.int64_add;
    case Operation::mul: return c.type == DataType::fp64 ? m.fp64 : m.int64_mul;
    case Operation::via_fp64: return m.convert_fp64;
    case Operation::via_fp16: return m.convert_fp16;
    case Operation::via_int32: return m.convert;
    case Operation::popc: return m.popc;
    case Operation::shuffle: return m.shuffle;
    case Operation::dpx: return m.dpx;
    default: return m.special;
  }
}

Repeat instructions_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const auto& its = class_of_instruction(c, m);
  repeat.work = instructions::work(c, s);
  repeat.steps = static_cast<double>(instructions::steps_of_repeat) * instructions::of_step(c);
  repeat.step.latency_cycles = its.latency_cycles;
  // In the terms of multiprocessors.hpp a lane's instruction is a byte on the way of the SM.
  repeat.step.block_bytes = static_cast<double>(s.threads) * s.ilp;
  repeat.sm_bytes_per_cycle = its.lanes;
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

const Simulated instructions_probe({{.name = "instructions",
                                     .need = Need::instructions,
                                     .repeat = instructions_repeat,
                                     .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
                                       return {class_of_instruction(c, m).lanes * m.sms * m.max_clock_hz,
                                               "the spec: lanes of the class * SMs * clock"};
                                     }}});

}  // namespace
}  // namespace npgpu::simulated
