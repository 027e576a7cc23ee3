#include "netpipe/devices/host/facts.hpp"

#include <hwloc/linux.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "netpipe/devices/host/cgroup.hpp"
#include "netpipe/devices/host/cpu_name.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/nodes.hpp"
#include "netpipe/devices/host/rapl.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "netpipe/devices/host/watch.hpp"
#include "netpipe/devices/polled_meter.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "npgpu/units.hpp"

namespace npgpu::host {

namespace {

std::string line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "model name : AMD EPYC" -> "AMD EPYC"; the first of its kind.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  return cpu_name(file);
}

bool runs_in_hypervisor() {
  const std::string flags = ' ' + cpuinfo("flags") + ' ';
  return flags.find(" hypervisor ") != std::string::npos;
}

// "always [madvise] never" -> "madvise".
std::string bracketed(const std::string& text) {
  const std::size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos ? text : text.substr(open + 1, close - open - 1);
}

std::uint64_t cache_bytes(hwloc_obj_type_t type) {
  std::uint64_t most = 0;
  for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(this_machine(), type, cache));)
    most = std::max<std::uint64_t>(most, cache->attr->cache.size);
  return most;
}

std::int64_t count(hwloc_obj_type_t type) { return std::max(0, hwloc_get_nbobjs_by_type(this_machine(), type)); }

std::string process_cpus() {
  const Bitmap cpus(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(this_machine(), cpus.get(), HWLOC_CPUBIND_PROCESS) != 0) return {};
  return cpu_list(cpus.get());
}

// Whether a process runs whose name begins so; Linux keeps 15 characters of it. False also where none can be seen.
bool runs(const std::string& name) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error))
    if (line_of((entry.path() / "comm").c_str()).starts_with(name)) return true;
  return false;
}

// "10 21, 21 10": a row for each NUMA node; empty where there is one.
std::string numa_distances() {
  std::string all;
  for (int node = 0;; ++node) {
    const std::string row = line_of(("/sys/devices/system/node/node" + std::to_string(node) + "/distance").c_str());
    if (row.empty()) return node > 1 ? all : std::string();
    all += (node ? ", " : "") + row;
  }
}

Facts facts() {
  Facts all;
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) all.emplace_back(name, value);
  };
  const auto number = [&](const char* name, std::int64_t value) {
    if (value > 0) all.emplace_back(name, value);
  };
  text("cpu_model", cpu_model());
  number("sockets", count(HWLOC_OBJ_PACKAGE));
  number("cores", count(HWLOC_OBJ_CORE));
  number("threads", count(HWLOC_OBJ_PU));
  number("numa_nodes", static_cast<std::int64_t>(numa_nodes().size()));
  text("memory_only_nodes", memory_only_nodes(this_machine()));
  text("allowed_cpus", process_cpus());
  if (const CpuQuota quota = cpu_quota(); quota.is_limited()) {
    all.emplace_back("cpu_quota", quota.processors);
    all.emplace_back("cpu_quota_cgroup", quota.group);
  }
  number("l1d_bytes", static_cast<std::int64_t>(cache_bytes(HWLOC_OBJ_L1CACHE)));
  number("l2_bytes", static_cast<std::int64_t>(cache_bytes(HWLOC_OBJ_L2CACHE)));
  number("l3_bytes", static_cast<std::int64_t>(cache_bytes(HWLOC_OBJ_L3CACHE)));
  number("free_memory_bytes", static_cast<std::int64_t>(free_host_memory()));
  number("page_bytes", sysconf(_SC_PAGESIZE));
  text("transparent_huge_pages", bracketed(line_of("/sys/kernel/mm/transparent_hugepage/enabled")));
  text("huge_pages", line_of("/proc/sys/vm/nr_hugepages"));
  all.emplace_back("mps_daemon", std::int64_t{runs("nvidia-cuda-mps")});
  text("numa_distances", numa_distances());
  text("cpu_governor", line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  text("cpu_driver", line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"));
  text("numa_balancing", line_of("/proc/sys/kernel/numa_balancing"));
  utsname system{};
  if (uname(&system) == 0) {
    text("hostname", system.nodename);
    text("kernel", std::string(system.sysname) + ' ' + system.release);
    text("architecture", system.machine);
  }
  all.emplace_back("in_virtual_machine", std::int64_t{runs_in_hypervisor()});
  return all;
}

}  // namespace

std::uint64_t last_level_cache_bytes() {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE})
    if (const std::uint64_t bytes = cache_bytes(type)) return bytes;
  return 0;
}

DeviceInfo host_device() {
  DeviceInfo device;
  device.id = "host";
  device.name = cpu_model();
  device.memory_bytes = physical_memory();
  device.host_nodes = numa_nodes();
  device.link.source = "none: the host has no link to itself";
  device.memory.source = "unknown: clock and channels of the memory cannot be read without root";
  device.facts = facts();
  return device;
}

namespace {

class Host final : public DeviceFamily {
 public:
  std::string_view kind() const override { return "host"; }
  bool has_gpus() const override { return false; }
  std::vector<DeviceInfo> list() const override { return {host_device()}; }
  std::unique_ptr<DeviceWatch> watch(const std::string&) const override {
    count_relatives_as_own();
    return std::make_unique<Watch>();
  }
  std::unique_ptr<EnergyMeter> energy_meter(const std::string&, std::string& why) const override {
    const auto rapl = std::make_shared<Rapl>("/sys/class/powercap", why);
    if (!rapl->is_readable()) return nullptr;
    return devices::polled_meter(
        {.name = "the processors' RAPL counters", .joules = [rapl] { return std::optional(rapl->joules()); }});
  }
};

// The cache of this level above a cpu, or null.
hwloc_obj_t cache_above(unsigned cpu, hwloc_obj_type_t level) {
  const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(this_machine(), cpu);
  return pu ? hwloc_get_ancestor_obj_by_type(this_machine(), level, pu) : nullptr;
}

std::uint64_t bytes_of(hwloc_obj_t cache) { return cache ? cache->attr->cache.size : 0; }

}  // namespace

std::vector<unsigned> core_cpus() { return cpu_of_each_core(this_machine(), thread_cpus().get()); }

bool of_one_node(const std::vector<unsigned>& cpus) {
  const hwloc_obj_t first = cpus.empty() ? nullptr : node_of_cpu(this_machine(), cpus.front());
  return first && std::ranges::all_of(cpus, [&](unsigned cpu) { return node_of_cpu(this_machine(), cpu) == first; });
}

bool pin_thread(unsigned cpu) {
  const Bitmap one(hwloc_bitmap_alloc());
  hwloc_bitmap_only(one.get(), cpu);
  return hwloc_set_cpubind(this_machine(), one.get(), HWLOC_CPUBIND_THREAD) == 0;
}

bool pin_other_thread(int thread, unsigned cpu) {
  const Bitmap one(hwloc_bitmap_alloc());
  hwloc_bitmap_only(one.get(), cpu);
  return hwloc_linux_set_tid_cpubind(this_machine(), thread, one.get()) == 0;
}

int last_cpu(int thread) {
  const Bitmap set(hwloc_bitmap_alloc());
  return hwloc_linux_get_tid_last_cpu_location(this_machine(), thread, set.get()) == 0 ? hwloc_bitmap_first(set.get())
                                                                                       : -1;
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

NPGPU_REGISTERED(DeviceFamily, npgpu::host::Host)
