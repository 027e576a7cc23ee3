#include "netpipe/devices/simulated/fabric.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace npgpu::simulated {

std::vector<double> Fabric::shares(const std::vector<double>& link_bytes_per_s, const std::vector<Flow>& flows) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  std::vector<double> left = link_bytes_per_s, rates(flows.size(), -1);
  for (std::size_t settled = 0; settled < flows.size();) {
    std::vector<std::size_t> users(left.size());
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rates[f] < 0)
        for (const std::size_t link : *flows[f].links) ++users[link];
    const auto share = [&](std::size_t link) { return std::max(left[link], 0.0) / static_cast<double>(users[link]); };
    // The least that any of those left can have: an even share of the tightest link, or a cap.
    double least = unlimited;
    for (std::size_t link = 0; link < left.size(); ++link)
      if (users[link] > 0) least = std::min(least, share(link));
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rates[f] < 0 && flows[f].cap > 0) least = std::min(least, flows[f].cap);
    constexpr double as_good_as = 1 + 1e-12;
    std::vector<std::size_t> bound;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (rates[f] >= 0) continue;
      const bool by_cap = flows[f].cap > 0 && flows[f].cap <= least * as_good_as;
      const bool by_link =
          std::ranges::any_of(*flows[f].links, [&](std::size_t link) { return share(link) <= least * as_good_as; });
      if (by_cap || by_link || least == unlimited) bound.push_back(f);
    }
    for (const std::size_t f : bound) {
      rates[f] = least;
      for (const std::size_t link : *flows[f].links) left[link] -= least;
    }
    settled += bound.size();
  }
  return rates;
}

Fabric::Stream Fabric::add_stream() {
  streams_.emplace_back();
  return streams_.size() - 1;
}

void Fabric::remove(Stream stream) { streams_[stream] = {}; }

void Fabric::submit(Stream stream, Operation operation, Time now) {
  run_until(now);
  State& state = streams_[stream];
  ++state.submitted;
  state.queue.push_back({std::move(operation), now, state.held});
}

void Fabric::forget_marks(Stream stream) { streams_[stream].forget_marks(); }

Mark Fabric::mark(Stream stream, Time now) {
  run_until(now);
  return streams_[stream].mark(now);
}

Time Fabric::time_of(Stream stream, Mark mark) const { return streams_[stream].time_of(mark); }

void Fabric::hold(Stream stream) { streams_[stream].held = true; }

void Fabric::release(Stream stream, Time now) {
  run_until(now);
  State& state = streams_[stream];
  state.open_gate(now);
  for (Queued& queued : state.queue)
    if (std::exchange(queued.behind_gate, false)) queued.floor = now;
}

std::optional<Time> Fabric::finish(Stream stream, Time now) {
  run_until(now);
  const StreamRecord& record = streams_[stream];
  while (record.ended < record.submitted) {
    const auto next = next_event();
    if (!next) return std::nullopt;
    run_until(*next);
  }
  return std::max(now, record.last_end);
}

std::optional<Time> Fabric::start_of_head(const State& state) const {
  if (state.flows || state.queue.empty() || state.queue.front().behind_gate) return std::nullopt;
  const Queued& head = state.queue.front();
  const Time ready = head.operation.waits ? std::max(head.floor, state.last_end) : head.floor;
  return std::max(ready + head.operation.latency, state.last_end + head.operation.gap);
}

std::optional<Time> Fabric::end_of_head(const State& state) const {
  if (!state.flows || !(state.rate > 0)) return std::nullopt;
  return time_ + static_cast<Time>(state.left) / static_cast<Time>(state.rate);
}

std::optional<Time> Fabric::next_event() const {
  std::optional<Time> first;
  for (const State& state : streams_)
    for (const auto& when : {start_of_head(state), end_of_head(state)})
      if (when && (!first || *when < *first)) first = when;
  return first;
}

void Fabric::advance(Time to) {
  const Time passed = to - time_;
  for (State& state : streams_)
    if (state.flows)
      state.left = std::max(0.0, state.left - static_cast<double>(passed * static_cast<Time>(state.rate)));
  time_ = to;
}

void Fabric::happen() {
  constexpr double a_byte_in_a_million = 1e-6;
  bool changed = false;
  for (State& state : streams_) {
    // What is left may take less time than the clock, minutes on, can resolve.
    const auto end = end_of_head(state);
    if (state.flows && (state.left <= a_byte_in_a_million || (end && *end <= time_))) {
      state.flows = false;
      state.queue.pop_front();
      state.end_one(time_);
      changed = true;
    }
    if (const auto start = start_of_head(state); start && *start <= time_) {
      state.flows = true;
      state.left = state.queue.front().operation.bytes;
      changed = true;
    }
  }
  if (!changed) return;
  std::vector<Flow> flows;
  std::vector<State*> whose;
  for (State& state : streams_)
    if (state.flows) {
      flows.push_back({state.queue.front().operation.cap, &state.queue.front().operation.links});
      whose.push_back(&state);
    }
  const std::vector<double> rates = shares(rates_, flows);
  for (std::size_t i = 0; i < whose.size(); ++i) whose[i]->rate = rates[i];
}

void Fabric::run_until(Time now) {
  happen();
  for (auto next = next_event(); next && *next <= now; next = next_event()) {
    advance(std::max(*next, time_));
    happen();
  }
  if (now > time_) advance(now);
}

}  // namespace npgpu::simulated
