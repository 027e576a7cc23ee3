// The functions of OpenCL that are used, found at run time in the loader of its drivers (libOpenCL.so.1). Nothing links
// it, so that the program starts, and can say what is missing, on a machine without it.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue, which every version has
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <string>

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

}  // namespace npgpu::opencl
