// A library of OpenCL for tests, which NPGPU_OPENCL names: copies work in host memory, kernels do nothing, and what
// FAKE_OPENCL names goes wrong. Commands run when they are enqueued, or when the user's event that they wait for is
// completed.
//
//   no-platform  no-device  two-platforms  bare (a driver without extensions)
//   no-memory: buffers of more than 1 MiB cannot be had      no-build: no program can be built
//   no-profile: events have no times                         wrong: copies of more than 1 KiB bring a wrong byte
//   blocks: enqueueing waits until the gate is open          lost=N: after so many commands the device is gone
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// The standard leaves these types to the library.
struct _cl_platform_id {
  std::string name;
  std::vector<cl_device_id> devices;
};
struct _cl_device_id {
  std::string name;
  unsigned bus = 0;
};
struct _cl_context {};
struct _cl_event {
  bool is_done = false;
  cl_ulong begin = 0, end = 0;
  std::vector<_cl_command_queue*> waiting{};  // of a user's event
};
struct _cl_command_queue {
  cl_event gate = nullptr;  // of the user's, not complete yet
  std::deque<std::function<void()>> later{};
};
struct _cl_mem {
  std::vector<unsigned char> bytes;
};
struct _cl_program {};
struct _cl_kernel {};

namespace {

std::recursive_mutex mutex;

std::string fault() {
  const char* const set = std::getenv("FAKE_OPENCL");
  return set ? set : "";
}

_cl_device_id first{"Fake GPU", 0x3b}, second{"Another fake GPU", 0x5e};
_cl_platform_id fakes{"Fakes", {&first}}, others{"Other fakes", {&second}};

long commands = 0;

bool is_lost() {
  constexpr const char* word = "lost=";
  const std::string set = fault();
  return set.rfind(word, 0) == 0 && commands > std::atol(set.c_str() + std::strlen(word));
}

cl_ulong now() {
  return static_cast<cl_ulong>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// Kept to the end, as a command that waits may still complete one that was released. REQUIRES: the mutex is held.
cl_event new_event() {
  static std::vector<std::unique_ptr<_cl_event>> all;
  all.push_back(std::make_unique<_cl_event>());
  return all.back().get();
}

// A command: at once, or behind the gate of its queue.
cl_int enqueue(cl_command_queue queue, cl_event* event, std::function<void()> what, bool blocking = false) {
  std::unique_lock lock(mutex);
  ++commands;
  if (is_lost()) return CL_OUT_OF_RESOURCES;
  const cl_event mine = event ? new_event() : nullptr;
  if (event) *event = mine;
  const auto run = [what = std::move(what), mine] {
    const cl_ulong begin = now();
    what();
    if (!mine) return;
    mine->begin = begin;
    mine->end = now() + 1000;
    mine->is_done = true;
  };
  if (!queue->gate) {
    run();
    return CL_SUCCESS;
  }
  queue->later.push_back(run);
  while (queue->gate && (blocking || fault() == "blocks")) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.lock();
  }
  return CL_SUCCESS;
}

cl_int answer(const void* value, std::size_t bytes, std::size_t room, void* to, std::size_t* size) {
  if (size) *size = bytes;
  if (!to) return CL_SUCCESS;
  if (room < bytes) return CL_INVALID_VALUE;
  std::memcpy(to, value, bytes);
  return CL_SUCCESS;
}
cl_int answer(const std::string& text, std::size_t room, void* to, std::size_t* size) {
  if (fault() == "endless-texts" && !to) {
    *size = ~std::size_t{0} / 4;
    return CL_SUCCESS;
  }
  return answer(text.c_str(), text.size() + 1, room, to, size);
}
template <class T> cl_int answer_number(T value, std::size_t room, void* to, std::size_t* size) {
  if (fault() == "zeros") value = {};
  if (fault() == "ones") std::memset(&value, 0xff, sizeof value);
  return answer(&value, sizeof value, room, to, size);
}

void copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  if (fault() == "wrong" && bytes > 1024) static_cast<unsigned char*>(to)[bytes / 2] ^= 1;
}

}  // namespace

extern "C" {

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id* all, cl_uint* count) {
  if (fault() == "no-platform") return -1001;
  const cl_uint there = fault() == "two-platforms" ? 2 : fault() == "countless-platforms" ? 0xffffffff : 1;
  if (count) *count = there;
  if (all && room > 0) all[0] = &fakes;
  if (all && room > 1) all[1] = &others;
  return CL_SUCCESS;
}
cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, std::size_t room, void* to,
                         std::size_t* size) {
  if (what == CL_PLATFORM_NAME) return answer(platform->name, room, to, size);
  return answer("OpenCL 3.0 of a test", room, to, size);
}
cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type, cl_uint room, cl_device_id* all, cl_uint* count) {
  if (fault() == "no-device") return CL_DEVICE_NOT_FOUND;
  if (count) *count = fault() == "countless-devices" ? 0xffffffff : 1;
  if (all && room > 0) all[0] = platform->devices[0];
  return CL_SUCCESS;
}
cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, std::size_t room, void* to, std::size_t* size) {
  const bool bare = fault() == "bare";
  switch (what) {
    case CL_DEVICE_NAME: return answer("  " + device->name + " ", room, to, size);
    case CL_DEVICE_TYPE: return answer_number<cl_device_type>(CL_DEVICE_TYPE_GPU, room, to, size);
    case CL_DEVICE_VENDOR: return answer("Tests", room, to, size);
    case CL_DEVICE_VERSION: return answer("OpenCL 1.2 of a test", room, to, size);
    case CL_DRIVER_VERSION: return answer("1", room, to, size);
    case CL_DEVICE_EXTENSIONS: return answer(bare ? "" : "cl_khr_pci_bus_info cl_khr_fp64", room, to, size);
    case CL_DEVICE_AVAILABLE: return answer_number<cl_bool>(!is_lost(), room, to, size);
    case CL_DEVICE_GLOBAL_MEM_SIZE: return answer_number<cl_ulong>(1u << 30, room, to, size);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return answer_number<cl_ulong>(1u << 28, room, to, size);
    case CL_DEVICE_MAX_COMPUTE_UNITS: return answer_number<cl_uint>(4, room, to, size);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: return answer_number<cl_uint>(1000, room, to, size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: return answer_number<std::size_t>(256, room, to, size);
    case CL_DEVICE_PCI_BUS_INFO_KHR:
      if (!bare) return answer_number(cl_device_pci_bus_info_khr{0, device->bus, 0, 0}, room, to, size);
      return CL_INVALID_VALUE;
    default: return CL_INVALID_VALUE;
  }
}

cl_context clCreateContext(const cl_context_properties*, cl_uint, const cl_device_id*,
                           void (*)(const char*, const void*, std::size_t, void*), void*, cl_int* result) {
  *result = CL_SUCCESS;
  return new _cl_context;
}
cl_int clReleaseContext(cl_context context) {
  delete context;
  return CL_SUCCESS;
}
cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, cl_command_queue_properties, cl_int* result) {
  *result = is_lost() ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
  return is_lost() ? nullptr : new _cl_command_queue;
}
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  delete queue;
  return CL_SUCCESS;
}
cl_mem clCreateBuffer(cl_context, cl_mem_flags, std::size_t bytes, void*, cl_int* result) {
  const bool refused = is_lost() || (fault() == "no-memory" && bytes > (1u << 20));
  *result = is_lost() ? CL_OUT_OF_RESOURCES : refused ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
  return refused ? nullptr : new _cl_mem{std::vector<unsigned char>(bytes)};
}
cl_int clReleaseMemObject(cl_mem memory) {
  delete memory;
  return CL_SUCCESS;
}
cl_program clCreateProgramWithSource(cl_context, cl_uint, const char**, const std::size_t*, cl_int* result) {
  *result = CL_SUCCESS;
  return new _cl_program;
}
cl_int clBuildProgram(cl_program, cl_uint, const cl_device_id*, const char*, void (*)(cl_program, void*), void*) {
  return fault() == "no-build" ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}
cl_int clGetProgramBuildInfo(cl_program, cl_device_id, cl_program_build_info, std::size_t room, void* to,
                             std::size_t* size) {
  return answer("line 1:\n  the compiler of a test builds nothing\n", room, to, size);
}
cl_int clGetProgramInfo(cl_program, cl_program_info, std::size_t room, void* to, std::size_t* size) {
  return answer_number<std::size_t>(0, room, to, size);
}
cl_int clReleaseProgram(cl_program program) {
  delete program;
  return CL_SUCCESS;
}
cl_kernel clCreateKernel(cl_program, const char*, cl_int* result) {
  *result = CL_SUCCESS;
  return new _cl_kernel;
}
cl_int clReleaseKernel(cl_kernel kernel) {
  delete kernel;
  return CL_SUCCESS;
}
cl_int clSetKernelArg(cl_kernel, cl_uint, std::size_t, const void*) { return CL_SUCCESS; }

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel, cl_uint, const std::size_t*, const std::size_t*,
                              const std::size_t*, cl_uint, const cl_event*, cl_event* event) {
  return enqueue(queue, event, [] {});
}
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool blocking, std::size_t at, std::size_t bytes,
                           void* to, cl_uint, const cl_event*, cl_event* event) {
  return enqueue(
      queue, event, [=] { copy(to, from->bytes.data() + at, bytes); }, blocking);
}
cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool blocking, std::size_t at, std::size_t bytes,
                            const void* from, cl_uint, const cl_event*, cl_event* event) {
  return enqueue(
      queue, event, [=] { copy(to->bytes.data() + at, from, bytes); }, blocking);
}
cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, std::size_t from_at, std::size_t to_at,
                           std::size_t bytes, cl_uint, const cl_event*, cl_event* event) {
  return enqueue(queue, event, [=] { copy(to->bytes.data() + to_at, from->bytes.data() + from_at, bytes); });
}
cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void* pattern, std::size_t size, std::size_t at,
                           std::size_t bytes, cl_uint, const cl_event*, cl_event* event) {
  std::vector<unsigned char> word(size);
  std::memcpy(word.data(), pattern, size);
  return enqueue(queue, event, [=] {
    for (std::size_t i = 0; i < bytes; ++i) memory->bytes[at + i] = word[i % size];
  });
}
void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags, std::size_t at,
                         std::size_t, cl_uint, const cl_event*, cl_event* event, cl_int* result) {
  *result = enqueue(
      queue, event, [] {}, blocking);
  return *result == CL_SUCCESS ? memory->bytes.data() + at : nullptr;
}
cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem, void*, cl_uint, const cl_event*, cl_event* event) {
  return enqueue(queue, event, [] {});
}
cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* events, cl_event* event) {
  const std::lock_guard lock(mutex);
  for (cl_uint i = 0; i < count; ++i)
    if (!events[i]->is_done) {
      queue->gate = events[i];
      events[i]->waiting.push_back(queue);
    }
  return event ? enqueue(queue, event, [] {}) : CL_SUCCESS;
}
cl_int clFlush(cl_command_queue) { return CL_SUCCESS; }
cl_int clFinish(cl_command_queue queue) {
  return enqueue(
      queue, nullptr, [] {}, true);
}
cl_int clGetEventInfo(cl_event event, cl_event_info, std::size_t room, void* to, std::size_t* size) {
  const std::lock_guard lock(mutex);
  return answer_number<cl_int>(event->is_done ? CL_COMPLETE : CL_QUEUED, room, to, size);
}
cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, std::size_t room, void* to, std::size_t* size) {
  if (fault() == "no-profile" || !event->is_done) return CL_PROFILING_INFO_NOT_AVAILABLE;
  return answer_number<cl_ulong>(what == CL_PROFILING_COMMAND_END ? event->end : event->begin, room, to, size);
}
// A user's event may be released while queues wait for it, and others while their command has not run: all stay.
cl_int clReleaseEvent(cl_event) { return CL_SUCCESS; }
cl_event clCreateUserEvent(cl_context, cl_int* result) {
  const std::lock_guard lock(mutex);
  *result = CL_SUCCESS;
  return new_event();
}
cl_int clSetUserEventStatus(cl_event event, cl_int) {
  const std::lock_guard lock(mutex);
  event->is_done = true;
  for (const cl_command_queue queue : event->waiting) {
    queue->gate = nullptr;
    for (; !queue->later.empty(); queue->later.pop_front()) queue->later.front()();
  }
  event->waiting.clear();
  return CL_SUCCESS;
}

}  // extern "C"
