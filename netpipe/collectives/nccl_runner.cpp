#include "netpipe/collectives/nccl_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "npgpu/error.hpp"

namespace npgpu::nccl {

namespace {

// Calls `what` in a thread of its own. Throws Error(failed) where it does not come back in time; the thread is left
// alone then, and `what` must own all that it uses. REQUIRES: no exception leaves `what`.
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
  if (!state->changed.wait_for(lock, how_long, [&] { return state->is_done; }))
    throw Error(ErrorKind::failed, fmt::format("NCCL: {} hangs: it did not end within {:.0f} s; NCCL_DEBUG=INFO shows "
                                               "what it waits for",
                                               named, how_long.count()));
}

}  // namespace

NcclRunner::NcclRunner(std::span<const Step<Collectives>> steps, Seconds patience) : patience_(patience) {
  std::uint64_t most = 0;
  for (const auto& step : steps) most = std::max(most, step.axes.bytes);
  const auto gpus = devices_of(steps.front().question);
  for (std::uint32_t i = 0; i < gpus.size(); ++i)
    ranks_.push_back(std::make_unique<Rank>(gpus[i], i, static_cast<std::uint32_t>(gpus.size()), most));
  join();
}

void NcclRunner::join() {
  constexpr Seconds patience_joining{120};
  struct Joined {
    std::vector<Communicator> own;
    std::vector<int> ordinals;
    int result = success;
  };
  const auto joined = std::make_shared<Joined>();
  for (const auto& rank : ranks_) joined->ordinals.push_back(rank->gpu().ordinal());
  joined->own.resize(joined->ordinals.size());
  within(patience_joining, "joining the GPUs", [joined] {
    joined->result =
        library().init_all(joined->own.data(), static_cast<int>(joined->own.size()), joined->ordinals.data());
  });
  nccl::check(joined->result, "joining the GPUs");
  for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i]->join(joined->own[i]);
  has_joined_ = true;
}

void NcclRunner::anew() {
  for (const auto& rank : ranks_) rank->fill(step_, seed_);
  settle();
  issue(1);
  settle();
}

void NcclRunner::prepare(const Step<Collectives>& step) {
  if (!has_joined_) join();
  step_ = step;
  seed_ += 0xD1B54A32D192ED03;
  has_graphs_ = false;
  for (const auto& rank : ranks_) rank->forget_graphs();
  {
    const Log log;
    anew();
    // Connections are made once, and kept.
    const std::int32_t path = choice_.path;
    choice_ = choice_in(log.text());
    choice_.path = std::max(choice_.path, path);
  }
  once();  // which makes NCCL leave the log
  settle();
  if (step.question.launch == CollectiveLaunch::graph) make_graphs();
}

void NcclRunner::make_graphs() {
  for (const std::uint64_t operations : {collectives::operations_a_graph, std::uint64_t{1}}) {
    try {
      for (const auto& rank : ranks_) rank->begin_capture();
      for (std::uint64_t i = 0; i < operations; ++i) once();
      for (const auto& rank : ranks_) rank->end_capture();
    } catch (const Error&) {
      for (const auto& rank : ranks_) rank->abandon_capture();
      abort();
      throw;
    }
    for (const auto& rank : ranks_) rank->make_graph(operations);
  }
  has_graphs_ = true;
  issue(collectives::operations_a_graph + 1);
  settle();
}

void NcclRunner::issue(std::uint64_t times) {
  if (!has_graphs_)
    for (std::uint64_t i = 0; i < times; ++i) once();
  else
    for (std::uint64_t left = times; left > 0;) {
      const std::uint64_t operations = left >= collectives::operations_a_graph ? collectives::operations_a_graph : 1;
      for (const auto& rank : ranks_) rank->launch(operations);
      left -= operations;
    }
}

void NcclRunner::once() {
  nccl::check(library().group_start(), "beginning a group");
  for (const auto& rank : ranks_) rank->enqueue();
  nccl::check(library().group_end(), "launching an operation", ranks_.front()->communicator());
}

void NcclRunner::abort() {
  for (const auto& rank : ranks_) rank->abort();
  has_joined_ = false;
}

void NcclRunner::settle() {
  constexpr int looks_between = 1000;
  const Seconds begin = steady_clock().now();
  try {
    int looks = 0;
    for (const auto& rank : ranks_)
      while (!rank->is_idle()) {
        if (++looks % looks_between != 0) continue;
        for (const auto& one : ranks_) one->look_for_error();
        if (steady_clock().now() - begin > patience_)
          throw Error(ErrorKind::failed,
                      fmt::format("NCCL: {} hangs: {} did not end it within {:.0f} s", name(step_.question.operation),
                                  rank->device(), patience_.count()));
      }
  } catch (const Error&) {
    abort();
    throw;
  }
}

bool NcclRunner::run(std::uint64_t repeats, std::vector<CollectiveSample>& samples) {
  // What the first operations after a pause cost is no part of a trial, as it is none of nccl-tests' times.
  constexpr std::uint64_t most_before = 3;
  if (!is_gated()) {
    issue(std::min(repeats, most_before));
    settle();
  }
  for (const auto& rank : ranks_) rank->start(is_gated());
  const Seconds begin = steady_clock().now();
  issue(repeats);
  for (const auto& rank : ranks_) rank->stop();
  for (const auto& rank : ranks_) rank->release();
  settle();
  const Seconds host = steady_clock().now() - begin;
  bool is_valid = true;  // no gate timed out
  for (std::uint32_t lane = 0; lane < ranks_.size(); ++lane) {
    CollectiveSample& s = samples.emplace_back();
    s.lane = lane;
    s.repeats = repeats;
    if (!is_gated()) s.host_us = microseconds(host);
    if (const auto device = ranks_[lane]->elapsed()) s.device_us = microseconds(*device);
    else is_valid = false;
    s.algorithm = choice_.algorithm;
    s.protocol = choice_.protocol;
    s.channels = choice_.channels;
    s.path = choice_.path;
  }
  return is_valid;
}

void NcclRunner::warm_up(Seconds duration) {
  const Seconds begin = clock().now();
  while (clock().now() - begin < duration) {
    once();
    settle();
  }
}

std::optional<std::string> NcclRunner::check(std::span<CollectiveSample> last_trial) {
  if (step_.question.in_place && has_sums(step_.question.operation)) anew();
  std::vector<collectives::WrongElements> all;
  for (const auto& rank : ranks_) all.push_back(rank->compare());
  return collectives::verdict_of(step_, all, last_trial);
}

}  // namespace npgpu::nccl
