#include "netpipe/devices/opencl/check.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "netpipe/devices/opencl/inventory.hpp"

namespace npgpu::opencl {

Library load() {
  constexpr const char* remedy =
      "install a loader of OpenCL drivers (Debian: ocl-icd-libopencl1), or name the library in NPGPU_OPENCL";
  const char* const chosen = std::getenv("NPGPU_OPENCL");
  const bool is_chosen = chosen && *chosen;
  Library l;
  l.file = is_chosen ? chosen : "libOpenCL.so.1";
  std::error_code none;
  if (const char* const root = std::getenv("HWLOC_FSROOT"); root && !std::filesystem::is_directory(root, none)) {
    l.why_not = fmt::format("OpenCL is not asked: HWLOC_FSROOT={} is no folder, and PoCL would end the program", root);
    return l;
  }
  void* const found = dlopen(l.file.c_str(), RTLD_NOW | RTLD_LOCAL);  // held as long as the process
  if (!found) {
    l.why_not = is_chosen ? fmt::format("OpenCL is not there: {}, which NPGPU_OPENCL names, cannot be opened", l.file)
                          : fmt::format("OpenCL is not there: no {} is where the system looks for libraries; {}",
                                        l.file, remedy);
    return l;
  }
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(found, name));
    if (!function && !missing) missing = name;
  };
#define NPGPU_OPENCL_FIND(name) find(l.name, #name);
  NPGPU_OPENCL_FUNCTIONS(NPGPU_OPENCL_FIND)
#undef NPGPU_OPENCL_FIND
  if (missing)
    l.why_not = fmt::format("{} has no {}: a loader for OpenCL 1.2 or later has it; {}", l.file, missing, remedy);
  return l;
}

const Library& library() {
  static const Library found = load();
  return found;
}

namespace {

std::atomic<bool> any_lost = false;

struct Named {
  cl_int code;
  std::string_view name;
};
#define NPGPU_OPENCL_CODE(name) \
  { name, #name }
constexpr Named codes[] = {NPGPU_OPENCL_CODE(CL_DEVICE_NOT_FOUND),
                           NPGPU_OPENCL_CODE(CL_DEVICE_NOT_AVAILABLE),
                           NPGPU_OPENCL_CODE(CL_COMPILER_NOT_AVAILABLE),
                           NPGPU_OPENCL_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE),
                           NPGPU_OPENCL_CODE(CL_OUT_OF_RESOURCES),
                           NPGPU_OPENCL_CODE(CL_OUT_OF_HOST_MEMORY),
                           NPGPU_OPENCL_CODE(CL_PROFILING_INFO_NOT_AVAILABLE),
                           NPGPU_OPENCL_CODE(CL_MEM_COPY_OVERLAP),
                           NPGPU_OPENCL_CODE(CL_BUILD_PROGRAM_FAILURE),
                           NPGPU_OPENCL_CODE(CL_MAP_FAILURE),
                           NPGPU_OPENCL_CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET),
                           NPGPU_OPENCL_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
                           NPGPU_OPENCL_CODE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
                           NPGPU_OPENCL_CODE(CL_INVALID_VALUE),
                           NPGPU_OPENCL_CODE(CL_INVALID_DEVICE_TYPE),
                           NPGPU_OPENCL_CODE(CL_INVALID_PLATFORM),
                           NPGPU_OPENCL_CODE(CL_INVALID_DEVICE),
                           NPGPU_OPENCL_CODE(CL_INVALID_CONTEXT),
                           NPGPU_OPENCL_CODE(CL_INVALID_QUEUE_PROPERTIES),
                           NPGPU_OPENCL_CODE(CL_INVALID_COMMAND_QUEUE),
                           NPGPU_OPENCL_CODE(CL_INVALID_HOST_PTR),
                           NPGPU_OPENCL_CODE(CL_INVALID_MEM_OBJECT),
                           NPGPU_OPENCL_CODE(CL_INVALID_BINARY),
                           NPGPU_OPENCL_CODE(CL_INVALID_BUILD_OPTIONS),
                           NPGPU_OPENCL_CODE(CL_INVALID_PROGRAM),
                           NPGPU_OPENCL_CODE(CL_INVALID_PROGRAM_EXECUTABLE),
                           NPGPU_OPENCL_CODE(CL_INVALID_KERNEL_NAME),
                           NPGPU_OPENCL_CODE(CL_INVALID_KERNEL_DEFINITION),
                           NPGPU_OPENCL_CODE(CL_INVALID_KERNEL),
                           NPGPU_OPENCL_CODE(CL_INVALID_ARG_INDEX),
                           NPGPU_OPENCL_CODE(CL_INVALID_ARG_VALUE),
                           NPGPU_OPENCL_CODE(CL_INVALID_ARG_SIZE),
                           NPGPU_OPENCL_CODE(CL_INVALID_KERNEL_ARGS),
                           NPGPU_OPENCL_CODE(CL_INVALID_WORK_DIMENSION),
                           NPGPU_OPENCL_CODE(CL_INVALID_WORK_GROUP_SIZE),
                           NPGPU_OPENCL_CODE(CL_INVALID_WORK_ITEM_SIZE),
                           NPGPU_OPENCL_CODE(CL_INVALID_GLOBAL_OFFSET),
                           NPGPU_OPENCL_CODE(CL_INVALID_EVENT_WAIT_LIST),
                           NPGPU_OPENCL_CODE(CL_INVALID_EVENT),
                           NPGPU_OPENCL_CODE(CL_INVALID_OPERATION),
                           NPGPU_OPENCL_CODE(CL_INVALID_BUFFER_SIZE),
                           NPGPU_OPENCL_CODE(CL_INVALID_GLOBAL_WORK_SIZE),
                           NPGPU_OPENCL_CODE(CL_INVALID_PROPERTY),
                           {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};

const Named* find_code(cl_int result) {
  for (const Named& one : codes)
    if (one.code == result) return &one;
  return nullptr;
}

}  // namespace

std::string name_of(cl_int result) {
  const Named* const known = find_code(result);
  return known ? std::string(known->name) : fmt::format("OpenCL error {}", result);
}

ErrorKind kind_of(cl_int result) {
  switch (result) {
    case CL_DEVICE_NOT_AVAILABLE: return ErrorKind::lost;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY: return ErrorKind::no_memory;
    default: return ErrorKind::failed;
  }
}

void fail(cl_int result, std::string_view what) {
  const std::string sentence = fmt::format("{}: {}", what, name_of(result));
  // Any code may come from a device that has gone; codes of wrong arguments do not.
  const bool is_of_the_call = result <= CL_INVALID_VALUE && find_code(result);
  const auto device = is_of_the_call ? std::nullopt : device_that_left();
  if (!device) throw Error(kind_of(result), sentence);
  any_lost = true;
  throw Error(ErrorKind::lost,
              fmt::format("{} is lost (its driver says that it is not available): {}", *device, sentence), *device);
}

void complain(cl_int result, std::string_view what) noexcept {
  if (result == CL_SUCCESS || any_lost) return;  // what a lost device had is lost, and was said
  const Named* const known = find_code(result);
  std::fprintf(stderr, "npgpu: %.*s: %s (%d)\n", static_cast<int>(what.size()), what.data(),
               known ? known->name.data() : "OpenCL error", result);
}

}  // namespace npgpu::opencl
