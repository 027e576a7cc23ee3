// libnpgpu_record.so: NVIDIA's driver loads it into an application (CUDA_INJECTION64_PATH) when that first uses CUDA.
// It asks CUPTI for activity records, and appends them to a file of the process's own. It links neither CUDA nor CUPTI:
// CUPTI is looked for where the application runs, and its records are read by the offsets that they have had since CUDA
// 12.0. Nothing here may throw, print, or end the application.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "netpipe/record/raw.hpp"

namespace npgpu::record {

namespace {

// ---- CUPTI, as far as it is used here ----

using Result = int;
constexpr Result success = 0;
enum Kind : std::uint32_t {
  copy_kind = 1,
  memset_kind = 2,
  driver_kind = 4,
  runtime_kind = 5,
  kernel_kind = 10,
  peer_copy_kind = 22,
  synchronization_kind = 38
};
constexpr Kind recorded_kinds[] = {copy_kind,   memset_kind,    driver_kind,         runtime_kind,
                                   kernel_kind, peer_copy_kind, synchronization_kind};
constexpr std::uint32_t driver_domain = 1, runtime_domain = 2, forced = 1;
constexpr Result other_profiler = 39, confidential = 41;

using RequestCallback = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
using CompleteCallback = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid);
struct Cupti {
  Result (*enable)(Kind);
  Result (*disable)(Kind);
  Result (*register_callbacks)(RequestCallback, CompleteCallback);
  Result (*next_record)(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record);
  Result (*dropped)(void* context, std::uint32_t stream, std::size_t* count);
  Result (*flush)(std::uint32_t flag);
  Result (*name_of_call)(std::uint32_t domain, std::uint32_t callback, const char** name);
} cupti;

template <class T> T at(const std::uint8_t* record, std::size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

// ---- the file ----

std::mutex mutex;  // of all that follows
int file = -1;
std::uint64_t written = 0, most = UINT64_MAX;
RawStatus status{};
// They are never destroyed: CUPTI may complete a buffer while the process ends.
auto& pending = *new std::vector<char>;
auto& numbers_of_names = *new std::unordered_map<std::string, std::uint32_t>;
// By address: CUPTI keeps a kernel's name where it is.
auto& numbers_of_kernels = *new std::unordered_map<const char*, std::uint32_t>;
auto& numbers_of_calls = *new std::unordered_map<std::uint64_t, std::uint32_t>;  // 0: it is not recorded
auto& known_devices = *new std::unordered_set<std::uint32_t>;
std::atomic<bool> is_over{false};

void put(Sort sort, const void* fixed, std::size_t bytes, const char* text = nullptr) {
  const std::size_t length = text ? std::strlen(text) : 0;
  const EntryHead head{sort, static_cast<std::uint32_t>(bytes + length)};
  const auto* const first = reinterpret_cast<const char*>(&head);
  pending.insert(pending.end(), first, first + sizeof head);
  pending.insert(pending.end(), static_cast<const char*>(fixed), static_cast<const char*>(fixed) + bytes);
  if (text) pending.insert(pending.end(), text, text + length);
}

// All or nothing of it, as far as the system allows; a full disk ends the recording and not the application.
void write_pending() {
  std::size_t done = 0;
  while (file >= 0 && done < pending.size()) {
    const ssize_t n = ::write(file, pending.data() + done, pending.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    else if (errno != EINTR) {
      ::close(file);
      file = -1;
    }
  }
  written += done;
  pending.clear();
}

bool has_room() {
  if (written + pending.size() < most) return true;
  ++status.beyond_limit;
  return false;
}

std::uint32_t number_of(const char* name) {
  const auto [found, is_new] =
      numbers_of_names.try_emplace(name ? name : "", static_cast<std::uint32_t>(numbers_of_names.size() + 1));
  const RawName raw{found->second};
  if (is_new) put(Sort::name, &raw, sizeof raw, found->first.c_str());
  return found->second;
}

std::uint32_t number_of_kernel(const char* name) {
  const auto found = numbers_of_kernels.find(name);
  if (found != numbers_of_kernels.end()) return found->second;
  return numbers_of_kernels[name] = number_of(name);
}

// Calls that copy, launch, wait, make or free memory; others, such as those that ask for the last error, are many
// and do nothing to a device.
bool is_of_interest(const char* name) {
  for (const char* part : {"Launch", "Memcpy", "Memset", "Synchronize", "Wait", "EventRecord", "Malloc", "MemAlloc",
                           "Free", "HostAlloc", "HostRegister", "Prefetch"})
    if (std::strstr(name, part)) return true;
  return false;
}

std::uint32_t number_of_call(std::uint32_t domain, std::uint32_t callback) {
  const std::uint64_t key = std::uint64_t{domain} << 32 | callback;
  if (const auto found = numbers_of_calls.find(key); found != numbers_of_calls.end()) return found->second;
  const char* name = nullptr;
  if (cupti.name_of_call(domain, callback, &name) != success || !name) name = "";
  return numbers_of_calls[key] = is_of_interest(name) ? number_of(name) : 0;
}

// What the driver says of a device, which the process has loaded.
void describe(std::uint32_t number) {
  if (!known_devices.insert(number).second) return;
  RawDevice raw{number, {}, {}};
  char name[256] = "";
  if (void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
    const auto device_get = reinterpret_cast<int (*)(int*, int)>(::dlsym(driver, "cuDeviceGet"));
    const auto get_name = reinterpret_cast<int (*)(char*, int, int)>(::dlsym(driver, "cuDeviceGetName"));
    auto get_uuid = reinterpret_cast<int (*)(void*, int)>(::dlsym(driver, "cuDeviceGetUuid_v2"));
    if (!get_uuid) get_uuid = reinterpret_cast<int (*)(void*, int)>(::dlsym(driver, "cuDeviceGetUuid"));
    const auto get_bus = reinterpret_cast<int (*)(char*, int, int)>(::dlsym(driver, "cuDeviceGetPCIBusId"));
    int device = 0;
    if (device_get && device_get(&device, static_cast<int>(number)) == 0) {
      if (get_name) get_name(name, sizeof name, device);
      if (get_uuid) get_uuid(raw.uuid, device);
      if (get_bus) get_bus(raw.pci_bus_id, sizeof raw.pci_bus_id, device);
    }
    ::dlclose(driver);
  }
  put(Sort::device, &raw, sizeof raw, name);
}

void take_copy(const std::uint8_t* r, bool is_peer) {
  const RawCopy raw{at<std::uint64_t>(r, 16),
                    at<std::uint64_t>(r, 24),
                    at<std::uint64_t>(r, 8),
                    at<std::uint32_t>(r, 32),
                    at<std::uint32_t>(r, 40),
                    at<std::uint32_t>(r, is_peer ? 60 : 44),
                    at<std::uint32_t>(r, is_peer ? 80 : 72),
                    r[5],
                    r[6],
                    {}};
  describe(raw.device);
  put(Sort::copy, &raw, sizeof raw);
}

void take_kernel(const std::uint8_t* r) {
  const auto u32 = [&](std::size_t offset) { return at<std::uint32_t>(r, offset); };
  const RawKernel raw{at<std::uint64_t>(r, 16),
                      at<std::uint64_t>(r, 24),
                      u32(40),
                      u32(48),
                      u32(92),
                      u32(156),
                      {u32(52), u32(56), u32(60)},
                      {u32(64), u32(68), u32(72)},
                      at<std::uint16_t>(r, 6),
                      u32(76),
                      u32(80),
                      number_of_kernel(at<const char*>(r, 104))};
  describe(raw.device);
  put(Sort::kernel, &raw, sizeof raw);
}

void take_memset(const std::uint8_t* r) {
  const auto u32 = [&](std::size_t offset) { return at<std::uint32_t>(r, offset); };
  const RawMemset raw{at<std::uint64_t>(r, 16),
                      at<std::uint64_t>(r, 24),
                      at<std::uint64_t>(r, 8),
                      u32(32),
                      u32(40),
                      u32(44),
                      u32(72),
                      at<std::uint16_t>(r, 50),
                      0};
  describe(raw.device);
  put(Sort::memset, &raw, sizeof raw);
}

void take_wait(const std::uint8_t* r) {
  const RawWait raw{at<std::uint64_t>(r, 8),  at<std::uint64_t>(r, 16), at<std::uint32_t>(r, 4),
                    at<std::uint32_t>(r, 32), at<std::uint32_t>(r, 24), 0};
  put(Sort::wait, &raw, sizeof raw);
}

void take_call(const std::uint8_t* r, std::uint32_t domain) {
  const std::uint32_t name = number_of_call(domain, at<std::uint32_t>(r, 4));
  if (!name) return;
  const RawCall raw{
      at<std::uint64_t>(r, 8), at<std::uint64_t>(r, 16), at<std::uint32_t>(r, 28), at<std::uint32_t>(r, 32), name,
      at<std::uint32_t>(r, 36)};
  put(Sort::call, &raw, sizeof raw);
}

void take(const std::uint8_t* r) {
  const auto kind = at<std::uint32_t>(r, 0);
  const bool starts_at_8 = kind == driver_kind || kind == runtime_kind || kind == synchronization_kind;
  const auto start = at<std::uint64_t>(r, starts_at_8 ? 8 : 16), end = at<std::uint64_t>(r, starts_at_8 ? 16 : 24);
  if (start == 0 || end < start) {
    ++status.bad;
    return;
  }
  if (!has_room()) return;
  switch (kind) {
    case copy_kind: return take_copy(r, false);
    case peer_copy_kind: return take_copy(r, true);
    case kernel_kind: return take_kernel(r);
    case memset_kind: return take_memset(r);
    case synchronization_kind: return take_wait(r);
    case driver_kind: return take_call(r, driver_domain);
    case runtime_kind: return take_call(r, runtime_domain);
    default: return;
  }
}

// ---- what CUPTI calls ----

constexpr std::size_t buffer_bytes = 1 << 20, alignment = 8;

void request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, buffer_bytes));
  *size = *buffer ? buffer_bytes : 0;
  *most_records = 0;
}

void complete_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    std::uint8_t* record = nullptr;
    while (valid && file >= 0 && cupti.next_record(buffer, valid, &record) == success) take(record);
    std::size_t dropped = 0;
    if (cupti.dropped(context, stream, &dropped) == success) status.dropped += dropped;
    put(Sort::status, &status, sizeof status);
    write_pending();
  }
  std::free(buffer);
}

// ---- beginning and end ----

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

void rest(std::uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  ::nanosleep(&t, nullptr);
}

void say(const std::string& trouble) {
  const std::lock_guard<std::mutex> lock(mutex);
  put(Sort::trouble, "", 0, trouble.c_str());
  write_pending();
}

std::string why_refused(Result result) {
  if (result == other_profiler)
    return "another profiler (nsys, ncu, compute-sanitizer, cuda-gdb or torch.profiler) has this process: leave it out";
  if (result == confidential) return "the GPU is in confidential mode, which forbids recording";
  return "CUPTI refuses to record: its error " + std::to_string(result);
}

bool enable_all() {
  for (const Kind kind : recorded_kinds) {
    const Result result = cupti.enable(kind);
    // What a process can do without: peers' copies and waits are in few versions' refusals.
    if (result == success || kind == peer_copy_kind || kind == synchronization_kind) continue;
    say(why_refused(result));
    return false;
  }
  return true;
}

void disable_all() {
  for (const Kind kind : recorded_kinds) (void)cupti.disable(kind);
}

// What is complete goes to the file four times a second, so that a process that is killed leaves what it did before.
constexpr std::uint64_t flush_ns = 250'000'000;

void* keep_writing(void*) {
  const std::uint64_t began = number_in(began_variable, now_ns());
  const std::uint64_t from = began + number_in(after_variable, 0);
  const std::uint64_t length = number_in(for_variable, UINT64_MAX);
  const std::uint64_t until = length > UINT64_MAX - from ? UINT64_MAX : from + length;
  if (number_in(after_variable, 0)) {
    if (from > now_ns()) rest(from - now_ns());
    if (is_over || !enable_all()) return nullptr;
  }
  while (!is_over) {
    const std::uint64_t now = now_ns();
    if (now >= until) {
      disable_all();
      (void)cupti.flush(forced);
      return nullptr;
    }
    rest(std::min(flush_ns, until - now));
    if (!is_over) (void)cupti.flush(0);
  }
  return nullptr;
}

void at_end() {
  if (is_over.exchange(true)) return;
  (void)cupti.flush(forced);
  const std::lock_guard<std::mutex> lock(mutex);
  status.ended = 1;
  put(Sort::status, &status, sizeof status);
  write_pending();
}

// A copy of this process has no part in its file.
void in_forked_child() {
  is_over = true;
  if (file >= 0) ::close(file);
  file = -1;
}

template <class F> bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

// First the one that the application has loaded itself.
void* cupti_library() {
  constexpr const char* names[] = {"libcupti.so.13", "libcupti.so.12"};
  constexpr const char* places[] = {"/usr/local/cuda/lib64/libcupti.so",
                                    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
  for (const char* name : names)
    if (void* const found = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return found;
  for (const char* name : names)
    if (void* const found = ::dlopen(name, RTLD_NOW)) return found;
  for (const char* place : places)
    if (void* const found = ::dlopen(place, RTLD_NOW)) return found;
  return nullptr;
}

bool find_cupti() {
  void* const library = cupti_library();
  if (!library) {
    say("CUPTI was not found: install it (pip install nvidia-cuda-cupti, or the CUDA toolkit's package cuda-cupti) and "
        "name the folder of libcupti.so in LD_LIBRARY_PATH");
    return false;
  }
  if (find(library, "cuptiActivityEnable", cupti.enable) && find(library, "cuptiActivityDisable", cupti.disable) &&
      find(library, "cuptiActivityRegisterCallbacks", cupti.register_callbacks) &&
      find(library, "cuptiActivityGetNextRecord", cupti.next_record) &&
      find(library, "cuptiActivityGetNumDroppedRecords", cupti.dropped) &&
      find(library, "cuptiActivityFlushAll", cupti.flush) && find(library, "cuptiGetCallbackName", cupti.name_of_call))
    return true;
  say("CUPTI lacks a function that recording needs: CUDA 12.0 or later has it");
  return false;
}

bool open_file() {
  const char* const folder = std::getenv(folder_variable);
  if (!folder) return false;
  // A process may become another program (exec), which loads this library again.
  for (int program = 0; program < 1000 && file < 0; ++program) {
    const std::string path =
        std::string(folder) + "/" + std::to_string(::getpid()) + "." + std::to_string(program) + ".raw";
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 && errno != EEXIST) return false;
  }
  RawHeader header{{}, raw_version, static_cast<std::uint32_t>(::getpid())};
  std::memcpy(header.magic, magic, sizeof magic);
  pending.assign(reinterpret_cast<const char*>(&header), reinterpret_cast<const char*>(&header) + sizeof header);
  write_pending();
  return file >= 0;
}

void start_recording() {
  most = number_in(most_variable, UINT64_MAX);
  if (!open_file() || !find_cupti()) return;
  if (const Result result = cupti.register_callbacks(request_buffer, complete_buffer); result != success)
    return say(why_refused(result));
  if (!number_in(after_variable, 0) && !enable_all()) return;
  (void)std::atexit(at_end);
  (void)::pthread_atfork(nullptr, nullptr, in_forked_child);
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, keep_writing, nullptr) == 0) (void)::pthread_detach(thread);
}

}  // namespace

}  // namespace npgpu::record

// What the driver calls. 1: it was loaded; the application runs in any case.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::once_flag once;
  try {
    std::call_once(once, npgpu::record::start_recording);
  } catch (...) {  // out of memory
  }
  return 1;
}
