// Every shape of the probes' lists with its rate, and the best of each case. Not a test: it needs a quiet GPU.
//
//   npgpu_bench_probes [PROBE [OPERATION [TYPE [FORM]]]]     only cases that begin so; all by default
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"

using namespace npgpu;

namespace {

struct Rate {
  double per_s = 0;
  double per_cycle = not_measured;  // of the grid, by the slowest block's cycles
};

Rate rate_of(const Measured<Probes>& m) {
  std::vector<double> us, cycles;
  for (const ProbeSample& s : m.samples) {
    us.push_back(s.device_us / static_cast<double>(s.repeats));
    cycles.push_back(s.cycles / static_cast<double>(s.repeats));
  }
  return {m.visit.work / median(us) * 1e6, m.visit.work / median(cycles)};
}

bool wanted(const ProbeCase& c, int argc, char** argv) {
  const std::string words[] = {c.probe, std::string(name(c.operation)), std::string(name(c.type)),
                               std::string(name(c.form))};
  for (int i = 1; i < argc && i <= 4; ++i)
    if (words[i - 1] != argv[i]) return false;
  return true;
}

// Blocks, then threads (Perez & Piccoli 2011).
const char* corner_of(const Shape& s) {
  if (s.blocks == 1) return s.threads == 1 ? "One-One" : "One-All";
  return s.threads == 1 ? "All-One" : "All-All";
}

void bench(const Probe& probe, const ProbeCase& c) {
  const std::vector<Shape> shapes = probe.shapes(c);
  const ProbeContext context = probe.context(c);
  const Layout& layout = context.layout;
  const Limit& limit = context.limit;
  std::printf("\n%s: %zu shapes, limit %.3f T/s (%s)\n", title(c).c_str(), shapes.size(), limit.per_s * 1e-12,
              limit.source.c_str());
  const Seconds begin = steady_clock().now();
  std::vector<ProbeStep> steps;
  for (const Shape& s : shapes) steps.push_back({c, s});
  const auto runner = probe.open(steps);
  const auto schedule = adaptive_schedule({.trial = Seconds{1e-3}, .budget = Seconds{0}});
  struct Best {
    std::string line;
    double per_s = 0;
  };
  Best best[4][2];
  const std::string corners[] = {"One-One", "One-All", "All-One", "All-All"};
  int wrong = 0;
  for (const ProbeStep& step : steps) {
    const Shape& s = step.axes;
    const auto m = measure<Probes>(*runner, *schedule, step, {});
    const Rate rate = rate_of(*m);
    const ProbeSample& last = m->samples.back();
    char line[400];
    std::snprintf(line, sizeof line,
                  "%s %8u x %4u ilp %u acc %2u %8.1f MiB%s %11.4f G/s %9.4f /cycle/unit %6.2f%% units %u most %u "
                  "repeats %llu %.0f MHz %s",
                  corner_of(s), s.blocks, s.threads, s.ilp, s.access_bytes, static_cast<double>(s.bytes) / MiB,
                  s.one_block_per_sm ? " one block per SM" : "", rate.per_s * 1e-9,
                  rate.per_cycle / std::min(s.blocks, layout.units), 100 * rate.per_s / limit.per_s, last.units,
                  last.max_blocks_on_unit, static_cast<unsigned long long>(last.repeats),
                  m->visit.telemetry.sm_clock_mhz, m->mismatch.c_str());
    std::printf("%s\n", line);
    if (!m->mismatch.empty()) ++wrong;
    const bool inside = s.bytes && s.bytes < layout.cache_bytes;
    for (int k = 0; k < 4; ++k)
      if (corners[k] == corner_of(s) && rate.per_s > best[k][inside].per_s) best[k][inside] = {line, rate.per_s};
  }
  const double spent = (steady_clock().now() - begin).count();
  for (const auto& b : best)
    for (const Best& one : b)
      if (!one.line.empty()) std::printf("BEST %s: %s\n", title(c).c_str(), one.line.c_str());
  std::printf("BEST %s: %zu shapes in %.2f s, %d wrong\n", title(c).c_str(), shapes.size(), spent, wrong);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    for (const auto& probe : probes())
      if (probe->device_kind() == "cuda")
        for (const ProbeCase& c : probe->cases("cuda:0"))
          if (wanted(c, argc, argv)) bench(*probe, c);
  } catch (const Error& e) {
    std::fprintf(stderr, "npgpu_bench_probes: %s\n", e.what());
    return exit_code_of(e.kind());
  }
  return 0;
}
