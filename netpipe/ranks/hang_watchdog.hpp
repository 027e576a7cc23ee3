// Who leaves when another rank is gone: a rank whose partner is killed or hangs within a trial never returns from it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "npgpu/units.hpp"

namespace npgpu::ranks {

// A thread of this class ends the process, after it has saved the trace: soon after a signal asked to stop, because
// mpirun is about to kill it, or when there was no sign of life for too long. Signs of life are the words of other
// ranks, and what begins here.
class HangWatchdog {
 public:
  struct How {
    Seconds patience{60};
    Seconds once_stopped{0.4};  // instead, after a signal: mpirun kills a second after it asked
    Seconds between_looks{0.05};
    std::function<bool()> stopped{};         // may be empty
    std::function<std::uint64_t()> heard{};  // how many words have come so far; may be empty
  };
  // `save_and_leave` does not return; its argument is whether a signal asked to stop.
  HangWatchdog(How, std::function<void(bool stopped)> save_and_leave);
  // Without a thread, for who has no company.
  HangWatchdog() = default;
  ~HangWatchdog();

  // Around whatever waits for other ranks within the library: what is saved belongs to the thread as long as this
  // lives.
  class Trial {
   public:
    explicit Trial(HangWatchdog& line) : line_(line.thread_.joinable() ? &line : nullptr) {
      if (!line_) return;
      ++line_->beats_;
      line_->trace_.unlock();
    }
    ~Trial() {
      if (line_) line_->trace_.lock();
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    HangWatchdog* line_;
  };
  // Within a trial: the trace is this thread's until the end of `work`.
  template <class Work> void meanwhile(Work&& work) {
    if (!thread_.joinable()) return work();
    const std::lock_guard guard(trace_);
    work();
  }

 private:
  void watch(const std::stop_token& end);

  How how_;
  std::function<void(bool)> save_and_leave_;
  std::atomic<std::uint64_t> beats_{0};
  std::mutex trace_;  // whose the trace is; the other thread's but for trials
  std::mutex sleep_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace npgpu::ranks
