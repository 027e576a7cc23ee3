#include "netpipe/devices/host/cgroup.hpp"

#include <algorithm>

namespace npgpu::host {

namespace fs = std::filesystem;

namespace {

// A file that begins with a number; "max" and what cannot be read are nothing.
template <class Number> std::optional<Number> number_in(const fs::path& path) {
  std::ifstream file(path);
  Number value{};
  if (file >> value) return value;
  return std::nullopt;
}

void add_with_those_above(std::vector<Cgroup>& all, int version, const fs::path& mount, const std::string& group) {
  std::error_code error;
  if (!fs::is_directory(mount, error)) return;
  // A group outside the namespace of this process is shown as "/../other": of it nothing is mounted here.
  fs::path relative = group.find("..") == group.npos ? fs::path(group).relative_path() : fs::path();
  for (;;) {
    const fs::path folder = relative.empty() ? mount : mount / relative;
    if (fs::is_directory(folder, error)) all.push_back({version, folder, '/' + relative.string()});
    if (relative.empty()) return;
    relative = relative.parent_path();
  }
}

// Processors that a group's quota allows; nothing without one.
std::optional<double> quota_of(const Cgroup& group) {
  double quota = 0, period = 0;
  if (group.version == 2) {
    std::ifstream file(group.folder / "cpu.max");  // "50000 100000", "max 100000"
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    quota = number_in<double>(group.folder / "cpu.cfs_quota_us").value_or(-1);  // -1: none
    period = number_in<double>(group.folder / "cpu.cfs_period_us").value_or(0);
  }
  if (!(quota > 0 && period > 0)) return std::nullopt;
  return quota / period;
}

}  // namespace

std::vector<Cgroup> cgroups_of(const std::string& controller, const fs::path& root) {
  std::vector<Cgroup> all;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");  // "4:cpu,cpuacct:/a/b" (version 1), "0::/a/b" (version 2)
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      add_with_those_above(all, 2, mount, group);
      add_with_those_above(all, 2, mount / "unified", group);
    } else if ((',' + controllers + ',').find(',' + controller + ',') != std::string::npos) {
      std::error_code error;
      const fs::path own = mount / controller;  // a link to the folder of all of them, or the folder itself
      add_with_those_above(all, 1, fs::exists(own, error) ? own : mount / controllers, group);
    }
  }
  return all;
}

std::uint64_t cgroup_memory_room(const fs::path& root) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Cgroup& group : cgroups_of("memory", root)) {
    const bool is_new = group.version == 2;
    const auto limit = number_in<std::uint64_t>(group.folder / (is_new ? "memory.max" : "memory.limit_in_bytes"));
    const auto usage = number_in<std::uint64_t>(group.folder / (is_new ? "memory.current" : "memory.usage_in_bytes"));
    if (!limit || !usage) continue;
    // File pages that are given back first.
    const std::uint64_t cache =
        number_after(group.folder / "memory.stat", is_new ? "inactive_file" : "total_inactive_file").value_or(0);
    const std::uint64_t held = *usage - std::min(*usage, cache);
    least = std::min(least, *limit - std::min(*limit, held));
  }
  return least;
}

CpuQuota cpu_quota(const fs::path& root) {
  CpuQuota tightest;
  for (const Cgroup& group : cgroups_of("cpu", root))
    if (const auto quota = quota_of(group); quota && *quota < tightest.processors) tightest = {*quota, group.path};
  return tightest;
}

QuotaClock::QuotaClock(const fs::path& root) : limited_(cgroups_of("cpu", root)) {
  std::erase_if(limited_, [](const Cgroup& group) { return !quota_of(group); });
}

Seconds QuotaClock::stopped() const {
  Seconds sum{0};
  for (const Cgroup& group : limited_) {
    const fs::path stat = group.folder / "cpu.stat";
    if (group.version == 2)
      sum += Seconds{static_cast<double>(number_after(stat, "throttled_usec").value_or(0)) * 1e-6};
    else sum += Seconds{static_cast<double>(number_after(stat, "throttled_time").value_or(0)) * 1e-9};
  }
  return sum;
}

}  // namespace npgpu::host
