#include "netpipe/collectives/nccl_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "netpipe/collectives/gpu_part.hpp"
#include "npgpu/error.hpp"

namespace npgpu::nccl {

void within(Seconds how_long, const char* named, std::function<void()> what, const std::function<void()>& meanwhile) {
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
  constexpr std::chrono::milliseconds between_looks{10};
  const Seconds begin = steady_clock().now();
  std::unique_lock lock(state->mutex);
  while (!state->changed.wait_for(lock, between_looks, [&] { return state->is_done; })) {
    if (meanwhile) meanwhile();
    if (steady_clock().now() - begin < how_long) continue;
    throw Error(ErrorKind::failed, fmt::format("NCCL: {} hangs: it did not end within {:.0f} s; NCCL_DEBUG=INFO shows "
                                               "what it waits for",
                                               named, how_long.count()));
  }
}

void Group::register_buffers() {
  if (!ranks.front()->registers()) return;
  struct All {
    std::vector<Registration> each;
    int result = success;
  };
  const auto all = std::make_shared<All>();
  for (const auto& rank : ranks) all->each.push_back(rank->registration());
  // All ranks of a window register it together: one that does not come keeps the others waiting.
  const auto register_all = [all] {
    const auto keep_first = [&](int result) {
      if (all->result == success) all->result = result;
    };
    keep_first(library().group_start());
    for (Registration& one : all->each) keep_first(one.add());
    keep_first(library().group_end());
  };
  try {
    within(patience_joining, "registering buffers", register_all, meanwhile_);
  } catch (const collectives::GaveUp&) {
    throw;
  } catch (const Error&) {
    abort();
    throw;
  }
  nccl::check(all->result, "registering buffers", ranks.front()->communicator());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i]->keep(all->each[i]);
}

void Group::anew() {
  for (const auto& rank : ranks) rank->fill(step_, seed_);
  settle();
  issue(1);
  settle();
}

void Group::prepare(const Step<Collectives>& step, std::uint64_t seed) {
  step_ = step;
  seed_ = seed;
  has_graphs_ = false;
  for (const auto& rank : ranks) rank->forget_graphs();
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
  kernel_alone_.clear();
  for (const auto& rank : ranks)
    if (auto* const kernel = rank->beside()) kernel_alone_.push_back(kernel->alone());
}

void Group::make_graphs() {
  for (const std::uint64_t operations : {collectives::operations_a_graph, std::uint64_t{1}}) {
    try {
      for (const auto& rank : ranks) rank->begin_capture();
      for (std::uint64_t i = 0; i < operations; ++i) once();
      for (const auto& rank : ranks) rank->end_capture();
    } catch (const Error&) {
      for (const auto& rank : ranks) rank->abandon_capture();
      abort();
      throw;
    }
    for (const auto& rank : ranks) rank->make_graph(operations);
  }
  has_graphs_ = true;
  issue(collectives::operations_a_graph + 1);
  settle();
}

void Group::issue(std::uint64_t times) {
  if (!has_graphs_)
    for (std::uint64_t i = 0; i < times; ++i) once();
  else
    for (std::uint64_t left = times; left > 0;) {
      const std::uint64_t operations = left >= collectives::operations_a_graph ? collectives::operations_a_graph : 1;
      for (const auto& rank : ranks) rank->launch(operations);
      left -= operations;
    }
}

void Group::once() {
  nccl::check(library().group_start(), "beginning a group");
  for (const auto& rank : ranks) rank->enqueue();
  nccl::check(library().group_end(), "launching an operation", ranks.front()->communicator());
}

void Group::abort() {
  for (const auto& rank : ranks) rank->abort();
  has_joined = false;
}

void Group::settle() {
  constexpr int looks_between = 1000;
  const Seconds begin = steady_clock().now();
  try {
    int looks = 0;
    for (const auto& rank : ranks)
      while (!rank->is_idle()) {
        if (++looks % looks_between != 0) continue;
        for (const auto& one : ranks) one->look_for_error();
        if (meanwhile_) meanwhile_();
        if (steady_clock().now() - begin > patience_)
          throw Error(ErrorKind::failed,
                      fmt::format("NCCL: {} hangs: {} did not end it within {:.0f} s", name(step_.question.operation),
                                  rank->device(), patience_.count()));
      }
  } catch (const collectives::GaveUp&) {
    throw;
  } catch (const Error&) {
    abort();
    throw;
  }
}

Group::Trial Group::run(std::uint64_t repeats, const std::function<void()>& meet) {
  const bool gated = step_.question.timing == Timing::gated;
  for (const auto& rank : ranks)
    if (auto* const kernel = rank->beside()) kernel->start();
  // What the first operations after a pause cost is no part of a trial, as it is none of nccl-tests' times.
  constexpr std::uint64_t most_before = 3;
  if (!gated) {
    issue(std::min(repeats, most_before));
    settle();
  }
  for (const auto& rank : ranks) rank->start(gated);
  if (meet && !gated) meet();
  const Seconds begin = steady_clock().now();
  issue(repeats);
  for (const auto& rank : ranks) rank->stop();
  if (meet && gated) meet();
  for (const auto& rank : ranks) rank->release();
  settle();
  Trial trial{steady_clock().now() - begin};
  for (const auto& rank : ranks) trial.device.push_back(rank->elapsed());
  for (const auto& rank : ranks)
    if (auto* const kernel = rank->beside()) trial.kernel.push_back(kernel->stop());
  return trial;
}

bool Group::Trial::is_valid() const {
  const auto is_there = [](const std::optional<Seconds>& one) { return one.has_value(); };
  return std::ranges::all_of(device, is_there) && std::ranges::all_of(kernel, is_there);
}

CollectiveSample Group::sample_of(const Trial& trial, std::size_t rank, std::uint64_t repeats) const {
  CollectiveSample s;
  s.repeats = repeats;
  if (step_.question.timing != Timing::gated) s.host_us = microseconds(trial.host);
  if (const auto& device = trial.device[rank]) s.device_us = microseconds(*device);
  s.algorithm = choice_.algorithm;
  s.protocol = choice_.protocol;
  s.channels = choice_.channels;
  s.path = choice_.path;
  if (rank < trial.kernel.size() && trial.kernel[rank]) s.kernel_us = microseconds(*trial.kernel[rank]);
  if (rank < kernel_alone_.size()) s.kernel_alone_us = microseconds(kernel_alone_[rank]);
  return s;
}

std::vector<collectives::WrongElements> Group::check() {
  if (step_.question.in_place && has_sums(step_.question.operation)) anew();
  std::vector<collectives::WrongElements> all;
  for (const auto& rank : ranks) {
    all.push_back(rank->compare());
    auto* const kernel = rank->beside();
    if (kernel && !kernel->is_right())
      throw Error(ErrorKind::failed, fmt::format("the overlapping kernel on {} has wrong results", rank->device()));
  }
  return all;
}

}  // namespace npgpu::nccl
