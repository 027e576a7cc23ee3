// Collectives of all GPUs by this process: one thread launches each operation on all of them, in a group.
#pragma once

#include <vector>

#include "netpipe/collectives/nccl_group.hpp"

namespace npgpu::nccl {

class ProcessRunner final : public Runner<Collectives> {
 public:
  // `patience`: as Group's. Throws Error.
  explicit ProcessRunner(std::span<const Step<Collectives>>, Seconds patience = Seconds{60});

  void prepare(const Step<Collectives>&) override;
  bool run(std::uint64_t repeats, std::vector<CollectiveSample>&) override;
  std::optional<std::string> check(std::span<CollectiveSample> last_trial) override;
  std::uint64_t max_repeats() const override;
  double work() const override { return static_cast<double>(step_.axes.bytes); }
  std::uint64_t bytes() const override { return step_.axes.bytes; }
  void warm_up(Seconds) override;
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return group_.ranks.front()->gpu().telemetry(); }
  std::string binding() const override { return group_.ranks.front()->gpu().binding(); }

  Rank& rank(std::size_t number) { return *group_.ranks.at(number); }

 private:
  void join();

  Group group_;
  Step<Collectives> step_;
  std::uint64_t seed_ = 0;
};

// The largest size of these.
std::uint64_t largest(std::span<const Step<Collectives>>);

}  // namespace npgpu::nccl
