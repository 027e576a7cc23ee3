// Collectives by a process for each GPU, as a job has them that an MPI launcher starts. This process asks, and each of
// them calls NCCL for its GPU.
#pragma once

#include <vector>

#include "netpipe/collectives/gpu_part.hpp"
#include "netpipe/collectives/nccl_group.hpp"

namespace npgpu::nccl {

class OneProcess;

class EachGpuRunner final : public Runner<Collectives> {
 public:
  // Throws Error.
  explicit EachGpuRunner(std::span<const Step<Collectives>>, Seconds patience = Seconds{60});
  ~EachGpuRunner() override;

  void prepare(const Step<Collectives>&) override;
  bool run(std::uint64_t repeats, std::vector<CollectiveSample>&) override;
  std::optional<std::string> check(std::span<CollectiveSample> last_trial) override;
  std::uint64_t max_repeats() const override;
  double work() const override { return static_cast<double>(step_.axes.bytes); }
  std::uint64_t bytes() const override { return step_.axes.bytes; }
  void warm_up(Seconds) override;
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return first_.telemetry(); }
  std::string binding() const override { return "each process near its GPU"; }

  long pid(std::size_t gpu) const;

 private:
  void start();
  // Of all processes at once. Throws Error where one of them fails, ends or hangs; then all of them are ended.
  std::vector<collectives::PartReply> ask(const collectives::PartRequest&);

  std::vector<std::string> gpus_;
  std::uint64_t bytes_;
  CollectiveBuffers buffers_;
  Seconds patience_;
  cuda::Gpu first_;
  std::vector<std::unique_ptr<OneProcess>> processes_;
  Step<Collectives> step_;
  std::uint64_t seed_ = 0;
};

}  // namespace npgpu::nccl
