#include "netpipe/devices/opencl/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace npgpu::opencl {

Library load() {
  constexpr const char* remedy =
      "install a loader of OpenCL drivers (Debian: ocl-icd-libopencl1), or name the library in NPGPU_OPENCL";
  const char* const chosen = std::getenv("NPGPU_OPENCL");
  const bool is_chosen = chosen && *chosen;
  Library l;
  l.file = is_chosen ? chosen : "libOpenCL.so.1";
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

}  // namespace npgpu::opencl
