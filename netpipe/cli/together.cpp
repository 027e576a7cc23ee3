#include "netpipe/cli/together.hpp"

#include <chrono>
#include <sstream>

#include "netpipe/cli/signals.hpp"
#include "npgpu/clock.hpp"

namespace npgpu::cli {

namespace {

constexpr std::chrono::milliseconds between_looks{50}, until_saved{400};  // mpirun kills a second after it asked

}  // namespace

std::uint32_t causes_of_all(Consensus* with, std::uint32_t mine) {
  if (!with) return mine;
  std::uint32_t all = 0;
  for (const std::string& one : with->of_all(std::to_string(mine))) all |= static_cast<std::uint32_t>(std::stoul(one));
  return all;
}

std::vector<std::size_t> places_of_leader(Consensus& with, const std::vector<std::size_t>& mine) {
  std::ostringstream text;
  for (const std::size_t place : mine) text << place << ' ';
  std::istringstream words(with.of_leader(text.str()));
  std::vector<std::size_t> all;
  for (std::size_t place = 0; words >> place;) all.push_back(place);
  return all;
}

Lifeline::Lifeline(bool wanted, Seconds patience, std::function<void(bool)> save_and_leave) {
  if (!wanted) return;
  trace_.lock();
  thread_ = std::jthread([this, patience, save = std::move(save_and_leave)](const std::stop_token& end) {
    const auto sleep = [&](std::chrono::milliseconds time) {
      std::unique_lock guard(sleep_);
      wake_.wait_for(guard, end, time, [] { return false; });
    };
    std::uint64_t seen = 0;
    Seconds since = steady_clock().now();
    while (!end.stop_requested()) {
      sleep(between_looks);
      const bool stopped = stop_asked();
      if (stopped) sleep(until_saved);
      const Seconds now = steady_clock().now();
      if (const std::uint64_t beats = beats_; beats != seen) seen = beats, since = now;
      if (end.stop_requested() || (!stopped && now - since < patience) || !trace_.try_lock()) continue;
      if (stopped || now - since >= patience) save(stopped);
      trace_.unlock();
    }
  });
}

Lifeline::~Lifeline() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  trace_.unlock();
}

}  // namespace npgpu::cli
