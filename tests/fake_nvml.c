// A libnvidia-ml.so.1 for tests: every question is answered with the result that FAKE_NVML says (0: success), and
// single ones with that of FAKE_<function>. What it writes on success is in the functions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int result_of(const char* function) {
  char variable[128];
  snprintf(variable, sizeof variable, "FAKE_%s", function);
  const char* text = getenv(variable);
  if (!text) text = getenv("FAKE_NVML");
  return text ? atoi(text) : 0;
}

int nvmlInit_v2(void) { return 0; }
const char* nvmlErrorString(int result) {
  return result == 15 ? "GPU is lost" : result == 999 ? "Unknown Error" : "Some Error";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
  (void)bus_id;
  *handle = (void*)1;
  return result_of("nvmlDeviceGetHandleByPciBusId_v2");
}

#define UNSIGNED(function, written)          \
  int function(void* gpu, unsigned* value) { \
    (void)gpu;                               \
    const int result = result_of(#function); \
    if (result == 0) *value = written;       \
    return result;                           \
  }
#define UNSIGNED_OF(function, written)                    \
  int function(void* gpu, int of_what, unsigned* value) { \
    (void)gpu, (void)of_what;                             \
    const int result = result_of(#function);              \
    if (result == 0) *value = written;                    \
    return result;                                        \
  }
UNSIGNED_OF(nvmlDeviceGetClockInfo, 1980)
UNSIGNED_OF(nvmlDeviceGetMaxClockInfo, 1980)
UNSIGNED(nvmlDeviceGetPowerUsage, 100000)
UNSIGNED(nvmlDeviceGetEnforcedPowerLimit, 700000)
UNSIGNED(nvmlDeviceGetPowerManagementDefaultLimit, 700000)
UNSIGNED_OF(nvmlDeviceGetTemperature, 30)
UNSIGNED_OF(nvmlDeviceGetTemperatureThreshold, 95)
UNSIGNED(nvmlDeviceGetCurrPcieLinkGeneration, 5)
UNSIGNED(nvmlDeviceGetCurrPcieLinkWidth, 16)
UNSIGNED(nvmlDeviceGetMaxPcieLinkGeneration, 5)
UNSIGNED(nvmlDeviceGetGpuMaxPcieLinkGeneration, 5)
UNSIGNED(nvmlDeviceGetMaxPcieLinkWidth, 16)
UNSIGNED(nvmlDeviceGetPersistenceMode, 1)
UNSIGNED(nvmlDeviceGetPcieReplayCounter, 0)
UNSIGNED(nvmlDeviceGetRetiredPagesPendingStatus, 0)

int nvmlDeviceGetCurrentClocksEventReasons(void* gpu, unsigned long long* reasons) {
  (void)gpu;
  *reasons = 0;
  return result_of("nvmlDeviceGetCurrentClocksEventReasons");
}
int nvmlDeviceGetMigMode(void* gpu, unsigned* current, unsigned* pending) {
  (void)gpu;
  *current = *pending = 0;
  return result_of("nvmlDeviceGetMigMode");
}
int nvmlDeviceGetTotalEccErrors(void* gpu, int type, int since, unsigned long long* count) {
  (void)gpu, (void)type, (void)since;
  *count = 0;
  return result_of("nvmlDeviceGetTotalEccErrors");
}
int nvmlDeviceGetRemappedRows(void* gpu, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  (void)gpu;
  *corrected = *uncorrected = *pending = *failed = 0;
  return result_of("nvmlDeviceGetRemappedRows");
}
int nvmlDeviceGetRetiredPages(void* gpu, int cause, unsigned* count, unsigned long long* addresses) {
  (void)gpu, (void)cause, (void)addresses;
  *count = 0;
  return result_of("nvmlDeviceGetRetiredPages");
}
int nvmlDeviceGetNvLinkState(void* gpu, unsigned link, unsigned* is_active) {
  (void)gpu;
  *is_active = 1;
  const int result = result_of("nvmlDeviceGetNvLinkState");
  return result ? result : link < 18 ? 0 : 2;
}
int nvmlEventSetCreate(void** set) {
  *set = (void*)2;
  return result_of("nvmlEventSetCreate");
}
int nvmlDeviceRegisterEvents(void* gpu, unsigned long long types, void* set) {
  (void)gpu, (void)types, (void)set;
  return result_of("nvmlDeviceRegisterEvents");
}
int nvmlEventSetWait_v2(void* set, void* event, unsigned ms) {
  (void)set, (void)event, (void)ms;
  return 10;  // none came
}

struct Field {
  unsigned field, scope;
  long long time, latency;
  int type, result;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(void* gpu, int count, struct Field* fields) {
  (void)gpu;
  const int result = result_of("nvmlDeviceGetFieldValues");
  for (int i = 0; result == 0 && i < count; ++i) {
    struct Field* f = &fields[i];
    const char* links = getenv("FAKE_C2C_LINKS");
    const char* action = getenv("FAKE_RECOVERY");
    const unsigned c2c = links ? (unsigned)atoi(links) : 0;
    f->type = 1;
    f->result = 0;
    if (f->field == 170) f->result = c2c ? 0 : 3, f->value = c2c;
    else if (f->field == 171) f->value = f->scope != 3;  // the fourth is down
    else if (f->field == 172) f->value = f->scope == 3 ? 0 : 44712;
    else if (f->field == 230) f->result = action ? 0 : 2, f->value = action ? (unsigned)atoi(action) : 0;
    else if (f->field == 90) f->value = 26562;
    else f->result = 3;
  }
  return result;
}

struct Fabric {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
int nvmlDeviceGetGpuFabricInfoV(void* gpu, struct Fabric* info) {
  (void)gpu;
  if (info->version != 0x02000024) return 25;  // nvmlGpuFabricInfo_v2
  const char* state = getenv("FAKE_FABRIC");
  const char* health = getenv("FAKE_FABRIC_HEALTH");
  info->status = 0;
  info->state = (unsigned char)(state ? atoi(state) : 3);
  info->health = health ? (unsigned)strtoul(health, NULL, 0) : 0;
  return result_of("nvmlDeviceGetGpuFabricInfoV");
}
struct ConfCompute {
  unsigned version, environment, feature, dev_tools, several_gpus;
};
int nvmlSystemGetConfComputeSettings(struct ConfCompute* settings) {
  if (settings->version != 0x01000014) return 25;
  settings->feature = 1;
  return result_of("nvmlSystemGetConfComputeSettings");
}
