#include "netpipe/ranks/hang_watchdog.hpp"

#include <utility>

#include "npgpu/clock.hpp"

namespace npgpu::ranks {

HangWatchdog::HangWatchdog(How how, std::function<void(bool)> save_and_leave)
    : how_(std::move(how)), save_and_leave_(std::move(save_and_leave)) {
  trace_.lock();
  thread_ = std::jthread([this](const std::stop_token& end) { watch(end); });
}

void HangWatchdog::watch(const std::stop_token& end) {
  const auto signs = [this] { return beats_ + (how_.heard ? how_.heard() : 0); };
  std::uint64_t seen = 0;
  Seconds since = steady_clock().now();
  bool stopped = false;
  while (!end.stop_requested()) {
    {
      std::unique_lock guard(sleep_);
      wake_.wait_for(guard, end, how_.between_looks, [] { return false; });
    }
    const Seconds now = steady_clock().now();
    if (!stopped && how_.stopped && how_.stopped()) stopped = true, since = now;
    if (const std::uint64_t signs_now = signs(); signs_now != seen) seen = signs_now, since = now;
    if (end.stop_requested() || now - since < (stopped ? how_.once_stopped : how_.patience)) continue;
    if (!trace_.try_lock()) continue;
    if (signs() == seen) save_and_leave_(stopped);  // else a trial has just begun
    trace_.unlock();
  }
}

HangWatchdog::~HangWatchdog() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  trace_.unlock();
}

}  // namespace npgpu::ranks
