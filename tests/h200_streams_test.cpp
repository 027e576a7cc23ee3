// One H200's streams, measured once, against the simulator fed with its spec: nothing is fitted to these times.
//
// 15 Mi ints each way, 7680 blocks of which 528 fit (4 on each of 132 SMs), breadth-first, streams created beforehand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "npgpu/module.hpp"
#include "npgpu/simulate.hpp"

namespace h200_streams_test {

using namespace npgpu;

namespace {

constexpr std::uint32_t streams[] = {1, 2, 4, 8, 16, 32};
struct Row {
  double kernel_ms;
  double total_ms[6];
};
// With 64 streams on 32 hardware queues it took 1.809, 2.093, 2.421 and 4.330 ms. Neither rule for queues gives all
// four, so those are left out.
constexpr Row measured[] = {{0.055, {2.331, 1.792, 1.543, 1.426, 1.401, 1.492}},
                            {1.017, {3.302, 2.236, 1.755, 1.540, 1.458, 1.509}},
                            {2.088, {4.371, 3.227, 2.656, 2.389, 2.246, 2.179}},
                            {4.186, {6.470, 5.327, 4.779, 4.496, 4.354, 4.300}}};

StreamCosts h200() {
  StreamCosts costs = simulated_costs(devices::find("sim:h200"), Memory::pinned);
  costs.stream_create = Seconds{0};
  return costs;
}

std::vector<double> errors(const StreamCosts& costs) {
  std::vector<double> all;
  for (const Row& row : measured)
    for (std::size_t i = 0; i < std::size(streams); ++i) {
      const Job job{.in_bytes = 60 * MiB,
                    .out_bytes = 60 * MiB,
                    .kernel = Seconds{row.kernel_ms * 1e-3},
                    .blocks = 7680,
                    .slots = 528};
      const double ms = simulate_total(job, streams[i], costs, Order::breadth_first).total.count() * 1e3;
      all.push_back(std::abs(ms / row.total_ms[i] - 1));
    }
  std::sort(all.begin(), all.end());
  return all;
}

double median(const std::vector<double>& sorted) {
  return (sorted[sorted.size() / 2 - 1] + sorted[sorted.size() / 2]) / 2;
}

}  // namespace

TEST_CASE("H200: kernels in slots come closest, serial ones are far off") {
  StreamCosts costs = h200();
  CHECK(costs.queues.kernel == 32);
  costs.compute = Compute::slots;
  CHECK(median(errors(costs)) < 0.005);
  CHECK(errors(costs).back() < 0.08);  // short kernels in many streams, where the spec's gaps, which are assumed, count
  costs.compute = Compute::shared;
  CHECK(median(errors(costs)) < 0.02);
  costs.compute = Compute::serial;
  CHECK(errors(costs).back() > 0.5);
}

}  // namespace h200_streams_test
