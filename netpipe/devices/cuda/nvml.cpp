#include "netpipe/devices/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace npgpu::cuda {

namespace {

// From NVIDIA's NVML API reference; stable since R450 (the throttle reasons' new name since R535).
using Result = int;
constexpr Result success = 0;
using Handle = void*;
enum Clock : int { sm_clock = 1, memory_clock = 2 };
constexpr int gpu_temperature = 0;

struct Library {
  Result (*init)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*handle_by_bus)(const char*, Handle*) = nullptr;
  Result (*clock)(Handle, int, unsigned*) = nullptr;
  Result (*max_clock)(Handle, int, unsigned*) = nullptr;
  Result (*power_mw)(Handle, unsigned*) = nullptr;
  Result (*power_limit_mw)(Handle, unsigned*) = nullptr;
  Result (*temperature)(Handle, int, unsigned*) = nullptr;
  Result (*throttle_reasons)(Handle, unsigned long long*) = nullptr;
  Result (*link_generation)(Handle, unsigned*) = nullptr;
  Result (*link_width)(Handle, unsigned*) = nullptr;
  Result (*max_link_generation)(Handle, unsigned*) = nullptr;
  Result (*gpu_max_link_generation)(Handle, unsigned*) = nullptr;
  Result (*max_link_width)(Handle, unsigned*) = nullptr;
  Result (*persistence)(Handle, unsigned*) = nullptr;
  Result (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;
  Result (*driver_version)(char*, unsigned) = nullptr;
  std::string why_not;  // empty: usable
};

template <class Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* found = dlsym(library, name)) {
      function = reinterpret_cast<Function>(found);
      return;
    }
}

Library open_library() {
  Library nvml;
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);  // held as long as the process
  if (!library) {
    nvml.why_not = "NVML (libnvidia-ml.so.1) is not there";
    return nvml;
  }
  find(library, nvml.init, {"nvmlInit_v2"});
  find(library, nvml.error_string, {"nvmlErrorString"});
  find(library, nvml.handle_by_bus, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(library, nvml.clock, {"nvmlDeviceGetClockInfo"});
  find(library, nvml.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  find(library, nvml.power_mw, {"nvmlDeviceGetPowerUsage"});
  find(library, nvml.power_limit_mw, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(library, nvml.temperature, {"nvmlDeviceGetTemperature"});
  find(library, nvml.throttle_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(library, nvml.link_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  find(library, nvml.link_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  find(library, nvml.max_link_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(library, nvml.gpu_max_link_generation, {"nvmlDeviceGetGpuMaxPcieLinkGeneration"});
  find(library, nvml.max_link_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  find(library, nvml.persistence, {"nvmlDeviceGetPersistenceMode"});
  find(library, nvml.mig_mode, {"nvmlDeviceGetMigMode"});
  find(library, nvml.driver_version, {"nvmlSystemGetDriverVersion"});
  if (!nvml.init || !nvml.handle_by_bus) {
    nvml.why_not = "NVML is there, but it lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2";
  } else if (const Result result = nvml.init(); result != success) {
    nvml.why_not =
        fmt::format("NVML could not start: {}", nvml.error_string ? nvml.error_string(result) : "unknown error");
  }
  return nvml;
}

const Library& nvml() {
  static const Library one = open_library();
  return one;
}

// Asks one question; nothing if the function is missing or the answer is "not supported".
std::optional<unsigned> ask(Result (*function)(Handle, unsigned*), Handle handle) {
  unsigned value = 0;
  if (!function || function(handle, &value) != success) return std::nullopt;
  return value;
}
std::optional<unsigned> ask(Result (*function)(Handle, int, unsigned*), Handle handle, int of_what) {
  unsigned value = 0;
  if (!function || function(handle, of_what, &value) != success) return std::nullopt;
  return value;
}

}  // namespace

std::optional<NvmlDevice> NvmlDevice::find(const std::string& pci_bus_id, std::string& why) {
  why = nvml().why_not;
  if (!why.empty()) return std::nullopt;
  Handle handle = nullptr;
  if (const Result result = nvml().handle_by_bus(pci_bus_id.c_str(), &handle); result != success) {
    why = fmt::format("NVML does not know the GPU at {}: {}", pci_bus_id,
                      nvml().error_string ? nvml().error_string(result) : "unknown error");
    return std::nullopt;
  }
  return NvmlDevice(handle);
}

Telemetry NvmlDevice::read() const {
  const Library& n = nvml();
  Telemetry t;
  if (const auto mhz = ask(n.clock, handle_, sm_clock)) t.sm_clock_mhz = *mhz;
  if (const auto mhz = ask(n.clock, handle_, memory_clock)) t.memory_clock_mhz = *mhz;
  if (const auto mw = ask(n.power_mw, handle_)) t.power_w = *mw * 1e-3;
  if (const auto c = ask(n.temperature, handle_, gpu_temperature)) t.temperature_c = *c;
  unsigned long long reasons = 0;
  if (n.throttle_reasons && n.throttle_reasons(handle_, &reasons) == success) t.throttle_reasons = reasons;
  return t;
}

Facts NvmlDevice::facts() const {
  const Library& n = nvml();
  Facts facts;
  const auto add = [&](const char* name, std::optional<unsigned> value) {
    if (value) facts.emplace_back(name, std::int64_t{*value});
  };
  char version[96] = {};
  if (n.driver_version && n.driver_version(version, sizeof version) == success)
    facts.emplace_back("driver_version", std::string(version));
  add("pcie_generation_now", ask(n.link_generation, handle_));
  add("pcie_lanes_now", ask(n.link_width, handle_));
  add("max_pcie_generation", ask(n.max_link_generation, handle_));
  add("gpu_max_pcie_generation", ask(n.gpu_max_link_generation, handle_));
  add("max_pcie_lanes", ask(n.max_link_width, handle_));
  add("max_sm_clock_mhz", ask(n.max_clock, handle_, sm_clock));
  add("max_memory_clock_mhz", ask(n.max_clock, handle_, memory_clock));
  if (const auto mw = ask(n.power_limit_mw, handle_)) facts.emplace_back("power_limit_w", *mw * 1e-3);
  add("persistence_mode", ask(n.persistence, handle_));
  unsigned mig = 0, pending = 0;
  if (n.mig_mode && n.mig_mode(handle_, &mig, &pending) == success) facts.emplace_back("mig_mode", std::int64_t{mig});
  return facts;
}

Limit pcie_limit(unsigned generation, unsigned lanes) {
  struct Signalling {
    double gigatransfers_per_s;
    int payload_bits, line_bits;
  };
  // PCI Express Base Specification; generation 6 by its 256-byte flits with 242 bytes of them for packets.
  static constexpr Signalling signalling[] = {{2.5, 8, 10},   {5, 8, 10},     {8, 128, 130},
                                              {16, 128, 130}, {32, 128, 130}, {64, 242, 256}};
  if (generation < 1 || generation > std::size(signalling))
    return {not_measured, fmt::format("unknown: PCIe generation {}", generation)};
  const Signalling& s = signalling[generation - 1];
  return {s.gigatransfers_per_s * 1e9 * lanes * s.payload_bits / s.line_bits / 8,
          fmt::format("PCIe Gen{} x{}: {:g} GT/s * {} lanes * {}/{}", generation, lanes, s.gigatransfers_per_s, lanes,
                      s.payload_bits, s.line_bits)};
}

}  // namespace npgpu::cuda
