#include "netpipe/collectives/nccl_runner.hpp"

#include "netpipe/collectives/gpu_part.hpp"
#include "npgpu/error.hpp"

namespace npgpu::nccl {

std::uint64_t largest(std::span<const Step<Collectives>> steps) {
  std::uint64_t most = 0;
  for (const auto& step : steps) most = std::max(most, step.axes.bytes);
  return most;
}

ProcessRunner::ProcessRunner(std::span<const Step<Collectives>> steps, Seconds patience) : group_(patience) {
  const auto gpus = devices_of(steps.front().question);
  for (std::uint32_t i = 0; i < gpus.size(); ++i)
    group_.ranks.push_back(std::make_unique<Rank>(gpus[i], i, static_cast<std::uint32_t>(gpus.size()), largest(steps),
                                                  steps.front().question.buffers, i == 0));
  join();
}

void ProcessRunner::join() {
  struct Joined {
    std::vector<Communicator> own;
    std::vector<int> ordinals;
    int result = success;
  };
  const auto joined = std::make_shared<Joined>();
  for (const auto& rank : group_.ranks) joined->ordinals.push_back(rank->gpu().ordinal());
  joined->own.resize(joined->ordinals.size());
  within(patience_joining, "joining the GPUs", [joined] {
    joined->result =
        library().init_all(joined->own.data(), static_cast<int>(joined->own.size()), joined->ordinals.data());
  });
  nccl::check(joined->result, "joining the GPUs");
  for (std::size_t i = 0; i < group_.ranks.size(); ++i) group_.ranks[i]->join(joined->own[i]);
  group_.register_buffers();
  group_.has_joined = true;
}

void ProcessRunner::prepare(const Step<Collectives>& step) {
  if (!group_.has_joined) join();
  step_ = step;
  seed_ += 0xD1B54A32D192ED03;
  group_.prepare(step, seed_);
}

std::uint64_t ProcessRunner::max_repeats() const {
  return step_.question.timing == Timing::gated ? fits_behind_gate : 0;
}

bool ProcessRunner::run(std::uint64_t repeats, std::vector<CollectiveSample>& samples) {
  const Group::Trial trial = group_.run(repeats);
  for (std::uint32_t lane = 0; lane < trial.device.size(); ++lane) {
    samples.push_back(group_.sample_of(trial, lane, repeats));
    samples.back().lane = lane;
  }
  return trial.is_valid();
}

void ProcessRunner::warm_up(Seconds duration) {
  const Seconds begin = clock().now();
  while (clock().now() - begin < duration) {
    group_.once();
    group_.settle();
  }
}

std::optional<std::string> ProcessRunner::check(std::span<CollectiveSample> last_trial) {
  return collectives::verdict_of(step_, group_.check(), last_trial);
}

}  // namespace npgpu::nccl
