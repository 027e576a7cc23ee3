// Collectives of all GPUs by this process: one thread launches each operation on all of them, in a group.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/collectives/nccl_choice.hpp"
#include "netpipe/collectives/nccl_rank.hpp"
#include "npgpu/clock.hpp"

namespace npgpu::nccl {

class NcclRunner final : public Runner<Collectives> {
 public:
  // `patience`: with an operation or a trial, of which the longest takes a second or two. Throws Error.
  explicit NcclRunner(std::span<const Step<Collectives>>, Seconds patience = Seconds{60});

  // Operands are written, and the operation is done: its kernels are loaded, the GPUs connected, and graphs made.
  void prepare(const Step<Collectives>&) override;
  bool run(std::uint64_t repeats, std::vector<CollectiveSample>&) override;
  // In place, each operation's sums were the next one's operands: it is done once more.
  std::optional<std::string> check(std::span<CollectiveSample> last_trial) override;
  std::uint64_t max_repeats() const override { return is_gated() ? fits_behind_gate : 0; }
  double work() const override { return static_cast<double>(step_.axes.bytes); }
  std::uint64_t bytes() const override { return step_.axes.bytes; }
  void warm_up(Seconds) override;
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return ranks_.front()->gpu().telemetry(); }
  std::string binding() const override { return ranks_.front()->gpu().binding(); }

  Rank& rank(std::size_t number) { return *ranks_.at(number); }

 private:
  bool is_gated() const { return step_.question.timing == Timing::gated; }
  void join();
  void anew();                      // operands are written, and the operation is done once
  void issue(std::uint64_t times);  // operations are enqueued as the step says
  void once();                      // an operation is enqueued on each GPU
  void make_graphs();
  // Throws Error, and ends what hangs, where an operation failed or takes too long.
  void settle();
  void abort();

  Seconds patience_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  bool has_joined_ = false, has_graphs_ = false;
  Step<Collectives> step_;
  std::uint64_t seed_ = 0;
  Choice choice_;
};

}  // namespace npgpu::nccl
