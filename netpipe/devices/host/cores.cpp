#include "netpipe/devices/host/cores.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/nodes.hpp"
#include "npgpu/units.hpp"

namespace npgpu::host {

namespace {

Bitmap allowed_cpus() {
  Bitmap cpus(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(this_machine(), cpus.get(), HWLOC_CPUBIND_THREAD) != 0)
    hwloc_bitmap_copy(cpus.get(), hwloc_topology_get_allowed_cpuset(this_machine()));
  return cpus;
}

// The cache of this level above a cpu, or null.
hwloc_obj_t cache_above(unsigned cpu, hwloc_obj_type_t level) {
  const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(this_machine(), cpu);
  return pu ? hwloc_get_ancestor_obj_by_type(this_machine(), level, pu) : nullptr;
}

std::uint64_t bytes_of(hwloc_obj_t cache) { return cache ? cache->attr->cache.size : 0; }

}  // namespace

std::vector<unsigned> core_cpus() { return cpu_of_each_core(this_machine(), allowed_cpus().get()); }

bool pin_thread(unsigned cpu) {
  const Bitmap one(hwloc_bitmap_alloc());
  hwloc_bitmap_only(one.get(), cpu);
  return hwloc_set_cpubind(this_machine(), one.get(), HWLOC_CPUBIND_THREAD) == 0;
}

Caches caches_of(const std::vector<unsigned>& cpus) {
  Caches all;
  std::set<hwloc_obj_t> counted;
  for (const unsigned cpu : cpus) {
    all.near_bytes = std::max(all.near_bytes, bytes_of(cache_above(cpu, HWLOC_OBJ_L1CACHE)));
    all.middle_bytes = std::max(all.middle_bytes, bytes_of(cache_above(cpu, HWLOC_OBJ_L2CACHE)));
    for (const hwloc_obj_type_t level : {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
      const hwloc_obj_t last = cache_above(cpu, level);
      if (!last) continue;
      all.last_bytes = std::max(all.last_bytes, bytes_of(last));
      if (counted.insert(last).second) all.last_bytes_in_all += bytes_of(last);
      break;
    }
  }
  return all;
}

Processor processor() {
  Processor mine;
  mine.name = host_device().name;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d))
    for (const unsigned word : {b, d, c})
      for (unsigned byte = 0; byte < 4; ++byte) mine.vendor += static_cast<char>(word >> (8 * byte) & 0xff);
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    const unsigned base = a >> 8 & 0xf;
    mine.family = base == 0xf ? base + (a >> 20 & 0xff) : base;
    mine.model = base == 0xf || base == 6 ? (a >> 16 & 0xf) << 4 | (a >> 4 & 0xf) : a >> 4 & 0xf;
  }
#endif
  return mine;
}

double max_clock_mhz() {
  double most = not_measured;
  for (const unsigned cpu : core_cpus()) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/cpuinfo_max_freq");
    double khz = 0;
    if (file >> khz && !(khz / 1000 <= most)) most = khz / 1000;
  }
  return most;
}

}  // namespace npgpu::host
