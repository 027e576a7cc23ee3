// What the runners of the partition method share, whatever the device.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "netpipe/jobs/partition/lapack.hpp"
#include "netpipe/jobs/partition/rows.hpp"
#include "netpipe/jobs/pipeline_runner.hpp"
#include "npgpu/partition.hpp"

namespace npgpu::partition {

// One address for each of partition_buffers.
using Addresses = std::array<std::byte*, partition_buffers.size()>;

class PartitionRunner : public PipelineRunner<Partitions> {
 public:
  using PipelineRunner::PipelineRunner;
  std::optional<std::string> check(std::span<PartitionSample> last_trial) final;
  std::uint64_t bytes() const final;  // that are copied

 protected:
  const PartitionShape& shape() const { return step().axes; }
  // The times of a run: of the whole, of stage 2, and, where it is timed by stages, of the two parts' stages.
  PartitionSample sample_of(Seconds whole, Seconds stage2, std::span<const Stages> parts) const;
  // Stage 2 of this run.
  void solve_interface(const Addresses& host) const;
  // wrong_result() of a solution with this residual.
  std::optional<std::string> wrong_solution(double residual, const std::byte* x, Lapack&);

 private:
  double residual_ = not_measured;
};

// The largest that these steps need, for each of partition_buffers.
std::array<std::uint64_t, partition_buffers.size()> buffer_bytes(std::span<const PartitionStep>);

// A stage of one chunk, ready to be done: a copy between the two sides, or a kernel on the device's.
struct ChunkWork {
  Stage stage = Stage::h2d;
  std::uint32_t chunk = 0, stream = 0;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  bool is_stage3 = false;  // of a kernel; else it is stage 1
  SubSystems systems{};
};
// All work of a part of partition_pipeline(), in the order in which it is issued.
std::vector<ChunkWork> work_of(const PipelinePart&, const PartitionStep&, const Addresses& host,
                               const Addresses& device);

}  // namespace npgpu::partition
