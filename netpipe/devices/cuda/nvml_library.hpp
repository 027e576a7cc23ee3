// The functions of NVML that are used, found at run time, and the few types that they need.
#pragma once

#include <dlfcn.h>

#include <optional>
#include <string>

namespace npgpu::cuda::nvml {

// From NVIDIA's NVML API reference; stable since R450 (the throttle reasons' new name since R535).
using Result = int;
inline constexpr Result success = 0;
using Handle = void*;
enum NvmlClock : int { sm_clock = 1, memory_clock = 2 };
inline constexpr int gpu_temperature = 0;
inline constexpr int slowdown = 1;  // of the thresholds of temperature
inline constexpr Result not_found = 6, insufficient_size = 7;

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
struct EventData {
  Handle device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
inline constexpr unsigned pcie_sent_bytes = 197, pcie_received_bytes = 198;
inline constexpr unsigned nvlink_speed_mb_s = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: of an active link, one way
inline constexpr unsigned max_nvlinks = 36;
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

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
  Result (*vbios_version)(Handle, char*, unsigned) = find("nvmlDeviceGetVbiosVersion");
  Result (*default_power_limit_mw)(Handle, unsigned*) = find("nvmlDeviceGetPowerManagementDefaultLimit");
  Result (*temperature_threshold)(Handle, int, unsigned*) = find("nvmlDeviceGetTemperatureThreshold");
  Result (*ecc_errors)(Handle, int, int, unsigned long long*) = find("nvmlDeviceGetTotalEccErrors");
  Result (*remapped_rows)(Handle, unsigned*, unsigned*, unsigned*, unsigned*) = find("nvmlDeviceGetRemappedRows");
  Result (*retired_pages)(Handle, int, unsigned*, unsigned long long*) = find("nvmlDeviceGetRetiredPages");
  Result (*retired_pages_pending)(Handle, unsigned*) = find("nvmlDeviceGetRetiredPagesPendingStatus");
  Result (*pcie_replays)(Handle, unsigned*) = find("nvmlDeviceGetPcieReplayCounter");
  Result (*nvlink_state)(Handle, unsigned, unsigned*) = find("nvmlDeviceGetNvLinkState");
  Result (*nvlink_version)(Handle, unsigned, unsigned*) = find("nvmlDeviceGetNvLinkVersion");
  Result (*nvlink_remote_type)(Handle, unsigned, int*) = find("nvmlDeviceGetNvLinkRemoteDeviceType");
  Result (*nvlink_remote)(Handle, unsigned, PciInfo*) = find("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  Result (*make_event_set)(Handle*) = find("nvmlEventSetCreate");
  Result (*register_events)(Handle, unsigned long long, Handle) = find("nvmlDeviceRegisterEvents");
  Result (*wait_for_event)(Handle, EventData*, unsigned) = find("nvmlEventSetWait_v2");
  std::string why_not;  // empty: usable

  std::string text_of(Result result) const { return error_string ? error_string(result) : "unknown error"; }
};

// Opened once a process.
const Library& library();

// Asks one question; nothing if the function is missing or the answer is "not supported".
template <class Function, class... OfWhat>
std::optional<unsigned> ask(Function* function, Handle handle, OfWhat... of_what) {
  unsigned value = 0;
  if (!function || function(handle, of_what..., &value) != success) return std::nullopt;
  return value;
}

}  // namespace npgpu::cuda::nvml
