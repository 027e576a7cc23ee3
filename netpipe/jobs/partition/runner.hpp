// What the runners of the partition method share, whatever the device.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "netpipe/jobs/partition/rows.hpp"
#include "npgpu/partition.hpp"

namespace npgpu::partition {

class PartitionRunner : public Runner<Partitions> {
 public:
  // The backend must outlive it.
  explicit PartitionRunner(const Backend<Partitions>& backend) : backend_(backend) {}
  void prepare(const PartitionStep&) final;
  bool run(std::uint64_t repeats, std::vector<PartitionSample>& samples) final;
  std::optional<std::string> check(std::span<PartitionSample> last_trial) final;
  std::uint64_t max_repeats() const final { return 1; }
  std::uint64_t bytes() const final;  // that are copied
  const Clock& clock() const override { return steady_clock(); }

 protected:
  // Everything for runs of question() and shape(), which were just set.
  virtual void set_up() = 0;
  // One run and its times; nothing if its gate timed out.
  virtual std::optional<PartitionSample> launch() = 0;
  // Of the solution that the last launch left: its residual, and one sentence if it is wrong.
  virtual std::optional<std::string> wrong_result(double& residual) = 0;
  const PartitionCase& question() const { return step_.question; }
  const PartitionShape& shape() const { return step_.axes; }

 private:
  const Backend<Partitions>& backend_;
  PartitionStep step_;
  bool prepared_ = false, ran_ = false;
};

// One address for each of partition_buffers.
using Addresses = std::array<std::byte*, partition_buffers.size()>;
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
