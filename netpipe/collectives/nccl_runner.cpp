#include "netpipe/collectives/nccl_runner.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "npgpu/error.hpp"

namespace npgpu::nccl {

namespace {

constexpr Seconds patience_joining{120};

std::uint64_t largest(std::span<const Step<Collectives>> steps) {
  std::uint64_t most = 0;
  for (const auto& step : steps) most = std::max(most, step.axes.bytes);
  return most;
}

}  // namespace

void within(Seconds how_long, const char* named, std::function<void()> what) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
  };
  const auto state = std::make_shared<State>();
  std::thread([state, what = std::move(what)] {
    what();
    const std::lock_guard lock(state->mutex);
    state->is_done = true;
    state->changed.notify_all();
  }).detach();
  std::unique_lock lock(state->mutex);
  if (!state->changed.wait_for(lock, std::chrono::duration<double>(how_long.count()), [&] { return state->is_done; }))
    throw Error(ErrorKind::failed, fmt::format("NCCL: {} hangs: it did not end within {:.0f} s; NCCL_DEBUG=INFO shows "
                                               "what it waits for",
                                               named, how_long.count()));
}

ProcessRunner::ProcessRunner(std::span<const Step<Collectives>> steps, Seconds patience) : patience_(patience) {
  const auto gpus = devices_of(steps.front().question);
  for (std::uint32_t i = 0; i < gpus.size(); ++i)
    ranks_.push_back(
        std::make_unique<Rank>(gpus[i], i, static_cast<std::uint32_t>(gpus.size()), largest(steps), i == 0));
  join();
}

void ProcessRunner::join() {
  struct Joined {
    std::vector<Communicator> own;
    std::vector<int> ordinals;
    int result = success;
  };
  const auto joined = std::make_shared<Joined>();
  for (const auto& rank : ranks_) joined->ordinals.push_back(rank->gpu().ordinal());
  joined->own.resize(ranks_.size());
  within(patience_joining, "joining the GPUs", [joined] {
    joined->result =
        library().init_all(joined->own.data(), static_cast<int>(joined->own.size()), joined->ordinals.data());
  });
  nccl::check(joined->result, "joining the GPUs");
  for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i]->join(joined->own[i]);
  has_joined_ = true;
}

void ProcessRunner::once() {
  nccl::check(library().group_start(), "beginning a group");
  for (const auto& rank : ranks_) rank->enqueue();
  nccl::check(library().group_end(), "launching an operation on all GPUs", ranks_.front()->communicator());
}

void ProcessRunner::abort() {
  for (const auto& rank : ranks_) rank->abort();
  has_joined_ = false;
}

void ProcessRunner::settle() {
  constexpr int looks_between = 1000;
  const Seconds begin = clock().now();
  try {
    int looks = 0;
    for (const auto& rank : ranks_)
      while (!rank->is_idle()) {
        if (++looks % looks_between != 0) continue;
        for (const auto& one : ranks_) one->look_for_error();
        if (clock().now() - begin > patience_)
          throw Error(ErrorKind::failed,
                      fmt::format("NCCL: {} hangs: {} did not end it within {:.0f} s", name(step_.question.operation),
                                  rank->device(), patience_.count()));
      }
  } catch (const Error&) {
    abort();
    throw;
  }
}

void ProcessRunner::prepare(const Step<Collectives>& step) {
  if (!has_joined_) join();
  step_ = step;
  seed_ += 0xD1B54A32D192ED03;
  for (const auto& rank : ranks_) rank->fill(step, seed_);
  settle();
  once();  // loads its kernels and connects the GPUs
  settle();
}

std::uint64_t ProcessRunner::max_repeats() const {
  return step_.question.timing == Timing::gated ? ranks_.front()->gate_capacity() : 0;
}

bool ProcessRunner::run(std::uint64_t repeats, std::vector<CollectiveSample>& samples) {
  const bool gated = step_.question.timing == Timing::gated;
  for (const auto& rank : ranks_) rank->start(gated);
  const Seconds begin = clock().now();
  for (std::uint64_t i = 0; i < repeats; ++i) once();
  for (const auto& rank : ranks_) rank->stop();
  for (const auto& rank : ranks_) rank->release();
  settle();
  const Seconds took = clock().now() - begin;
  bool is_valid = true;
  for (std::uint32_t lane = 0; lane < ranks_.size(); ++lane) {
    const auto elapsed = ranks_[lane]->elapsed();
    is_valid = is_valid && elapsed;
    CollectiveSample s;
    s.lane = lane;
    s.repeats = repeats;
    if (!gated) s.host_us = microseconds(took);
    if (elapsed) s.device_us = microseconds(*elapsed);
    samples.push_back(s);
  }
  return is_valid;
}

void ProcessRunner::warm_up(Seconds duration) {
  const Seconds begin = clock().now();
  while (clock().now() - begin < duration) {
    once();
    settle();
  }
}

std::optional<std::string> ProcessRunner::check(std::span<CollectiveSample> last_trial) {
  // In place, each operation's sums were the next one's operands: it is done once more.
  if (step_.question.in_place && has_sums(step_.question.operation)) {
    for (const auto& rank : ranks_) rank->fill(step_, seed_);
    settle();
    once();
    settle();
  }
  std::optional<std::string> wrong;
  for (std::uint32_t lane = 0; lane < ranks_.size(); ++lane) {
    const collectives::WrongElements found = ranks_[lane]->compare();
    last_trial[lane].intact = found.count == 0 ? 1 : 0;
    if (found.count == 0) continue;
    if (wrong) *wrong += ", and others on " + ranks_[lane]->device();
    else
      wrong =
          fmt::format("on {} {} of {} elements are wrong; number {} is {:#x}, expected {:#x}", ranks_[lane]->device(),
                      found.count, ranks_[lane]->result_elements(), found.first, found.found, found.expected);
  }
  return wrong;
}

}  // namespace npgpu::nccl
