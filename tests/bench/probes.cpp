// What the probes of one device give, shape for shape: rates, and cycles of the units' own clock. Not a test: it needs
// a quiet machine.
//
//   npgpu_bench_probes_host [probe] [device]     default: every probe, host
#include <fmt/format.h>

#include <vector>

#include "npgpu/engine.hpp"
#include "npgpu/error.hpp"
#include "npgpu/probe.hpp"

using namespace npgpu;

namespace {

double median_of(const std::vector<ProbeSample>& samples, double (*value)(const ProbeSample&)) {
  std::vector<double> all;
  for (const ProbeSample& s : samples)
    if (const double v = value(s); v == v) all.push_back(v);
  return all.empty() ? not_measured : median(all);
}

void row(const ProbeCase& question, const MeasuredShape& m) {
  const Shape& s = m.point.shape;
  const double us =
      median_of(m.samples, [](const ProbeSample& p) { return p.host_us / static_cast<double>(p.repeats); });
  const double cycles =
      median_of(m.samples, [](const ProbeSample& p) { return p.cycles / static_cast<double>(p.repeats); });
  std::size_t clocked = 0;
  for (const ProbeSample& p : m.samples) clocked += p.cycles == p.cycles;
  fmt::print("  {:7} {:6} {:4} {:6} {:12}", s.blocks, s.threads, s.ilp, s.access_bytes, s.bytes);
  if (question.operation == Operation::fma) {
    const double steps = m.point.work / 2 / s.blocks / s.threads / s.ilp;  // of a chain
    fmt::print(" {:9.3f} Gop/s {:7.3f} cycles/step {:7.3f} fma/cycle/unit", m.point.work / us * 1e-3, cycles / steps,
               m.point.work / 2 / s.blocks / cycles);
  } else if (question.operation == Operation::chase) {
    fmt::print(" {:9.2f} ns/load {:8.2f} cycles", us * 1e3 / m.point.work, cycles / m.point.work);
  } else {
    fmt::print(" {:9.3f} GB/s {:8.2f} bytes/cycle/unit", m.point.work / us * 1e-3, m.point.work / s.blocks / cycles);
  }
  const ProbeSample& last = m.samples.back();
  fmt::print("  {:6.0f} MHz, clock steady in {} of {} trials, units {}, most {}, {} {:.0f} ms{}\n", cycles / us,
             clocked, m.samples.size(), last.units, last.most_on_unit, name(m.point.stop), m.point.wall_us * 1e-3,
             m.mismatch.empty() ? "" : "  WRONG: " + m.mismatch);
}

void sweep(const Probe& probe, const ProbeCase& question) {
  const Layout l = probe.layout(question);
  const Peak peak = probe.peak(question);
  fmt::print("{}\n  {} units, {} lanes, caches {} and {} bytes, {:.0f} MHz; peak {:.2f} G/s: {}\n", title(question),
             l.units, l.lanes, l.near_cache_bytes, l.cache_bytes, l.clock_mhz, peak.per_s * 1e-9, peak.source);
  const auto kernel = probe.open(question, l.memory_bytes / 2);
  const auto schedule = adaptive_schedule();
  fmt::print("  {:>7} {:>6} {:>4} {:>6} {:>12}\n", "blocks", "lanes", "ilp", "access", "bytes");
  for (const Shape& shape : probe.shapes(question)) {
    if (const auto measured = measure_shape(*kernel, *schedule, shape, {})) row(question, *measured);
  }
  fmt::print("  {}\n", kernel->binding());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string wanted = argc > 1 ? argv[1] : "", id = argc > 2 ? argv[2] : "host";
  for (const auto& probe : probes()) {
    if (!id.starts_with(probe->kind()) || (!wanted.empty() && probe->name() != wanted)) continue;
    for (const ProbeCase& question : probe->cases(id)) {
      if (const auto why = probe->refuses(question)) {
        fmt::print("{}: {}\n", title(question), *why);
        continue;
      }
      sweep(*probe, question);
    }
  }
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return exit_code_of(error.kind());
}
