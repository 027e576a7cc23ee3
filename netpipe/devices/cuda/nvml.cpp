#include "netpipe/devices/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

namespace npgpu::cuda {

namespace {

// From NVIDIA's NVML API reference; stable since R450 (the throttle reasons' new name since R535).
using Result = int;
constexpr Result success = 0;
using Handle = void*;
enum NvmlClock : int { sm_clock = 1, memory_clock = 2 };
constexpr int gpu_temperature = 0;
constexpr Result not_found = 6, insufficient_size = 7;

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};
struct UtilizationSample {
  unsigned pid;
  unsigned long long time_stamp_us;
  unsigned compute, memory, encoder, decoder;
};
struct FieldValue {
  unsigned field, scope;
  long long time_stamp_us, latency_us;
  int type;
  Result result;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};
constexpr unsigned pcie_sent_bytes = 197, pcie_received_bytes = 198;

// Functions that this version does not have are null.
struct Library {
  struct Symbol {
    void* at;
    template <class Function> operator Function*() const { return reinterpret_cast<Function*>(at); }
  };
  Symbol find(const char* name, const char* older = nullptr) const {
    void* const found = handle ? dlsym(handle, name) : nullptr;
    return {found || !handle || !older ? found : dlsym(handle, older)};
  }

  void* const handle = dlopen("libnvidia-ml.so.1", RTLD_NOW);  // held as long as the process
  Result (*init)() = find("nvmlInit_v2");
  const char* (*error_string)(Result) = find("nvmlErrorString");
  Result (*handle_by_bus)(const char*, Handle*) = find("nvmlDeviceGetHandleByPciBusId_v2");
  Result (*clock)(Handle, int, unsigned*) = find("nvmlDeviceGetClockInfo");
  Result (*max_clock)(Handle, int, unsigned*) = find("nvmlDeviceGetMaxClockInfo");
  Result (*power_mw)(Handle, unsigned*) = find("nvmlDeviceGetPowerUsage");
  Result (*power_limit_mw)(Handle, unsigned*) = find("nvmlDeviceGetEnforcedPowerLimit");
  Result (*temperature)(Handle, int, unsigned*) = find("nvmlDeviceGetTemperature");
  Result (*throttle_reasons)(Handle, unsigned long long*) = find("nvmlDeviceGetCurrentClocksEventReasons",
                                                                 "nvmlDeviceGetCurrentClocksThrottleReasons");
  Result (*link_generation)(Handle, unsigned*) = find("nvmlDeviceGetCurrPcieLinkGeneration");
  Result (*link_width)(Handle, unsigned*) = find("nvmlDeviceGetCurrPcieLinkWidth");
  Result (*max_link_generation)(Handle, unsigned*) = find("nvmlDeviceGetMaxPcieLinkGeneration");
  Result (*gpu_max_link_generation)(Handle, unsigned*) = find("nvmlDeviceGetGpuMaxPcieLinkGeneration");
  Result (*max_link_width)(Handle, unsigned*) = find("nvmlDeviceGetMaxPcieLinkWidth");
  Result (*persistence)(Handle, unsigned*) = find("nvmlDeviceGetPersistenceMode");
  Result (*mig_mode)(Handle, unsigned*, unsigned*) = find("nvmlDeviceGetMigMode");
  Result (*driver_version)(char*, unsigned) = find("nvmlSystemGetDriverVersion");
  Result (*processes)(Handle, unsigned*, ProcessInfo*) = find("nvmlDeviceGetComputeRunningProcesses_v3",
                                                              "nvmlDeviceGetComputeRunningProcesses_v2");
  Result (*utilization)(Handle, UtilizationSample*, unsigned*,
                        unsigned long long) = find("nvmlDeviceGetProcessUtilization");
  Result (*fields)(Handle, int, FieldValue*) = find("nvmlDeviceGetFieldValues");
  std::string why_not;  // empty: usable

  std::string text_of(Result result) const { return error_string ? error_string(result) : "unknown error"; }
};

Library open_library() {
  Library nvml;
  if (!nvml.handle) {
    nvml.why_not = "NVML (libnvidia-ml.so.1) is not there";
  } else if (!nvml.init || !nvml.handle_by_bus) {
    nvml.why_not = "NVML is there, but it lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2";
  } else if (const Result result = nvml.init(); result != success) {
    nvml.why_not = "NVML could not start: " + nvml.text_of(result);
  }
  return nvml;
}

const Library& nvml() {
  static const Library one = open_library();
  return one;
}

// Asks one question; nothing if the function is missing or the answer is "not supported".
template <class Function, class... OfWhat>
std::optional<unsigned> ask(Function* function, Handle handle, OfWhat... of_what) {
  unsigned value = 0;
  if (!function || function(handle, of_what..., &value) != success) return std::nullopt;
  return value;
}

}  // namespace

std::optional<NvmlDevice> NvmlDevice::find(const std::string& pci_bus_id, std::string& why) {
  why = nvml().why_not;
  if (!why.empty()) return std::nullopt;
  Handle handle = nullptr;
  if (const Result result = nvml().handle_by_bus(pci_bus_id.c_str(), &handle); result != success) {
    why = fmt::format("NVML does not know the GPU at {}: {}", pci_bus_id, nvml().text_of(result));
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

std::optional<std::vector<long>> NvmlDevice::processes() const {
  if (!nvml().processes) return std::nullopt;
  std::vector<ProcessInfo> infos(16);
  for (;;) {
    auto count = static_cast<unsigned>(infos.size());
    const Result result = nvml().processes(handle_, &count, infos.data());
    if (result == insufficient_size) {
      infos.resize(std::max<std::size_t>(count, infos.size()) + 16);  // more may start meanwhile
      continue;
    }
    if (result != success) return std::nullopt;
    std::vector<long> pids;
    for (unsigned i = 0; i < count; ++i) pids.push_back(infos[i].pid);
    return pids;
  }
}

std::optional<std::vector<Use>> NvmlDevice::uses(std::uint64_t& since) const {
  if (!nvml().utilization) return std::nullopt;
  std::vector<UtilizationSample> samples(128);
  auto count = static_cast<unsigned>(samples.size());
  Result result = nvml().utilization(handle_, samples.data(), &count, since);
  if (result == insufficient_size) {
    samples.resize(count);
    result = nvml().utilization(handle_, samples.data(), &count, since);
  }
  if (result == not_found) return std::vector<Use>{};  // no sample is newer
  if (result != success) return std::nullopt;
  std::vector<Use> uses;
  const std::uint64_t before = since;
  for (unsigned i = 0; i < count; ++i) {
    const UtilizationSample& s = samples[i];
    if (s.time_stamp_us <= before || s.compute > 100 || s.memory > 100) continue;
    since = std::max<std::uint64_t>(since, s.time_stamp_us);
    uses.push_back({static_cast<long>(s.pid), s.compute, s.memory});
  }
  return uses;
}

std::optional<LinkBytes> NvmlDevice::link_bytes() const {
  FieldValue values[2] = {};
  values[0].field = pcie_sent_bytes;
  values[1].field = pcie_received_bytes;
  if (!nvml().fields || nvml().fields(handle_, 2, values) != success) return std::nullopt;
  for (const FieldValue& one : values)
    if (one.result != success) return std::nullopt;
  return LinkBytes{values[0].value.number, values[1].value.number};
}

}  // namespace npgpu::cuda
