#include "netpipe/devices/opencl/handles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "netpipe/devices/opencl/inventory.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::opencl {

namespace {

std::shared_ptr<const Context> new_context(const std::string& id) {
  const Found& found = find_or_throw(id);
  Context made{.id = id, .platform = found.platform, .device = found.device, .context = nullptr};
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_int result = CL_SUCCESS;
  made.context.reset(library().clCreateContext(properties, 1, &made.device, nullptr, nullptr, &result));
  check(result, "making a context on " + id);
  return std::make_shared<const Context>(std::move(made));
}

std::mutex contexts_mutex;
// Never destroyed: a driver may be gone when the process ends.
std::map<std::string, std::shared_ptr<const Context>>& contexts() {
  static auto* const all = new std::map<std::string, std::shared_ptr<const Context>>;
  return *all;
}

}  // namespace

std::shared_ptr<const Context> context_on(const std::string& id) {
  const std::lock_guard lock(contexts_mutex);
  auto& context = contexts()[id];
  if (!context) context = new_context(id);
  return context;
}

void forget_context(const std::string& id) {
  const std::lock_guard lock(contexts_mutex);
  contexts().erase(id);
}

Event Event::user(const Context& context) {
  Event event;
  cl_int result = CL_SUCCESS;
  event.event_.reset(library().clCreateUserEvent(context.get(), &result));
  check(result, "clCreateUserEvent");
  return event;
}

void Event::complete() const { check(library().clSetUserEventStatus(get(), CL_COMPLETE), "clSetUserEventStatus"); }

bool Event::has_ended() const {
  cl_int status = CL_QUEUED;  // below 0: an error
  check(library().clGetEventInfo(get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
        "clGetEventInfo");
  check(std::min(status, CL_COMPLETE), "a command");
  return status == CL_COMPLETE;
}

std::optional<Seconds> Event::at(cl_profiling_info what) const {
  cl_ulong ns = 0;
  if (library().clGetEventProfilingInfo(get(), what, sizeof ns, &ns, nullptr) != CL_SUCCESS) return std::nullopt;
  return Seconds{static_cast<double>(ns) * 1e-9};
}

std::optional<Seconds> profiled(const Event& first, const Event& last) {
  const auto begin = first.at(CL_PROFILING_COMMAND_START), end = last.at(CL_PROFILING_COMMAND_END);
  if (!begin || !end || *end < *begin) return std::nullopt;
  return *end - *begin;
}

Queue::Queue(const Context& context, bool profiling) {
  cl_int result = CL_SUCCESS;
  queue_.reset(library().clCreateCommandQueue(context.get(), context.device, profiling ? CL_QUEUE_PROFILING_ENABLE : 0,
                                              &result));
  check(result, "making a queue on " + context.id);
}

Buffer::Buffer(const Context& context, std::uint64_t bytes, cl_mem_flags flags) : bytes_(bytes) {
  const std::uint64_t most = value_of<cl_ulong>(context.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE).value_or(0);
  if (most && bytes > most)
    throw Error(ErrorKind::no_memory,
                fmt::format("{} has no buffers of {} bytes: its largest has {}", context.id, bytes, most));
  cl_int result = CL_SUCCESS;
  memory_.reset(library().clCreateBuffer(context.get(), flags, bytes, nullptr, &result));
  check(result, fmt::format("allocating {} bytes of {} memory on {}", bytes,
                            flags & CL_MEM_ALLOC_HOST_PTR ? "pinned" : "device", context.id));
}

Mapping::Mapping(const Queue& queue, const Buffer& buffer, cl_map_flags flags) : Mapping() {
  cl_int result = CL_SUCCESS;
  void* const data = library().clEnqueueMapBuffer(queue.get(), buffer.get(), CL_TRUE, flags, 0, buffer.bytes(), 0,
                                                  nullptr, nullptr, &result);
  check(result, fmt::format("mapping {} bytes", buffer.bytes()));
  data_ = {static_cast<std::byte*>(data), Unmap{queue.get(), buffer.get()}};
}

void Mapping::Unmap::operator()(std::byte* data) const noexcept {
  complain(library().clEnqueueUnmapMemObject(queue, memory, data, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  complain(library().clFinish(queue), "clFinish");
}

namespace {

// The compiler's words in one line, as long as a sentence takes them.
std::string build_log(cl_program program, cl_device_id device) {
  constexpr std::size_t longest = 400;
  std::size_t bytes = 0;
  if (library().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) != CL_SUCCESS ||
      bytes > GiB)
    return {};
  std::string log(bytes, '\0');
  if (library().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr) != CL_SUCCESS)
    return {};
  std::string line;
  for (const char c : log) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\0';
    if (!is_space) line += c;
    else if (!line.empty() && line.back() != ' ') line += ' ';
  }
  if (line.size() > longest) line.replace(longest, line.npos, " ...");
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace

Program::Program(const Context& context, std::string_view source, const std::string& options) {
  const char* text = source.data();
  const std::size_t size = source.size();
  cl_int result = CL_SUCCESS;
  program_.reset(library().clCreateProgramWithSource(context.get(), 1, &text, &size, &result));
  check(result, "clCreateProgramWithSource");
  result = library().clBuildProgram(program_.get(), 1, &context.device, options.c_str(), nullptr, nullptr);
  if (result == CL_SUCCESS) return;
  const std::string log = build_log(program_.get(), context.device);
  fail(result, fmt::format("building a program for {}{}{}", context.id, log.empty() ? "" : ": ", log));
}

Kernel Program::kernel(const char* name) const {
  cl_int result = CL_SUCCESS;
  cl_kernel made = library().clCreateKernel(program_.get(), name, &result);
  check(result, fmt::format("making the kernel {}", name));
  return Kernel(made);
}

std::string Program::binary() const {
  std::size_t bytes = 0;
  check(library().clGetProgramInfo(program_.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr),
        "clGetProgramInfo");
  if (bytes > GiB) throw Error(ErrorKind::failed, fmt::format("OpenCL claims a program of {} bytes", bytes));
  std::string text(bytes, '\0');
  char* into = text.data();
  check(library().clGetProgramInfo(program_.get(), CL_PROGRAM_BINARIES, sizeof into, &into, nullptr),
        "clGetProgramInfo");
  return text;
}

}  // namespace npgpu::opencl
