// A library in the place of CUPTI, and with it the part of the driver that loads what CUDA_INJECTION64_PATH names. An
// application that links it says what it did, and the records are laid out as CUPTI's are.
#include "fake_cupti.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
Request request = nullptr;
Complete complete = nullptr;
std::set<std::uint32_t>& enabled = *new std::set<std::uint32_t>;
std::recursive_mutex mutex;
std::uint8_t* buffer = nullptr;
std::size_t size = 0, used = 0, dropped = 0;
constexpr std::size_t slot = 256;  // of each record, whatever its kind

template <class T> void put(std::uint8_t* record, std::size_t offset, T value) {
  std::memcpy(record + offset, &value, sizeof value);
}

void hand_over() {
  if (!buffer) return;
  std::uint8_t* const full = buffer;
  const std::size_t valid = used;
  buffer = nullptr;
  used = 0;
  complete(nullptr, 0, full, size, valid);
}

std::uint8_t* next(std::uint32_t kind) {
  if (!enabled.count(kind)) return nullptr;
  if (buffer && used + slot > size) hand_over();
  if (!buffer) {
    std::size_t most = 0;
    request(&buffer, &size, &most);
    if (!buffer) {
      ++dropped;
      return nullptr;
    }
  }
  std::uint8_t* const record = buffer + used;
  std::memset(record, 0, slot);
  put(record, 0, kind);
  used += slot;
  return record;
}

}  // namespace

extern "C" {
int cuptiActivityEnable(std::uint32_t kind) {
  if (const char* refused = std::getenv("FAKE_CUPTI_ERROR")) return std::atoi(refused);
  const std::lock_guard lock(mutex);
  enabled.insert(kind);
  return 0;
}
int cuptiActivityDisable(std::uint32_t kind) {
  const std::lock_guard lock(mutex);
  enabled.erase(kind);
  return 0;
}
int cuptiActivityRegisterCallbacks(Request r, Complete c) {
  request = r;
  complete = c;
  return 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* first, std::size_t valid, std::uint8_t** record) {
  std::uint8_t* const following = *record ? *record + slot : first;
  if (following + slot > first + valid) return 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = following;
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* count) {
  *count = dropped;
  dropped = 0;
  return 0;
}
int cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(mutex);
  hand_over();
  return 0;
}
int cuptiGetCallbackName(std::uint32_t, std::uint32_t callback, const char** name) {
  static const char* const names[] = {"cudaGetLastError_v3020",      "cudaMemcpyAsync_v3020", "cudaLaunchKernel_v7000",
                                      "cudaStreamSynchronize_v3020", "cudaMemset_v3020",      "cuLaunchKernel"};
  if (callback >= sizeof names / sizeof *names) return 1;
  *name = names[callback];
  return 0;
}
}

namespace fake {

void begin() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (!path) return;
  void* const library = dlopen(path, RTLD_NOW);
  if (!library) return;
  if (const auto start = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) start();
}

void copy(const Done& d, std::uint64_t bytes, int from, int to) {
  const std::lock_guard lock(mutex);
  std::uint8_t* const r = next(1);
  if (!r) return;
  put<std::uint8_t>(r, 5, static_cast<std::uint8_t>(from));
  put<std::uint8_t>(r, 6, static_cast<std::uint8_t>(to));
  put(r, 8, bytes);
  put(r, 16, d.start);
  put(r, 24, d.end);
  put(r, 40, d.stream);
  put(r, 44, d.correlation);
}
void kernel(const Done& d, const char* name, std::uint32_t blocks, std::uint32_t threads) {
  const std::lock_guard lock(mutex);
  std::uint8_t* const r = next(10);
  if (!r) return;
  put<std::uint16_t>(r, 6, 32);
  put(r, 16, d.start);
  put(r, 24, d.end);
  put(r, 48, d.stream);
  for (const std::size_t offset : {52, 56, 60}) put<std::uint32_t>(r, offset, offset == 52 ? blocks : 1);
  for (const std::size_t offset : {64, 68, 72}) put<std::uint32_t>(r, offset, offset == 64 ? threads : 1);
  put(r, 92, d.correlation);
  put(r, 104, name);
}
void memset(const Done& d, std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  std::uint8_t* const r = next(2);
  if (!r) return;
  put(r, 8, bytes);
  put(r, 16, d.start);
  put(r, 24, d.end);
  put(r, 40, d.stream);
  put(r, 44, d.correlation);
  put<std::uint16_t>(r, 50, 3);
}
void wait(const Done& d, std::uint32_t type) {
  const std::lock_guard lock(mutex);
  std::uint8_t* const r = next(38);
  if (!r) return;
  put(r, 4, type);
  put(r, 8, d.start);
  put(r, 16, d.end);
  put(r, 24, d.correlation);
  put(r, 32, d.stream);
}
void call(const Done& d, std::uint32_t callback, bool of_driver) {
  const std::lock_guard lock(mutex);
  std::uint8_t* const r = next(of_driver ? 4 : 5);
  if (!r) return;
  put(r, 4, callback);
  put(r, 8, d.start);
  put(r, 16, d.end);
  put(r, 24, static_cast<std::uint32_t>(getpid()));
  put<std::uint32_t>(r, 28, 7);
  put(r, 32, d.correlation);
}

}  // namespace fake
