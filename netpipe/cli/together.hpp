// A campaign of several processes: where it asks the others, and who saves the trace when another one is gone. Without
// others, each answer is this process's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "npgpu/consensus.hpp"
#include "npgpu/units.hpp"

namespace npgpu::cli {

// Where they give each other the wrong kind of company, nothing is agreed: with whom is null.
inline bool any(Consensus* with, bool mine) { return with ? with->any(mine) : mine; }
inline bool of_leader(Consensus* with, bool mine) { return with ? with->of_leader(mine) : mine; }
inline std::string first_failure(Consensus* with, const std::string& mine) {
  return with && with->any(!mine.empty()) ? with->first_failure(mine) : mine;
}
// The causes that any of them saw.
std::uint32_t causes_of_all(Consensus* with, std::uint32_t mine);
// The leader's choice of elements of a list that all have: their places in it.
std::vector<std::size_t> places_of_leader(Consensus& with, const std::vector<std::size_t>& mine);

// A rank whose partner is killed or hangs within a trial never returns from it. A thread of this class then saves the
// trace, and ends the process: soon after a signal asked to stop, because mpirun is about to kill it, or when the trial
// has taken longer than any does.
class Lifeline {
 public:
  // `save_and_leave` does not return; it is told whether a signal asked to stop. Without `wanted` there is no thread.
  Lifeline(bool wanted, Seconds patience, std::function<void(bool stopped)> save_and_leave);
  // A trial is about to begin.
  void beat() { ++beats_; }

  // Around a trial: what is saved belongs to the thread as long as this lives.
  class Trial {
   public:
    explicit Trial(Lifeline& line) : line_(line.thread_.joinable() ? &line : nullptr) {
      if (line_) line_->trace_.unlock();
    }
    ~Trial() {
      if (line_) line_->trace_.lock();
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    Lifeline* line_;
  };
  // Within a trial: the trace is this thread's until the end of `work`.
  template <class Work> void meanwhile(Work&& work) {
    if (!thread_.joinable()) return work();
    const std::lock_guard guard(trace_);
    work();
  }
  ~Lifeline();

 private:
  std::atomic<std::uint64_t> beats_{0};
  std::mutex trace_;  // whose the trace is; the campaign's but for trials
  std::mutex sleep_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace npgpu::cli
