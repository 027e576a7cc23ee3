#include "netpipe/cli/together.hpp"

#include <chrono>
#include <sstream>

#include "netpipe/cli/signals.hpp"

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

Lifeline::Lifeline(bool wanted, std::function<void()> save_and_leave) {
  if (!wanted) return;
  trace_.lock();
  thread_ = std::jthread([this, save = std::move(save_and_leave)](const std::stop_token& end) {
    const auto sleep = [&](std::chrono::milliseconds time) {
      std::unique_lock guard(sleep_);
      wake_.wait_for(guard, end, time, [] { return false; });
    };
    while (!end.stop_requested() && !stop_asked()) sleep(between_looks);
    sleep(until_saved);
    if (end.stop_requested() || !trace_.try_lock()) return;
    save();
    trace_.unlock();
  });
}

Lifeline::~Lifeline() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  trace_.unlock();
}

}  // namespace npgpu::cli
