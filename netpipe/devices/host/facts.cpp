#include "netpipe/devices/host/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc/linux.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "netpipe/devices/host/cgroup.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "netpipe/devices/host/watch.hpp"
#include "netpipe/devices/polled_meter.hpp"
#include "netpipe/files/output.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::host {

namespace {

// The fields Implementer and PartNum of the register MIDR_EL1 (Arm Architecture Reference Manual), which the kernel
// prints. The numbers are those of the implementers' reference manuals, which arch/arm64/include/asm/cputype.h of Linux
// collects.
constexpr unsigned arm = 0x41, broadcom = 0x42, cavium = 0x43, fujitsu = 0x46, hisilicon = 0x48, nvidia = 0x4e,
                   apm = 0x50, qualcomm = 0x51, samsung = 0x53, marvell = 0x56, apple = 0x61, microsoft = 0x6d,
                   phytium = 0x70, ampere = 0xc0;

struct ArmImplementer {
  unsigned number;
  std::string_view name;
};
constexpr ArmImplementer implementers[] = {{arm, "Arm"},         {broadcom, "Broadcom"},   {cavium, "Cavium"},
                                           {fujitsu, "Fujitsu"}, {hisilicon, "HiSilicon"}, {nvidia, "NVIDIA"},
                                           {apm, "APM"},         {qualcomm, "Qualcomm"},   {samsung, "Samsung"},
                                           {marvell, "Marvell"}, {apple, "Apple"},         {microsoft, "Microsoft"},
                                           {phytium, "Phytium"}, {ampere, "Ampere"}};

struct ArmPart {
  unsigned implementer, number;
  std::string_view name;
};
constexpr ArmPart parts[] = {
    // Ampere Altra and AWS Graviton2 are N1, Graviton3 is V1, NVIDIA Grace and Graviton4 are V2.
    {arm, 0xd0c, "Neoverse-N1"},
    {arm, 0xd49, "Neoverse-N2"},
    {arm, 0xd8e, "Neoverse-N3"},
    {arm, 0xd4a, "Neoverse-E1"},
    {arm, 0xd40, "Neoverse-V1"},
    {arm, 0xd4f, "Neoverse-V2"},
    {arm, 0xd84, "Neoverse-V3"},
    {arm, 0xd83, "Neoverse-V3AE"},
    {arm, 0xd01, "Cortex-A32"},
    {arm, 0xd02, "Cortex-A34"},
    {arm, 0xd04, "Cortex-A35"},
    {arm, 0xd03, "Cortex-A53"},
    {arm, 0xd05, "Cortex-A55"},
    {arm, 0xd07, "Cortex-A57"},
    {arm, 0xd06, "Cortex-A65"},
    {arm, 0xd43, "Cortex-A65AE"},
    {arm, 0xd08, "Cortex-A72"},
    {arm, 0xd09, "Cortex-A73"},
    {arm, 0xd0a, "Cortex-A75"},
    {arm, 0xd0b, "Cortex-A76"},
    {arm, 0xd0e, "Cortex-A76AE"},
    {arm, 0xd0d, "Cortex-A77"},
    {arm, 0xd41, "Cortex-A78"},
    {arm, 0xd42, "Cortex-A78AE"},
    {arm, 0xd4b, "Cortex-A78C"},
    {arm, 0xd46, "Cortex-A510"},
    {arm, 0xd80, "Cortex-A520"},
    {arm, 0xd47, "Cortex-A710"},
    {arm, 0xd4d, "Cortex-A715"},
    {arm, 0xd81, "Cortex-A720"},
    {arm, 0xd87, "Cortex-A725"},
    {arm, 0xd44, "Cortex-X1"},
    {arm, 0xd4c, "Cortex-X1C"},
    {arm, 0xd48, "Cortex-X2"},
    {arm, 0xd4e, "Cortex-X3"},
    {arm, 0xd82, "Cortex-X4"},
    {arm, 0xd85, "Cortex-X925"},
    {broadcom, 0x100, "Brahma-B53"},
    {broadcom, 0x516, "ThunderX2"},
    {cavium, 0x0a1, "ThunderX"},
    {cavium, 0x0a2, "ThunderX 81XX"},
    {cavium, 0x0a3, "ThunderX 83XX"},
    {cavium, 0x0af, "ThunderX2"},
    {cavium, 0x0b8, "ThunderX3"},
    {fujitsu, 0x001, "A64FX"},
    {hisilicon, 0xd01, "TaiShan v110 (Kunpeng 920)"},
    {nvidia, 0x000, "Denver"},
    {nvidia, 0x003, "Denver 2"},
    {nvidia, 0x004, "Carmel"},
    {nvidia, 0x010, "Olympus"},
    {apm, 0x000, "X-Gene"},
    {qualcomm, 0x001, "Oryon"},
    {qualcomm, 0xc00, "Falkor"},
    {qualcomm, 0xc01, "Saphira"},
    {apple, 0x022, "Icestorm (M1)"},
    {apple, 0x023, "Firestorm (M1)"},
    {apple, 0x024, "Icestorm (M1 Pro)"},
    {apple, 0x025, "Firestorm (M1 Pro)"},
    {apple, 0x028, "Icestorm (M1 Max)"},
    {apple, 0x029, "Firestorm (M1 Max)"},
    {apple, 0x032, "Blizzard (M2)"},
    {apple, 0x033, "Avalanche (M2)"},
    {apple, 0x034, "Blizzard (M2 Pro)"},
    {apple, 0x035, "Avalanche (M2 Pro)"},
    {apple, 0x038, "Blizzard (M2 Max)"},
    {apple, 0x039, "Avalanche (M2 Max)"},
    {microsoft, 0xd49, "Azure Cobalt 100"},
    {phytium, 0x660, "FTC660"},
    {phytium, 0x661, "FTC661"},
    {phytium, 0x662, "FTC662"},
    {phytium, 0x663, "FTC663"},
    {ampere, 0xac3, "Ampere-1"},
    {ampere, 0xac4, "Ampere-1A"},
};

struct CpuLine {
  std::string key, value;
};

// "CPU part\t: 0xd4f"
std::optional<CpuLine> cpu_line(const std::string& line) {
  constexpr const char* blanks = " \t\r";
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) return std::nullopt;
  const std::size_t key_end = line.find_last_not_of(blanks, colon - 1);
  const std::size_t begin = line.find_first_not_of(blanks, colon + 1);
  if (key_end == line.npos || begin == line.npos) return std::nullopt;
  return CpuLine{line.substr(0, key_end + 1), line.substr(begin, line.find_last_not_of(blanks) + 1 - begin)};
}

std::optional<unsigned> hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string part_name(unsigned implementer, unsigned part) {
  const auto* const who = std::ranges::find(implementers, implementer, &ArmImplementer::number);
  if (who == std::end(implementers)) return fmt::format("implementer {:#04x}, part {:#05x}", implementer, part);
  const auto* const found = std::ranges::find_if(
      parts, [&](const ArmPart& one) { return one.implementer == implementer && one.number == part; });
  if (found == std::end(parts)) return fmt::format("{} part {:#05x}", who->name, part);
  return found->name.starts_with(who->name) ? std::string(found->name) : fmt::format("{} {}", who->name, found->name);
}

}  // namespace

std::string cpu_name(std::istream& cpuinfo) {
  std::vector<std::string> names;  // of the parts, in their order
  std::optional<unsigned> implementer;
  std::string other;
  for (std::string text; std::getline(cpuinfo, text);) {
    const auto line = cpu_line(text);
    if (!line) continue;
    if (line->key == "model name") return line->value;
    if (line->key == "CPU implementer") implementer = hexadecimal(line->value);
    const std::optional<unsigned> part = line->key == "CPU part" ? hexadecimal(line->value) : std::nullopt;
    if (implementer && part)
      if (std::string name = part_name(*implementer, *part); std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
    if (other.empty() && (line->key == "cpu" || line->key == "uarch")) other = line->value;  // POWER, RISC-V
  }
  if (!names.empty()) return fmt::format("{}", fmt::join(names, " and "));
  return other.empty() ? "unknown cpu" : other;
}

namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  return cpu_name(file);
}

bool runs_in_hypervisor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string text; std::getline(file, text);)
    if (const auto line = cpu_line(text); line && line->key == "flags")
      return (' ' + line->value + ' ').find(" hypervisor ") != std::string::npos;
  return false;
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
  return std::ranges::any_of(files::entries_of("/proc", error), [&](const std::filesystem::path& process) {
    return first_line(process / "comm").starts_with(name);
  });
}

// "10 21, 21 10": a row for each NUMA node; empty where there is one.
std::string numa_distances() {
  std::string all;
  for (int node = 0;; ++node) {
    const std::string row = first_line("/sys/devices/system/node/node" + std::to_string(node) + "/distance");
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
  text("transparent_huge_pages", bracketed(first_line("/sys/kernel/mm/transparent_hugepage/enabled")));
  text("huge_pages", first_line("/proc/sys/vm/nr_hugepages"));
  all.emplace_back("mps_daemon", std::int64_t{runs("nvidia-cuda-mps")});
  text("numa_distances", numa_distances());
  text("cpu_governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  text("cpu_driver", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"));
  text("numa_balancing", first_line("/proc/sys/kernel/numa_balancing"));
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
