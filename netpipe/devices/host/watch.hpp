// Whether others had a part of the processors while something was measured, and the energy of the processors.
//
// What it rests on. /proc/stat counts the time of all processes, and what the host of a virtual machine took, in steps
// of 10 ms for each processor; this process's own time is known to the nanosecond, and the rest is others'. So it takes
// a window of some 200 ms to see others, and a visit is judged by the window that ends with it. How long a thread of
// this process had work and no processor (/proc/self/task/*/schedstat) is known to the nanosecond, and judges the visit
// alone: of those that had work for most of it, for one that is woken on their core may wait for them, and they are
// what is timed. A thread that a CPU quota stops waits in the same way: where the quota's clock has gone on, nobody
// else is blamed for that. None of them sees the sibling hyperthread of a virtual machine's core: see quiet_core.hpp.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::host {

// A thread's time since it started.
struct ThreadTime {
  Seconds ran{0};
  Seconds waited{0};  // it had work and no processor
};

// What the processors did since the machine started.
struct Processors {
  Seconds at{0};                      // of the steady clock
  Seconds others{0};                  // time of all processes but this one
  Seconds stolen{0};                  // taken by the host of this virtual machine
  std::map<int, ThreadTime> threads;  // of this process, by the system's number
  Seconds stopped{0};                 // by CPU quotas of this process's groups, all processors added up
};
// What the system does not say stays 0.
Processors read_processors();

// A process, and the processor time that it had since it started.
struct Process {
  long pid = 0;
  std::string name;
  Seconds time{0};
  long parent = 0;
};
// All but our own, as far as they can be seen. Takes some 20 us for each.
std::vector<Process> other_processes();

// From now on this process's time counts as our own, and it is no other one: a rank of the same job.
void count_as_own(long pid);
// The same of this process's children, and of its parent and that one's children where the parent is this program: the
// processes of a run that measures several GPUs at once.
void count_relatives_as_own();
bool is_counted_as_own(long pid);

// As it calls itself, in ASCII; "a process" if that cannot be read.
std::string name_of_process(long pid);

class Watch final : public DeviceWatch {
 public:
  using Read = std::function<Processors()>;
  using List = std::function<std::vector<Process>()>;
  explicit Watch(Read read = read_processors, List list = other_processes);

  void begin() override { begin_ = note(); }
  Disturbance end() override;

  // Seconds of a window in which the counters see a process that uses less than a third of a processor.
  static constexpr Seconds window{0.2};

 private:
  Processors note();
  // Who used most since this was last asked, or a second ago; empty if nobody stands out.
  std::string who();
  Read read_;
  List list_;
  std::map<long, Process> listed_;
  Seconds listed_at_{0};
  std::string who_;
  std::deque<Processors> noted_;  // of the last window and a little more, oldest first
  Processors begin_;
};

// The energy of the host's processors by RAPL, as Linux shows it under /sys/class/powercap; most systems let root alone
// read it. The counter of a package steps every millisecond, and wraps.

class Rapl {
 public:
  // `root`: /sys/class/powercap, or a test's folder like it. `why` is set where nothing can be read.
  Rapl(const std::filesystem::path& root, std::string& why);
  bool is_readable() const { return !packages_.empty(); }
  // The energy of all packages since this was made.
  double joules();

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range_uj = 0;  // the counter goes from 0 to this
    std::uint64_t last_uj = 0;
  };
  std::vector<Package> packages_;
  double sum_uj_ = 0;
};

}  // namespace npgpu::host
