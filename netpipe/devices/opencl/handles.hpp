// Owners of what OpenCL gives out: move-only, and their destructor is where the thing dies. OpenCL itself keeps the
// context of a thing alive until the thing is released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "netpipe/devices/opencl/check.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::opencl {

template <auto Function> struct Release {
  template <class Handle> void operator()(Handle* handle) const noexcept {
    complain((library().*Function)(handle), "releasing an object of OpenCL");
  }
};

// A device with a context of its own.
struct Context {
  std::string id;  // opencl:0
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::unique_ptr<_cl_context, Release<&Library::clReleaseContext>> context;

  cl_context get() const { return context.get(); }
};
// All of the program shares one a device, because drivers run work of two contexts in turn. It lives until the last
// user and forget_context() have let it go. Throws Error.
std::shared_ptr<const Context> context_on(const std::string& id);
void forget_context(const std::string& id);

class Event {
 public:
  // Completed by complete() alone.
  static Event user(const Context&);

  cl_event get() const { return event_.get(); }
  explicit operator bool() const { return event_ != nullptr; }
  // For the last argument of an enqueue, which leaves its event here; the one before is released.
  class Into {
   public:
    explicit Into(Event& event) : event_(event) {}
    ~Into() { event_.event_.reset(made_); }
    Into(const Into&) = delete;
    Into& operator=(const Into&) = delete;
    operator cl_event*() { return &made_; }

   private:
    Event& event_;
    cl_event made_ = nullptr;
  };
  Into into() { return Into(*this); }
  void complete() const;   // REQUIRES: user()
  bool has_ended() const;  // throws Error where the command failed

  // When the command was CL_PROFILING_COMMAND_QUEUED, _SUBMIT, _START or _END, by the device's clock; nothing where the
  // driver does not say. REQUIRES: it has ended, and was enqueued in a Queue with profiling.
  std::optional<Seconds> at(cl_profiling_info) const;

 private:
  std::unique_ptr<_cl_event, Release<&Library::clReleaseEvent>> event_;
};
// From the begin of one command to the end of another; nothing where the driver has no times of them.
std::optional<Seconds> profiled(const Event& first, const Event& last);

// In order. Events of a queue with profiling have times.
class Queue {
 public:
  explicit Queue(const Context&, bool profiling = true);
  cl_command_queue get() const { return queue_.get(); }
  void flush() const { check(library().clFlush(get()), "clFlush"); }
  void finish() const { check(library().clFinish(get()), "clFinish"); }

 private:
  std::unique_ptr<_cl_command_queue, Release<&Library::clReleaseCommandQueue>> queue_;
};

class Buffer {
 public:
  Buffer() = default;
  // Throws an Error that says how much of what was wanted.
  Buffer(const Context&, std::uint64_t bytes, cl_mem_flags = CL_MEM_READ_WRITE);
  cl_mem get() const { return memory_.get(); }
  std::uint64_t bytes() const { return memory_ ? bytes_ : 0; }

 private:
  std::unique_ptr<_cl_mem, Release<&Library::clReleaseMemObject>> memory_;
  std::uint64_t bytes_ = 0;
};

// A buffer that the host sees, for as long as this lives. REQUIRES: buffer and queue live longer.
class Mapping {
 public:
  Mapping() : data_(nullptr, Unmap{nullptr, nullptr}) {}
  Mapping(const Queue&, const Buffer&, cl_map_flags = CL_MAP_READ | CL_MAP_WRITE);
  std::byte* data() const { return data_.get(); }

 private:
  struct Unmap {
    cl_command_queue queue;
    cl_mem memory;
    void operator()(std::byte*) const noexcept;
  };
  std::unique_ptr<std::byte, Unmap> data_;
};

class Kernel {
 public:
  explicit Kernel(cl_kernel kernel) : kernel_(kernel) {}
  cl_kernel get() const { return kernel_.get(); }
  // All arguments in order: numbers as the kernel has them, buffers, and local memory.
  template <class... Arguments> void set(const Arguments&... arguments) {
    cl_uint index = 0;
    (set_one(index++, arguments), ...);
  }

 private:
  template <class Number> void set_one(cl_uint index, const Number& number) {
    check(library().clSetKernelArg(get(), index, sizeof number, &number), "clSetKernelArg");
  }
  void set_one(cl_uint index, const Buffer& buffer) { set_one(index, buffer.get()); }
  void set_one(cl_uint index, const struct Local& local);
  std::unique_ptr<_cl_kernel, Release<&Library::clReleaseKernel>> kernel_;
};
// An argument: so many bytes of a work-group's local memory.
struct Local {
  std::uint64_t bytes = 0;
};
inline void Kernel::set_one(cl_uint index, const Local& local) {
  check(library().clSetKernelArg(get(), index, local.bytes, nullptr), "clSetKernelArg");
}

class Program {
 public:
  // Builds it for the context's device. Throws Error(failed) with the compiler's first words.
  Program(const Context&, std::string_view source, const std::string& options = {});
  Kernel kernel(const char* name) const;
  // What the compiler made, in the device's or the driver's own form (NVIDIA: PTX).
  std::string binary() const;

 private:
  std::unique_ptr<_cl_program, Release<&Library::clReleaseProgram>> program_;
};

}  // namespace npgpu::opencl
