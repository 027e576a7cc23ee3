// Clocks, power and temperature of GPUs of AMD and Intel, from made trees of /sys.
#include "netpipe/devices/opencl/sysfs.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "netpipe/devices/host/pci.hpp"
#include "tests/scratch.hpp"

namespace sysfs_test {

using namespace npgpu;

namespace {

namespace fs = std::filesystem;

constexpr const char* bus = "0000:03:00.0";

class MadeSys {
 public:
  fs::path root() const { return folder_.path(); }
  void write(const std::string& name, const std::string& text) const {
    const fs::path file = root() / "bus/pci/devices" / bus / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

 private:
  ScratchFolder folder_;
};

}  // namespace

TEST_CASE("an AMD card: the clocks in use have the star") {
  const MadeSys sys;
  sys.write("pp_dpm_sclk", "0: 500Mhz\n1: 1250Mhz *\n2: 2100Mhz\n");
  sys.write("pp_dpm_mclk", "0: 96Mhz\n1: 1600Mhz *\n");
  sys.write("hwmon/hwmon7/power1_average", "87000000\n");
  sys.write("hwmon/hwmon7/power1_cap", "300000000\n");
  sys.write("hwmon/hwmon7/temp1_input", "61000\n");
  sys.write("max_link_speed", "16.0 GT/s PCIe\n");
  sys.write("max_link_width", "16\n");
  sys.write("current_link_speed", "2.5 GT/s PCIe\n");
  sys.write("current_link_width", "8\n");
  sys.write("numa_node", "1\n");
  const Telemetry now = opencl::sysfs_telemetry("0000:03:00.0", sys.root());
  CHECK(now.sm_clock_mhz == 1250);
  CHECK(now.memory_clock_mhz == 1600);
  CHECK(now.power_w == doctest::Approx(87));
  CHECK(now.temperature_c == doctest::Approx(61));
  const Facts facts = opencl::sysfs_facts("00000000:03:00.0", sys.root());
  CHECK(number_fact(facts, "max_sm_clock_mhz") == 2100);
  CHECK(number_fact(facts, "max_memory_clock_mhz") == 1600);
  CHECK(number_fact(facts, "power_limit_w") == doctest::Approx(300));
  CHECK(number_fact(facts, "max_pcie_generation") == 4);
  CHECK(number_fact(facts, "pcie_generation_now") == 1);
  CHECK(number_fact(facts, "pcie_lanes_now") == 8);
  CHECK(host::pci_numa_node(bus, sys.root()) == 1);
  CHECK(std::isnan(opencl::sysfs_joules(bus, sys.root())));
}

TEST_CASE("an Intel card by i915, and one by xe") {
  const MadeSys i915, xe;
  i915.write("drm/card1/gt_act_freq_mhz", "1150\n");
  i915.write("drm/card1/gt_RP0_freq_mhz", "1300\n");
  i915.write("hwmon/hwmon2/energy1_input", "5000000\n");
  CHECK(opencl::sysfs_telemetry(bus, i915.root()).sm_clock_mhz == 1150);
  CHECK(number_fact(opencl::sysfs_facts(bus, i915.root()), "max_sm_clock_mhz") == 1300);
  CHECK(opencl::sysfs_joules(bus, i915.root()) == doctest::Approx(5));
  xe.write("tile0/gt0/freq0/act_freq", "2400\n");
  xe.write("tile0/gt0/freq0/rp0_freq", "2450\n");
  CHECK(opencl::sysfs_telemetry(bus, xe.root()).sm_clock_mhz == 2400);
  CHECK(number_fact(opencl::sysfs_facts(bus, xe.root()), "max_sm_clock_mhz") == 2450);
}

TEST_CASE("what cannot be read, or is no number, is left out") {
  const MadeSys sys;
  CHECK(opencl::sysfs_telemetry(bus, sys.root()).power_w != opencl::sysfs_telemetry(bus, sys.root()).power_w);  // NaN
  CHECK(opencl::sysfs_facts(bus, sys.root()).empty());
  sys.write("pp_dpm_sclk", "nothing\n: *\n1: -5Mhz *\n");
  sys.write("max_link_speed", "Unknown\n");
  sys.write("max_link_width", "255\n");
  sys.write("hwmon/hwmon0/power1_average", "many\n");
  CHECK(opencl::sysfs_facts(bus, sys.root()).empty());
  CHECK(std::isnan(opencl::sysfs_telemetry(bus, sys.root()).sm_clock_mhz));
  CHECK(host::pci_numa_node(bus, sys.root()) == -1);
}

}  // namespace sysfs_test
