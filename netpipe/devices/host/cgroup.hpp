// What control groups allow of memory and processors, and files of the system with a line "key value" for each number
// (memory.stat, cpu.stat, meminfo).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::host {

// The number behind `key`; nothing where the file or the key is not there.
inline std::optional<std::uint64_t> number_after(const std::filesystem::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word >> value && word == key) return value;
  }
  return std::nullopt;
}

inline std::string first_line(const std::filesystem::path& path) {  // empty where it cannot be read
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// What the control groups (cgroups, version 1 and 2) that this process is in allow of memory and processors.

// The folder of one group, and the group's path as the system counts it: "/" is the topmost that is seen here.
struct Cgroup {
  int version = 2;
  std::filesystem::path folder;
  std::string path;
};

// The process's own groups and all above them up to the mount point, the innermost first: those of version 1 that the
// controller ("memory", "cpu") has, and those of version 2. A limit holds in every one of them: the tightest counts.
// Inside a container the system may name groups of the host's that are not mounted here; the mount point is then the
// container's own group. `root` is for tests, here and below.
std::vector<Cgroup> cgroups_of(const std::string& controller, const std::filesystem::path& root = "/");

// Room under the tightest limit of memory; page cache that can be given back counts as free. The largest number where
// there is no limit.
std::uint64_t cgroup_memory_room(const std::filesystem::path& root = "/");

// How much processor time a process has in each period on average, in processors. All processes of the group share it,
// on however many processors they run; when it is used up, they stand still until the next period begins.
struct CpuQuota {
  double processors = std::numeric_limits<double>::infinity();
  std::string group;  // that has this quota; empty without one

  bool is_limited() const { return processors < std::numeric_limits<double>::infinity(); }
};
CpuQuota cpu_quota(const std::filesystem::path& root = "/");

// How long quotas have made processors stand still until now, those of all groups that had one when this was made.
class QuotaClock {
 public:
  explicit QuotaClock(const std::filesystem::path& root = "/");
  Seconds stopped() const;

 private:
  std::vector<Cgroup> limited_;
};

}  // namespace npgpu::host
