// A core for the thread whose time is measured, on which nobody else computes.
//
// Why. Two hyperthreads share the units of a core. On the host of an H200, a virtual machine of 16 cores, one call of
// the driver takes 2.2 to 2.5 us on a core and 3.0 to 3.7 us on another, and every 1 to 100 ms it is others that are
// slow: the sibling hyperthread works for somebody else, whom no count of this system shows. It shows in a loop
// that wants all units of the core: eight independent chains of integer operations took 5.4 to 5.6 us on a core of its
// own and 6.9 to 11 us on a shared one, and their time went with that of a call (correlation 0.89). A chain of
// dependent operations leaves units to the neighbour and sees nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::host {

// What finding a core stands on, so that a test can play cores.
struct CoreAccess {
  std::vector<unsigned> cpus;         // one of each core that the thread may run on
  std::function<bool(unsigned)> pin;  // confines the thread to this one; false if the system refuses
  std::function<void()> unpin;        // gives the thread back what it was confined to
  std::function<Seconds()> loop;      // a fixed amount of work for all units of the core that the thread is on
  std::function<unsigned()> where{};  // the cpu that the thread is on
  // The least that the loop ever took; 0 before the first. All of a process share one.
  std::shared_ptr<Seconds> least = std::make_shared<Seconds>(0);

  static CoreAccess of_this_thread();
};

// Destroy it on the thread that made it; that gives the thread back the cpus it had.
class QuietCore {
 public:
  explicit QuietCore(CoreAccess = CoreAccess::of_this_thread());
  ~QuietCore();
  QuietCore(const QuietCore&) = delete;
  QuietCore& operator=(const QuietCore&) = delete;

  // Leaves the thread on a quiet core: where it is, if the loop takes at most 1.25 times the least ever seen, else the
  // next core on which it does, else the one that was least slow. About 5 us if it stays, some 15 us more for each core
  // that it tries. After a call that found none quiet, the next ones try only four others each, in turn: each move
  // wakes a thread of the kernel, and where all cores are busy they would take a good part of one. A process's first
  // call looks at all cores, for some 200 us each. True if the thread is on another core than before, whose caches know
  // nothing of its work.
  bool settle();
  // The last settle() found no quiet core.
  bool is_shared() const { return is_shared_; }

  // "one quiet core of 0-15 at a time", "one core only: cpu 3", or what the system refuses.
  const std::string& text() const { return text_; }

 private:
  Seconds timed();
  Seconds timed_here();
  bool is_quiet(Seconds) const;
  bool go_to(std::size_t core);
  void look_at_all();

  CoreAccess access_;
  std::string text_;
  std::size_t at_ = 0, next_ = 0;  // in access_.cpus: where the thread is, and what is tried next
  bool is_settled_ = false, is_shared_ = false;
};

}  // namespace npgpu::host
