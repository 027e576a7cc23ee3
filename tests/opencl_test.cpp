// Devices of OpenCL: programs built and run, and errors in words. What needs a device is skipped, with the reason,
// where OpenCL has none.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "netpipe/devices/opencl/bench.hpp"
#include "netpipe/devices/opencl/inventory.hpp"

namespace opencl_test {

using namespace npgpu;

namespace {

// The first that runs on the processor, as PoCL's do; empty, with a message, where there is none.
std::string cpu_device() {
  for (const opencl::Found& one : opencl::inventory())
    if (text_fact(one.info.facts, "device_type") == "CPU") return one.info.id;
  MESSAGE("skipped: no OpenCL device is a processor: ",
          opencl::inventory().empty() ? opencl::why_no_device() : "all are GPUs");
  return {};
}

template <class Function> std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

constexpr const char* twice =
    "kernel void twice(global uint* x, uint more, local uint* y) {"
    "  y[get_local_id(0)] = x[get_global_id(0)];"
    "  x[get_global_id(0)] = 2 * y[get_local_id(0)] + more;"
    "}";

}  // namespace

TEST_CASE("a kernel is built, launched, timed, and its results come back") {
  const std::string id = cpu_device();
  if (id.empty()) return;
  opencl::Bench bench(id);
  const opencl::Program program = bench.build(twice);
  opencl::Kernel kernel = program.kernel("twice");
  std::vector<cl_uint> numbers(256);
  for (cl_uint i = 0; i < numbers.size(); ++i) numbers[i] = i;
  const opencl::Buffer buffer = bench.buffer(numbers.size() * sizeof(cl_uint));
  bench.write(buffer, numbers.data(), buffer.bytes());
  kernel.set(buffer, cl_uint{7}, opencl::Local{32 * sizeof(cl_uint)});
  const ProbeSample once = bench.time(1, kernel, {.groups = 8, .items = 32});
  const ProbeSample thrice = bench.time(3, kernel, {.groups = 8, .items = 32});
  bench.read(buffer, numbers.data(), buffer.bytes());
  for (cl_uint i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == 16 * i + 15 * 7);
  CHECK(once.device_us > 0);
  CHECK(once.host_us > 0);
  CHECK(thrice.device_us > 0);
  CHECK(thrice.host_us >= thrice.device_us);
}

TEST_CASE("a program that cannot be built says what the compiler said") {
  const std::string id = cpu_device();
  if (id.empty()) return;
  const opencl::Bench bench(id);
  const std::string message = message_of([&] { bench.build("kernel void wrong() { no_such_function(1); }"); });
  CHECK(message.find("building a program for " + id) == 0);
  CHECK(message.find("no_such_function") != std::string::npos);
  CHECK(message.find("CL_BUILD_PROGRAM_FAILURE") != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("a device that is the host's processor says so") {
  const std::string id = cpu_device();
  if (id.empty()) return;
  const DeviceInfo info = devices::find(id);
  CHECK(text_fact(info.facts, "same_as") == "host");
  CHECK(number_fact(info.facts, "compute_units") >= 1);
  CHECK(info.memory_bytes > 0);
  const Layout layout = opencl::layout_of(id, DataType::fp32);
  CHECK(layout.units >= 1);
  CHECK(layout.lanes >= 1);
}

TEST_CASE("a device that is not there is named with those that are") {
  const std::string message = message_of([] { devices::find("opencl:1000"); });
  CHECK(message.starts_with("--device opencl:1000"));
}

}  // namespace opencl_test
