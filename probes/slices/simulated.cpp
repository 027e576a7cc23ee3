// L2 in partitions, of simulated devices. Multiprocessors belong to them in turn. A line's address, in blocks of the
// hash, is written in digits of as many values as there are partitions; the digits' sum says which one has it. A load
// finds a copy in the near one; an atomic goes to where the line lives.
#include "probes/simulated.hpp"

#include "probes/slices/shapes.hpp"

namespace npgpu::simulated {

namespace {

std::uint64_t partition_of(std::uint64_t offset, const Multiprocessors& m) {
  if (m.l2_partitions < 2) return 0;
  std::uint64_t sum = 0;
  for (std::uint64_t block = offset / m.l2_hash_bytes; block; block /= m.l2_partitions) sum += block % m.l2_partitions;
  return sum % m.l2_partitions;
}

Repeat slices_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.work = repeat.steps = slices::loads_of_repeat;
  const bool far = partition_of(s.offset_bytes, m) != (s.sm - 1) % m.l2_partitions;
  repeat.step.latency_cycles = m.l2_latency_cycles;
  if (c.operation == Operation::rmw && far) repeat.step.latency_cycles += m.l2_far_cycles;
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

const Simulated slices_probe({{.name = "slices",
                               .summary = "lines of L2 on simulated devices; no measurement",
                               .need = Need::slices,
                               .repeat = slices_repeat,
                               .cases = [](const std::string& device) { return slices::cases(device); },
                               .shapes = [](const ProbeCase& c, const Layout& l) { return slices::shapes(c, l); },
                               .refuses = [](const ProbeCase&, const Shape& s) { return slices::refuses(s); },
                               .limit = [](const ProbeCase&, const Multiprocessors&) -> Limit {
                                 return {not_measured, "none: a latency has no peak"};
                               }}});

}  // namespace
}  // namespace npgpu::simulated
