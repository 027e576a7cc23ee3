// How long predictions take to be evaluated, over the number of workloads: the time of one is to stay the same.
#include <chrono>
#include <cstdio>

#include "npgpu/predict.hpp"
#include "tests/made_chunks.hpp"

using namespace npgpu;

int main() {
  MeasuredCosts costs;
  costs.usable = true;
  costs.costs.copy_h2d = costs.costs.copy_d2h = Curve::line(Seconds{1e-6}, Seconds{1 / 55e9});
  std::printf("%9s %10s %12s\n", "workloads", "seconds", "us each");
  for (const std::uint32_t count : {200u, 400u, 800u, 1600u, 3200u}) {
    Draw draw(count);
    std::vector<MeasuredWorkload> workloads(count);
    for (MeasuredWorkload& w : workloads) {
      const auto bytes = static_cast<std::uint64_t>(draw.between(1e6, 5e8));
      w.job = {.bytes_in = bytes, .bytes_out = bytes, .kernel_bytes = bytes, .iterations = 1};
      const double us = static_cast<double>(bytes) / 20e3;
      for (const std::uint32_t n : {1u, 2u, 4u, 8u, 16u}) {
        w.streams.push_back(n);
        w.time_us.push_back({us * draw.between(0.95, 1.05) * (2 + n) / (3 * n), not_measured, not_measured, "us", ""});
      }
    }
    const auto start = std::chrono::steady_clock::now();
    evaluate(workloads, costs);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%9u %10.3f %12.1f\n", count, seconds, 1e6 * seconds / count);
  }
}
