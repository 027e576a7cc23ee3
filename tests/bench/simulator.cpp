// How many operations the stream simulator plays per second, on one core. Not a test: it prints, and never fails.
#include "netpipe/simulate/simulator.hpp"

#include <chrono>
#include <cstdio>

using namespace npgpu;

namespace {

Job job() { return {.in_bytes = 1 << 26, .out_bytes = 1 << 26, .kernel = Seconds{1e-3}, .blocks = 7680, .slots = 528}; }

StreamCosts costs(Compute compute, std::uint32_t queues) {
  StreamCosts c;
  const Seconds us{1e-6};
  c.issue = {2 * us, 2.5 * us, 2 * us};
  c.gap = c.latency = {us, us, us};
  c.copy_h2d = c.copy_d2h = Curve::line(Seconds{0}, Seconds{1 / 55e9});
  c.duplex_slowdown_h2d = c.duplex_slowdown_d2h = 1.08;
  c.queues = {queues, queues, queues};
  c.compute = compute;
  return c;
}

void measure(std::uint32_t n, Compute compute, std::uint32_t queues, Order order, bool paces = false) {
  model::Simulator simulator;
  Job j = job();
  if (paces) j.block_time = Curve({{1, Seconds{1e-6}}, {132, Seconds{1e-6}}, {528, Seconds{5e-6}}});
  const StreamCosts c = costs(compute, queues);
  using Clock = std::chrono::steady_clock;
  std::uint64_t operations = 0;
  double check = 0;
  const auto begin = Clock::now();
  std::chrono::duration<double> taken{0};
  while (taken.count() < 0.3) {
    check += simulator.run(j, n, c, order, nullptr).total.count();
    operations += 3ull * n;
    taken = Clock::now() - begin;
  }
  std::printf("%6u streams  %-6s%s  %2u queues  %-13s  %6.2f M operations/s  (%g)\n", n, name(compute).data(),
              paces ? " with paces" : "", queues, name(order).data(),
              static_cast<double>(operations) / taken.count() / 1e6, check);
}

}  // namespace

int main() {
  for (const std::uint32_t n : {8u, 64u, 1000u})
    for (const Compute compute : {Compute::serial, Compute::shared, Compute::slots})
      for (const Order order : {Order::breadth_first, Order::depth_first}) measure(n, compute, n == 64 ? 32 : 0, order);
  measure(64, Compute::slots, 32, Order::breadth_first, true);
}
