// What this machine says of itself: what its processor is called, its memory, its cores and their caches.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu::host {

// From the text of /proc/cpuinfo: the model name where there is one (x86); on Arm, whose text has numbers only, the
// implementer and the part by name ("Arm Neoverse-V2"), every kind of core where there are several, and the numbers of
// those that are in no table ("Arm part 0xd99", "implementer 0x99, part 0x001"). "unknown cpu" if it says nothing.
std::string cpu_name(std::istream& cpuinfo);

// This machine's cpu and memory as a device, id "host". What cannot be read is left out of its facts.
DeviceInfo host_device();

// The largest last-level cache that one thread reaches; 0 if unknown.
std::uint64_t last_level_cache_bytes();

// The cores that a thread may use, their caches, and pinning a thread to one of them.

// One cpu of each core in the calling thread's affinity mask: the first that is allowed, in the order of the machine.
std::vector<unsigned> core_cpus();

// Whether memory lies on the same NUMA node whichever of them touches it first; false where that is not known.
bool of_one_node(const std::vector<unsigned>& cpus);

// Confines the calling thread to one cpu. False if the system refuses.
bool pin_thread(unsigned cpu);
// The same for another thread of this process, by the number that the system has for it (gettid); and the cpu that it
// ran on last, -1 if unknown.
bool pin_other_thread(int thread, unsigned cpu);
int last_cpu(int thread);

// The caches of the cores given; 0 where the system does not say.
struct Caches {
  std::uint64_t near_bytes = 0;         // a core's first level, data
  std::uint64_t middle_bytes = 0;       // a core's second level
  std::uint64_t last_bytes = 0;         // the last level that one core reaches
  std::uint64_t last_bytes_in_all = 0;  // all last levels that these cores reach
};
Caches caches_of(const std::vector<unsigned>& cpus);

// What the processor says it is; family and model as its vendor's documents count them, 0 where it has none (Arm).
struct Processor {
  std::string vendor;  // GenuineIntel, AuthenticAMD
  unsigned family = 0;
  unsigned model = 0;
  std::string name;
};
Processor processor();

// The highest clock of any cpu, as the system's frequency driver says; NaN where there is none (virtual machines).
double max_clock_mhz();

}  // namespace npgpu::host
