// Several unlike jobs, one after the other: while one computes, the next is copied in, and the one before copied out.
// How long all of them take in an order, and in which order they end soonest. Pure functions.
//
// Example:
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");
//   const npgpu::StreamCosts costs = npgpu::simulated_costs(gpu, npgpu::Memory::pinned);
//   const npgpu::Job in{.in_bytes = npgpu::GiB, .out_bytes = npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
//   const npgpu::Job out{.in_bytes = npgpu::MiB, .out_bytes = npgpu::GiB, .kernel = npgpu::Seconds{1e-3}};
//   const std::vector<npgpu::PlannedJob> jobs{{"first", in}, {"second", out}};
//   for (const std::size_t next : npgpu::best_order(jobs, costs).order) std::cout << jobs[next].name << '\n';
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npgpu/simulate.hpp"

namespace npgpu {

// A job with the way in which it is split. Each job has streams of its own, one for each chunk.
struct PlannedJob {
  std::string name;
  Job job;
  std::uint32_t chunks = 1;
  Order order = Order::breadth_first;
};

struct SequenceRun {
  Seconds total{0};           // until the host knows that all have ended
  std::vector<Seconds> ends;  // of each job, in the order in which they were issued
  Busy busy;
};
// The host issues all of a job, then all of the next one, and waits for nothing between. Calls, copy engines, gaps,
// latencies and what both directions do to each other are as in simulate(). Kernels share the device (Compute::shared),
// unless only one runs at a time; there are as many hardware queues as streams. Throws Error(usage) as simulate() does.
SequenceRun simulate_sequence(std::span<const PlannedJob>, const StreamCosts&);

struct SequenceAdvice {
  std::vector<std::size_t> order;  // of the jobs as given
  SequenceRun run;                 // in that order
  SequenceRun given;               // in the order given
  // One after the other, each waited for: what is saved by waiting for nothing is the difference to `given`.
  Seconds apart{0};
  std::size_t tried = 0;  // orders that were simulated
  bool all = false;       // these were all that there are
};
// Up to seven jobs: every order. More: Johnson's rule for three machines (Johnson 1954), insertion by length (Nawaz,
// Enscore & Ham 1983), and from the best of these and the order given moving one job, or swapping two, as long as that
// ends sooner. Throws Error(usage) of no job.
SequenceAdvice best_order(std::span<const PlannedJob>, const StreamCosts&);

}  // namespace npgpu
