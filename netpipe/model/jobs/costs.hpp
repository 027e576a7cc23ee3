// What a device charges for streams, from its micro-measurements one after the other: the parts of stream_costs().
#pragma once

#include <string>

#include "netpipe/model/jobs/job_points.hpp"
#include "npgpu/model/predict.hpp"

namespace npgpu::model {

// What was reported of the device, from the trace's provenance, and how the run was set up; NaN where nothing was.
struct StreamFacts {
  double copy_engines = not_measured;
  double max_connections = not_measured;  // CUDA_DEVICE_MAX_CONNECTIONS, or a simulated device's hardware queues
  std::string max_connections_source;
};
StreamFacts stream_facts(const Provenance&, const JobSeries& first, MeasuredCosts& into);

// From this size on a call of a copy to the device takes as long as any larger one's.
inline constexpr std::uint64_t usual_call_bytes = 64 * KiB;

// Chunks of 1 MiB, copied in and out in a stream each, with a kernel of one block between, as the host issues them.
bool copied_in_and_out(const JobCase&, const JobShape&);

class CostMeasuring {
 public:
  CostMeasuring(const JobPoints& points, const StreamFacts& facts, MeasuredCosts& result)
      : points_(points), facts_(facts), out_(result) {}
  void measure();

 private:
  // costs.cpp: each operation by itself
  std::array<Estimate, 3> calls_of(std::uint64_t bytes) const;  // h2d, kernel, d2h
  void calls();
  void spread_of_calls();
  void add_larger_calls(std::array<std::vector<Curve::Point>, 3>&) const;
  void streams();
  std::vector<JobResult> back_to_back(bool in) const;
  void copies(bool in);
  void large_copies(bool in);
  void gate();
  void latencies();
  void kernels();
  // costs_together.cpp: what operations do to each other, by turning the simulator round
  struct Beside {
    JobShape shape;
    Estimate time;  // us
  };
  std::vector<Beside> large_copies_beside() const;
  std::array<double, 2> slow_downs(const std::vector<Beside>&, const std::vector<double>& us) const;
  void both_directions();
  Estimate gap_by_slope(const JobPoints::Wanted&, Seconds StreamCosts::*gap, std::string method);
  void duplex_extra_gap();
  void way_to_device();
  std::vector<JobResult> small_chunks() const;
  void gap_ahead_of_kernel();
  void gap_behind_kernel();
  std::uint32_t queues_of(Stage, Cost);
  // costs_waiting.cpp: what waits for what in other streams
  std::optional<std::size_t> nearest_rule(Cost, Order, std::uint64_t bytes_in, const std::vector<StreamCosts>& rules,
                                          const std::string& method, const std::string& meaning);
  void waits_for_other_streams();
  // costs_kernels.cpp: how kernels go in parts, and at the same time
  void blocks();
  void kernel_times();
  void compute();
  double error_of_cut_kernels(Workload) const;

  // Adds a parameter. Times below 0, which are scatter, become 0, and the note says so.
  CostParameter& add(Cost, Estimate, std::string meaning);
  void miss(const std::string& what);
  // The costs so far, but for those of the host's calls: what a job behind the gate takes.
  StreamCosts costs_behind_gate() const;
  // Such a job, in us, as the simulator has it with these costs, or with those so far.
  double simulated_us(const StreamCosts&, const JobShape&, Order, double kernel_us = 0,
                      Workload sort = Workload::none) const;
  double simulated_us(const JobShape& shape, Order order, double kernel_us = 0, Workload sort = Workload::none) const {
    return simulated_us(costs_behind_gate(), shape, order, kernel_us, sort);
  }
  double kernel_us(Workload, const JobShape&) const;  // of the unsplit kernel alone; NaN if it was not measured
  Job job(const JobShape&, double kernel_us, Workload sort = Workload::none) const;

  const JobPoints& points_;
  const StreamFacts& facts_;
  MeasuredCosts& out_;
  double gate_us_ = 0;                     // what the gate's events see in addition to a copy
  double empty_kernel_us_ = not_measured;  // gated, of one block that comes and goes
};

}  // namespace npgpu::model
