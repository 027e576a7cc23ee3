// Collectives of all GPUs by this process: one thread launches each operation on all of them, in a group.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "netpipe/collectives/nccl_rank.hpp"
#include "npgpu/clock.hpp"

namespace npgpu::nccl {

class ProcessRunner final : public Runner<Collectives> {
 public:
  // `patience`: with an operation or a trial, of which the longest takes a second or two. Throws Error.
  explicit ProcessRunner(std::span<const Step<Collectives>>, Seconds patience = Seconds{60});

  void prepare(const Step<Collectives>&) override;
  bool run(std::uint64_t repeats, std::vector<CollectiveSample>&) override;
  std::optional<std::string> check(std::span<CollectiveSample> last_trial) override;
  std::uint64_t max_repeats() const override;
  double work() const override { return static_cast<double>(step_.axes.bytes); }
  std::uint64_t bytes() const override { return step_.axes.bytes; }
  void warm_up(Seconds) override;
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return ranks_.front()->gpu().telemetry(); }
  std::string binding() const override { return ranks_.front()->gpu().binding(); }

  Rank& rank(std::size_t number) { return *ranks_.at(number); }

 private:
  void join();
  void once();    // an operation of all GPUs is enqueued
  void settle();  // Throws Error, and ends what hangs, where an operation failed or takes too long
  void abort();

  std::vector<std::unique_ptr<Rank>> ranks_;
  Seconds patience_;
  Step<Collectives> step_;
  std::uint64_t seed_ = 0;
  bool has_joined_ = false;
};

// Calls `what` in a thread of its own. Throws Error(failed) where it does not come back in time; the thread is left
// alone then, and `what` must own all that it uses. REQUIRES: no exception leaves it.
void within(Seconds patience, const char* named, std::function<void()> what);

}  // namespace npgpu::nccl
