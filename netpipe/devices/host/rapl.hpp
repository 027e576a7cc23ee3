// The energy of the host's processors by RAPL, as Linux shows it under /sys/class/powercap; most systems let root alone
// read it. The counter of a package steps every millisecond, and wraps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace npgpu::host {

class Rapl {
 public:
  // `root`: /sys/class/powercap, or a test's folder like it. `why` is set where nothing can be read.
  Rapl(const std::filesystem::path& root, std::string& why);
  bool is_readable() const { return !packages_.empty(); }
  // Of all packages, since this was made.
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
