#include "netpipe/devices/opencl/sysfs.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <vector>

#include "netpipe/devices/host/pci.hpp"

namespace npgpu::opencl {

namespace {

namespace fs = std::filesystem;

double number_in(const fs::path& file) {
  double number = not_measured;
  if (!(std::ifstream(file) >> number)) return not_measured;
  return number;
}

// Folders in `parent` whose names begin so, in order: hwmon3, card0.
std::vector<fs::path> folders(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> all;
  std::error_code error;
  for (auto at = fs::directory_iterator(parent, error); !error && at != fs::directory_iterator(); at.increment(error))
    if (at->path().filename().string().starts_with(prefix)) all.push_back(at->path());
  std::ranges::sort(all);
  return all;
}

class Gpu {
 public:
  Gpu(const std::string& pci_bus_id, const fs::path& sys)
      : device_(sys / "bus/pci/devices" / host::linux_bus_id(pci_bus_id)) {}

  // The first of these files of the sensors that holds a number, times `unit`.
  double sensor(std::initializer_list<const char*> files, double unit) const {
    for (const fs::path& hwmon : folders(device_ / "hwmon", "hwmon"))
      for (const char* const file : files)
        if (const double number = number_in(hwmon / file); number > 0) return number * unit;
    return not_measured;
  }
  // The same of Intel's clocks, which lie with the card or with its first tile.
  double clock(std::initializer_list<const char*> files) const {
    std::vector<fs::path> places = folders(device_ / "drm", "card");
    places.push_back(device_ / "tile0/gt0/freq0");
    for (const fs::path& place : places)
      for (const char* const file : files)
        if (const double mhz = number_in(place / file); mhz > 0) return mhz;
    return not_measured;
  }
  // AMD's lists of clocks, "1: 1800Mhz *": the one in use has the star.
  double listed_clock(const char* file, bool in_use) const {
    double found = not_measured;
    std::ifstream lines(device_ / file);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const double mhz = std::strtod(line.c_str() + colon + 1, nullptr);
      if (mhz > 0 && (in_use ? line.find('*') != std::string::npos : !(found > mhz))) found = mhz;
    }
    return found;
  }

 private:
  fs::path device_;
};

double first_known(double a, double b) { return std::isnan(a) ? b : a; }

}  // namespace

Telemetry sysfs_telemetry(const std::string& pci_bus_id, const fs::path& sys) {
  const Gpu gpu(pci_bus_id, sys);
  Telemetry now;
  now.sm_clock_mhz = first_known(
      gpu.listed_clock("pp_dpm_sclk", true),
      first_known(gpu.sensor({"freq1_input"}, 1e-6), gpu.clock({"gt_act_freq_mhz", "gt_cur_freq_mhz",
                                                                "gt/gt0/rps_act_freq_mhz", "act_freq", "cur_freq"})));
  now.memory_clock_mhz = first_known(gpu.listed_clock("pp_dpm_mclk", true), gpu.sensor({"freq2_input"}, 1e-6));
  now.power_w = gpu.sensor({"power1_average", "power1_input"}, 1e-6);
  now.temperature_c = gpu.sensor({"temp1_input"}, 1e-3);
  return now;
}

Facts sysfs_facts(const std::string& pci_bus_id, const fs::path& sys) {
  const Gpu gpu(pci_bus_id, sys);
  Facts facts;
  const auto add = [&](const char* name, double value) {
    if (value > 0) facts.emplace_back(name, value);
  };
  const auto add_whole = [&](const char* name, double value) {
    if (value > 0) facts.emplace_back(name, static_cast<std::int64_t>(value));
  };
  add_whole("max_sm_clock_mhz",
            first_known(gpu.listed_clock("pp_dpm_sclk", false),
                        gpu.clock({"gt_RP0_freq_mhz", "gt_max_freq_mhz", "gt/gt0/rps_RP0_freq_mhz", "rp0_freq"})));
  add_whole("max_memory_clock_mhz", gpu.listed_clock("pp_dpm_mclk", false));
  add("power_limit_w", gpu.sensor({"power1_cap", "power1_max"}, 1e-6));
  const LinkState best = host::pci_link(pci_bus_id, host::LinkAt::best, sys),
                  now = host::pci_link(pci_bus_id, host::LinkAt::now, sys);
  add_whole("max_pcie_generation", best.generation);
  add_whole("max_pcie_lanes", best.lanes);
  add_whole("pcie_generation_now", now.generation);
  add_whole("pcie_lanes_now", now.lanes);
  return facts;
}

double sysfs_joules(const std::string& pci_bus_id, const fs::path& sys) {
  return Gpu(pci_bus_id, sys).sensor({"energy1_input"}, 1e-6);
}

}  // namespace npgpu::opencl
