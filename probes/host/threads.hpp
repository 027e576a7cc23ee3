// Pinned threads that begin together, which are blocks on a host, and the clock of their cores.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "npgpu/vocabulary/probe.hpp"

namespace npgpu {

// One thread's measurements of a run, and the sample that all of them give; a function of numbers, for tests.
struct Turn {
  Seconds begin{0}, end{0};
  Seconds ran{0};  // of the thread itself; at most end - begin
  double hz = not_measured;
  int cpu_before = -1, cpu_after = -1;  // -1: not known
};
ProbeSample sample_of(const std::vector<Turn>&);

// One thread pinned to each of the cpus given, asleep between calls. Not for several callers at once.
class PinnedThreads {
 public:
  explicit PinnedThreads(const std::vector<unsigned>& cpus);
  ~PinnedThreads();
  PinnedThreads(const PinnedThreads&) = delete;
  PinnedThreads& operator=(const PinnedThreads&) = delete;
  // Calls work(block) on every thread, block 0 on the first cpu. `work` must not throw.
  void each(const std::function<void(unsigned)>& work) { round(work, false); }
  // The same, timed: all begin behind one barrier, and each takes its own begin and end. Host time is from the
  // earliest begin to the latest end. Cycles are those that the longest block itself ran: its thread's cpu time at the
  // clock of its core, measured right before the barrier and right after its end. Where another process had the core
  // for a while, time shows it and cycles do not: cycles over host time are then far below the clock. Units are the
  // cpus that threads were seen on at begin and end.
  ProbeSample run(const std::function<void(unsigned)>& work) { return round(work, true); }
  unsigned size() const { return static_cast<unsigned>(members_.size()); }
  // "one thread a core: cpus 0, 1"
  const std::string& binding() const { return binding_; }

 private:
  struct alignas(128) Member {
    std::thread thread;
    Turn turn;
    bool pinned = false;
  };
  ProbeSample round(const std::function<void(unsigned)>& work, bool timed);
  void live(Member&, unsigned block, unsigned cpu);
  Turn timed_turn(unsigned block, const std::function<void(unsigned)>& work);
  void meet();  // the spin barrier
  void join_all();

  std::vector<Member> members_;
  std::string binding_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(unsigned)>* work_ = nullptr;
  bool timed_ = false, leave_ = false;
  std::uint64_t rounds_ = 0;
  unsigned busy_ = 0;
  alignas(128) std::atomic<unsigned> arrived_{0};
};

// The clock of the core that the calling thread runs on, in Hz: a time stamp counter ticks at a rate of its own, and
// performance counters are closed to most users. Times chains of integer additions, each of which waits for the one
// before for exactly one cycle, and takes the fastest of a few chains, because what disturbs them only ever makes them
// longer. NaN on an architecture without such a chain. About 0.1 ms.
double core_clock_hz();

// The highest of many looks, in some 5 ms: one alone was seen 6 % low while another process was busy.
double highest_core_clock_hz();

// The clock over a span, from what it was right before and right after; NaN where the two differ by more than 2 %.
double steady_hz(double before, double after);

}  // namespace npgpu
