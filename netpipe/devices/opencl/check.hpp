// The functions of OpenCL that are used, and the way from their results to an Error. They are found at run time in the
// loader of its drivers (libOpenCL.so.1). Nothing links it, so that the program starts, and can say what is missing, on
// a machine without it.
#pragma once

#include <string>
#include <string_view>

#include "npgpu/vocabulary/units.hpp"

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue, which every version has
#include <CL/cl.h>
#include <CL/cl_ext.h>

namespace npgpu::opencl {

// All are of OpenCL 1.2.
#define NPGPU_OPENCL_FUNCTIONS(each)                                                                                \
  each(clGetPlatformIDs) each(clGetPlatformInfo) each(clGetDeviceIDs) each(clGetDeviceInfo) each(clCreateContext)   \
      each(clReleaseContext) each(clCreateCommandQueue) each(clReleaseCommandQueue) each(clCreateBuffer)            \
          each(clReleaseMemObject) each(clCreateProgramWithSource) each(clBuildProgram) each(clGetProgramBuildInfo) \
              each(clGetProgramInfo) each(clReleaseProgram) each(clCreateKernel) each(clReleaseKernel)              \
                  each(clSetKernelArg) each(clEnqueueNDRangeKernel) each(clEnqueueReadBuffer)                       \
                      each(clEnqueueWriteBuffer) each(clEnqueueCopyBuffer) each(clEnqueueFillBuffer)                \
                          each(clEnqueueMapBuffer) each(clEnqueueUnmapMemObject) each(clEnqueueMarkerWithWaitList)  \
                              each(clFlush) each(clFinish) each(clGetEventInfo) each(clGetEventProfilingInfo)       \
                                  each(clReleaseEvent) each(clCreateUserEvent) each(clSetUserEventStatus)

struct Library {
#define NPGPU_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  NPGPU_OPENCL_FUNCTIONS(NPGPU_OPENCL_MEMBER)
#undef NPGPU_OPENCL_MEMBER
  std::string file;     // "libOpenCL.so.1"
  std::string why_not;  // empty: usable
};

// The library that NPGPU_OPENCL names, or libOpenCL.so.1 where the system looks. Never throws.
Library load();
// Opened once a process.
const Library& library();

// The one way from an OpenCL result to an Error, and the one that a destructor may take.

// "CL_OUT_OF_RESOURCES"; "OpenCL error -9999" for a code that the standard does not have.
std::string name_of(cl_int result);

// What a code says of the device; failed for all that say nothing of it.
ErrorKind kind_of(cl_int result);

// "clEnqueueWriteBuffer: CL_INVALID_VALUE". Of kind lost where a device that was there is not available any more.
[[noreturn]] void fail(cl_int result, std::string_view what);

// Throws unless the call went well; `what` says what was tried. Cheap enough for the timed region.
inline void check(cl_int result, std::string_view what) {
  if (result != CL_SUCCESS) [[unlikely]]
    fail(result, what);
}

// For destructors: says on standard error what went wrong, and carries on.
void complain(cl_int result, std::string_view what) noexcept;

}  // namespace npgpu::opencl
