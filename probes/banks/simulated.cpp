// Permuted words on simulated devices: a warp's access takes the passes that its fullest bank makes of it.
#include "probes/simulated.hpp"

#include "probes/banks/shapes.hpp"

namespace npgpu::simulated {

namespace {

Repeat banks_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat = reads(s);
  repeat.work = banks::work(s);
  repeat.steps = static_cast<double>(banks::steps_of_repeat);
  repeat.sm_bytes_per_cycle = static_cast<double>(m.shared_banks) * m.bank_bytes;
  repeat.step.block_bytes = static_cast<double>(banks::set_bytes) * banks::mean_passes(s);
  return repeat;
}

const Simulated banks_probe(
    {{.name = "banks",
      .summary = "permuted words of shared memory on simulated devices; no measurement",
      .need = Need::onchip,
      .repeat = banks_repeat,
      .cases = [](const std::string& device) { return std::vector{banks::only_case(device)}; },
      .shapes = [](const ProbeCase&, const Layout& l) { return banks::shapes(l); },
      .refuses = [](const ProbeCase&, const Shape& s) { return banks::refuses(s); },
      .limit = [](const ProbeCase&, const Multiprocessors& m) -> Limit {
        return {m.sms * m.max_clock_hz * m.shared_banks * m.bank_bytes, "the spec: banks * bank_bytes * SMs * clock"};
      }}});

}  // namespace
}  // namespace npgpu::simulated
