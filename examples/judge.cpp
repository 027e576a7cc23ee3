// Reads a trace and judges its GPUs, as npgpu check --trace does: npgpu_example_judge TRACE
#include <cstdio>

#include "npgpu/judge/health.hpp"
#include "npgpu/vocabulary/trace.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s TRACE\n", argv[0]), 2;
  const npgpu::Trace trace = npgpu::read_trace(argv[1]);
  for (const npgpu::HealthFinding& finding : npgpu::health_of(trace, npgpu::HealthRules{})) {
    const auto word = npgpu::name(finding.health);
    std::printf("%.*s  %s %s: %s\n", static_cast<int>(word.size()), word.data(), finding.device.c_str(),
                finding.metric.c_str(), finding.text.c_str());
  }
}
