// The functions of NVML that are used, found at run time, and the few types that they need.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>

namespace npgpu::nvml {

// From NVIDIA's NVML API reference; stable since R450 (the throttle reasons' new name since R535).
using Result = int;
inline constexpr Result success = 0;
using Handle = void*;
enum NvmlClock : int { sm_clock = 1, memory_clock = 2 };
inline constexpr int gpu_temperature = 0;
inline constexpr int slowdown = 1;  // of the thresholds of temperature
inline constexpr Result invalid_argument = 2, not_supported = 3, no_permission = 4, not_found = 6,
                        insufficient_size = 7, timeout = 10, function_not_found = 13, insufficient_power = 8,
                        interrupt_issue = 11, gpu_not_found = 28, gpu_is_lost = 15, reset_required = 16,
                        unknown_error = 999;

// Ours: this version of NVML has no such function.
inline constexpr Result no_function = -1;

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
inline constexpr unsigned instantaneous_power = 186;
inline constexpr unsigned pcie_sent_bytes = 197, pcie_received_bytes = 198;
// NVML_FI_DEV_C2C_LINK_COUNT, _GET_STATUS and _GET_MAX_BW (MB/s, one way); the scope of the last two is the link. From
// R530 on.
inline constexpr unsigned c2c_links = 170, c2c_status = 171, c2c_mb_s = 172;
inline constexpr unsigned recovery_action = 230;   // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, from R565 on
inline constexpr unsigned nvlink_speed_mb_s = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: of an active link, one way
inline constexpr unsigned max_nvlinks = 36;
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
// nvmlGpuFabricInfo_v2_t, of which the first version (R515) has all but `version` and `health`.
struct FabricInfo {
  unsigned version = sizeof(FabricInfo) | 2u << 24;
  unsigned char cluster[16] = {};
  Result status = 0;  // of the registration; only where the state is completed
  unsigned clique = 0;
  unsigned char state = 0;
  unsigned health = 0;
};
struct OldFabricInfo {
  unsigned char cluster[16] = {};
  Result status = 0;
  unsigned clique = 0;
  unsigned char state = 0;
};
// nvmlConfComputeSystemState_t, and nvmlSystemConfComputeSettings_v1_t, which has the GPUs' mode too.
struct ConfComputeState {
  unsigned environment = 0, feature = 0, dev_tools = 0;
};
struct ConfComputeSettings {
  unsigned version = sizeof(ConfComputeSettings) | 1u << 24;
  unsigned environment = 0, feature = 0, dev_tools = 0, several_gpus = 0;
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
  Result (*energy_mj)(Handle, unsigned long long*) = find("nvmlDeviceGetTotalEnergyConsumption");
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
  Result (*device_count)(unsigned*) = find("nvmlDeviceGetCount_v2");
  Result (*uuid)(Handle, char*, unsigned) = find("nvmlDeviceGetUUID");
  Result (*index)(Handle, unsigned*) = find("nvmlDeviceGetIndex");
  Result (*fabric)(Handle, FabricInfo*) = find("nvmlDeviceGetGpuFabricInfoV");
  Result (*old_fabric)(Handle, OldFabricInfo*) = find("nvmlDeviceGetGpuFabricInfo");
  Result (*conf_compute)(ConfComputeState*) = find("nvmlSystemGetConfComputeState");
  Result (*conf_compute_settings)(ConfComputeSettings*) = find("nvmlSystemGetConfComputeSettings");
  std::string why_not;  // empty: usable

  std::string text_of(Result result) const {
    const char* const text = error_string ? error_string(result) : nullptr;
    return text ? text : "unknown error";
  }
};

// Opened once a process.
const Library& library();

// What NVML answered, and with which result; the value counts only where that is success.
struct Answer {
  Result result = no_function;
  unsigned long long value = 0;

  explicit operator bool() const { return result == success; }
  unsigned long long value_or(unsigned long long other) const { return result == success ? value : other; }
  std::int64_t whole() const { return static_cast<std::int64_t>(value); }
  double number() const { return static_cast<double>(value); }
};

// Asks one question. T is what the function writes.
template <class T = unsigned, class Function, class... OfWhat>
Answer ask(Function* function, Handle handle, OfWhat... of_what) {
  T value = 0;
  const Result result = function ? function(handle, of_what..., &value) : no_function;
  return {result, value};
}

// A field (NVML_FI_...), of one of several links where it has a scope.
inline Answer ask_field(Handle handle, unsigned field, unsigned scope = 0) {
  FieldValue value{};
  value.field = field;
  value.scope = scope;
  if (!library().fields) return {};
  const Result result = library().fields(handle, 1, &value);
  const Result of_field = result == success ? value.result : result;
  return {of_field == invalid_argument ? no_function : of_field, value.value.large};  // a field that it does not know
}

}  // namespace npgpu::nvml
