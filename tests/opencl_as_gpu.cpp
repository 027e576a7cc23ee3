// A library of OpenCL for tests, which NPGPU_OPENCL names: the one of this machine (PoCL), whose processor calls itself
// a GPU with local memory of its own. So kernels for GPUs run, and are checked, without one. All but the functions here
// are those of the library that this one is linked with.
//
//   OPENCL_AS_GPU=flip: reads bring one wrong bit, as a device that computes wrongly would leave it
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <class Function> Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class T> cl_int answer(T is, std::size_t bytes, void* value, std::size_t* size) {
  if (size) *size = sizeof is;
  if (!value) return CL_SUCCESS;
  if (bytes < sizeof is) return CL_INVALID_VALUE;
  std::memcpy(value, &is, sizeof is);
  return CL_SUCCESS;
}

}  // namespace

extern "C" cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, std::size_t bytes, void* value,
                                  std::size_t* size) {
  if (what == CL_DEVICE_TYPE) return answer(cl_device_type{CL_DEVICE_TYPE_GPU}, bytes, value, size);
  if (what == CL_DEVICE_LOCAL_MEM_TYPE) return answer(cl_device_local_mem_type{CL_LOCAL}, bytes, value, size);
  if (what == CL_DEVICE_MAX_WORK_GROUP_SIZE) return answer(std::size_t{1024}, bytes, value, size);
  return real<decltype(clGetDeviceInfo)>("clGetDeviceInfo")(device, what, bytes, value, size);
}

extern "C" cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, std::size_t offset,
                                      std::size_t bytes, void* into, cl_uint events, const cl_event* wait_for,
                                      cl_event* event) {
  const cl_int result = real<decltype(clEnqueueReadBuffer)>("clEnqueueReadBuffer")(
      queue, buffer, blocking, offset, bytes, into, events, wait_for, event);
  const char* const how = std::getenv("OPENCL_AS_GPU");
  if (result == CL_SUCCESS && bytes && how && std::string(how) == "flip") *static_cast<unsigned char*>(into) ^= 1;
  return result;
}
