#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "netpipe/devices/host/pci.hpp"
#include "netpipe/devices/opencl/bench.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "tests/scratch.hpp"

namespace opencl_test {

using namespace npgpu;

// Devices of OpenCL: programs built and run, and errors in words. What needs a device is skipped, with the reason,
// where OpenCL has none.

namespace {

// The first that runs on the processor, as PoCL's do; empty, with a message, where there is none.
std::string cpu_device() {
  for (const opencl::Found& one : opencl::inventory())
    if (text_fact(one.info.facts, "device_type") == "CPU") return one.info.id;
  MESSAGE("skipped: no OpenCL device is a processor: ",
          opencl::inventory().empty() ? opencl::why_no_device() : "all are GPUs");
  return {};
}

template <class Function> std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

constexpr const char* twice =
    "kernel void twice(global uint* x, uint more, local uint* y) {"
    "  y[get_local_id(0)] = x[get_global_id(0)];"
    "  x[get_global_id(0)] = 2 * y[get_local_id(0)] + more;"
    "}";

}  // namespace

TEST_CASE("a kernel is built, launched, timed, and its results come back") {
  const std::string id = cpu_device();
  if (id.empty()) return;
  opencl::Bench bench(id);
  const opencl::Program program = bench.build(twice);
  opencl::Kernel kernel = program.kernel("twice");
  std::vector<cl_uint> numbers(256);
  for (cl_uint i = 0; i < numbers.size(); ++i) numbers[i] = i;
  const opencl::Buffer buffer = bench.buffer(numbers.size() * sizeof(cl_uint));
  bench.write(buffer, numbers.data(), buffer.bytes());
  kernel.set(buffer, cl_uint{7}, opencl::Local{32 * sizeof(cl_uint)});
  const ProbeSample once = bench.time(1, kernel, {.groups = 8, .items = 32});
  const ProbeSample thrice = bench.time(3, kernel, {.groups = 8, .items = 32});
  bench.read(buffer, numbers.data(), buffer.bytes());
  for (cl_uint i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == 16 * i + 15 * 7);
  CHECK(once.device_us > 0);
  CHECK(once.host_us > 0);
  CHECK(thrice.device_us > 0);
  CHECK(thrice.host_us >= thrice.device_us);
}

TEST_CASE("a program that cannot be built says what the compiler said") {
  const std::string id = cpu_device();
  if (id.empty()) return;
  const opencl::Bench bench(id);
  const std::string message = message_of([&] { bench.build("kernel void wrong() { no_such_function(1); }"); });
  CHECK(message.find("building a program for " + id) == 0);
  CHECK(message.find("no_such_function") != std::string::npos);
  CHECK(message.find("CL_BUILD_PROGRAM_FAILURE") != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("a device that is the host's processor says so") {
  const std::string id = cpu_device();
  if (id.empty()) return;
  const DeviceInfo info = devices::find(id);
  CHECK(text_fact(info.facts, "same_as") == "host");
  CHECK(number_fact(info.facts, "compute_units") >= 1);
  CHECK(info.memory_bytes > 0);
  const Layout layout = opencl::layout_of(id, DataType::fp32);
  CHECK(layout.units >= 1);
  CHECK(layout.lanes >= 1);
}

TEST_CASE("a device that is not there is named with those that are") {
  const std::string message = message_of([] { devices::find("opencl:1000"); });
  CHECK(message.starts_with("--device opencl:1000"));
}

// Clocks, power and temperature of GPUs of AMD and Intel, from made trees of /sys.

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

}  // namespace opencl_test
