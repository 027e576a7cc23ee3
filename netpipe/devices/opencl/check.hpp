// The one way from an OpenCL result to an Error, and the one that a destructor may take.
#pragma once

#include <string>
#include <string_view>

#include "netpipe/devices/opencl/library.hpp"
#include "npgpu/error.hpp"

namespace npgpu::opencl {

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
