// What the runners of jobs of one part share: kernels whose time is given as a ratio get their iterations.
#pragma once

#include <map>

#include "netpipe/jobs/pipeline_runner.hpp"
#include "npgpu/job.hpp"

namespace npgpu {

class JobRunner : public PipelineRunner<Jobs> {
 public:
  using PipelineRunner::PipelineRunner;
  void prepare(const JobStep&) final;
  std::uint64_t bytes() const final { return job().bytes_in + job().bytes_out + job().kernel_bytes; }
  // The iterations are the same for all splits of a workload, whichever way they are issued, and those that the trace
  // already holds.
  JobStep settled(const JobStep&, std::span<const JobShape> known) final;

 protected:
  const JobShape& job() const { return step().axes; }

 private:
  double median_us(const JobStep&);
  std::uint64_t iterations_for(const JobStep& unsplit, double ratio);

  std::map<JobStep, std::uint64_t> iterations_;  // of unsplit workloads
};

}  // namespace npgpu
