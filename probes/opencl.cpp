#include "probes/opencl.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/nvidia.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "probes/host/probe.hpp"

namespace npgpu::opencl {

namespace {

// What shapes assume where the driver does not say.
constexpr std::uint64_t assumed_cache = 64 * MiB;
constexpr std::uint32_t assumed_blocks_of_unit = 32;

}  // namespace

bool is_cpu(const std::string& device) { return text_fact(find_or_throw(device).info.facts, "device_type") == "CPU"; }

Layout probed_layout(const std::string& id, DataType type) {
  Layout layout = layout_of(id, type);
  if (is_cpu(id)) layout.clock_mhz = host_layout(type).clock_mhz;
  return layout;
}

Layout layout_for_shapes(const std::string& id, DataType type) {
  Layout layout = layout_of(id, type);
  if (!layout.cache_bytes) layout.cache_bytes = assumed_cache;
  if (!layout.max_blocks_per_unit) layout.max_blocks_per_unit = assumed_blocks_of_unit;
  const double most = number_fact(find_or_throw(id).info.facts, "max_allocation_bytes");
  if (most > 0)  // a set takes an eighth at most
    layout.memory_bytes = std::min(layout.memory_bytes, 8 * static_cast<std::uint64_t>(most));
  return layout;
}

Limit arithmetic_limit(const std::string& id, DataType type) {
  const Layout l = probed_layout(id, type);
  if (const int capability = nvidia_capability(id)) {
    if (type == DataType::fp64 && nvidia::has_reduced_fp64(find_or_throw(id).info.name))
      return {not_measured, "unknown: this model's fp64 is slower than its multiprocessors would allow"};
    return nvidia::arithmetic_limit(type, capability, l.units, l.clock_mhz);
  }
  if (!is_cpu(id)) return {not_measured, "unknown: OpenCL does not tell what a unit computes in a cycle"};
  return multiply_add_limit(type, l);
}

std::optional<std::string> why_no_local_memory(const std::string& id) {
  const auto type = value_of<cl_device_local_mem_type>(find_or_throw(id).device, CL_DEVICE_LOCAL_MEM_TYPE);
  if (type == cl_device_local_mem_type{CL_LOCAL}) return std::nullopt;
  return id + " keeps local memory in its global memory: there are no banks";
}

std::optional<std::string> refuses_grid(const std::string& id, const Shape& shape) {
  const Layout l = layout_of(id, DataType::fp32);
  if (shape.one_block_per_sm) return "OpenCL does not tell which unit runs a work-group: no shape has one block per SM";
  if (is_cpu(id)) {
    if (shape.blocks >= 1 && shape.blocks <= l.units && shape.threads >= 1) return std::nullopt;
    return fmt::format("{} blocks, but {} has {} cores", shape.blocks, id, l.units);
  }
  constexpr std::uint32_t max_blocks = 0x7fffffff;
  if (shape.blocks >= 1 && shape.blocks <= max_blocks && shape.threads >= 1 && shape.threads <= l.max_threads_per_block)
    return std::nullopt;
  return fmt::format("{} blocks of {} threads: {} takes 1 to {} of 1 to {}", shape.blocks, shape.threads, id,
                     max_blocks, l.max_threads_per_block);
}

// ---- OpenclProbe ---------------------------------------------------------------------------------------------------

std::optional<std::string> OpenclProbe::why_not_there(const std::string& device) const {
  try {
    (void)find_or_throw(device);
    return std::nullopt;
  } catch (const Error& why) {
    return why.what();
  }
}

MemoryNeed needs_of(std::span<const ProbeStep> steps, std::uint64_t arrays) {
  const std::uint64_t bytes = arrays * max_bytes_of(steps);
  if (!steps.empty() && is_cpu(steps.front().question.device)) return {bytes, 0};
  return {0, bytes};
}

MemoryNeed OpenclProbe::available(const ProbeCase& c) const {
  return {host::free_host_memory(), layout_of(c.device, c.type).memory_bytes};
}

// ---- OpenclProbeRunner ---------------------------------------------------------------------------------------------

OpenclProbeRunner::OpenclProbeRunner(const Probe& probe, std::span<const ProbeStep> steps)
    : ProbeRunner(probe, steps),
      bench_(question().device),
      is_cpu_(opencl::is_cpu(question().device)),
      layout_(layout_for_shapes(question().device, question().type)) {}

Kernel OpenclProbeRunner::kernel(const std::string& source, const std::string& options, const char* name) {
  const std::string all = fmt::format("-w -DCPU={:d} {}", is_cpu_, options);
  auto found = programs_.find(all + source);
  if (found == programs_.end()) found = programs_.emplace(all + source, bench_.build(source, all)).first;
  return found->second.kernel(name);
}

void OpenclProbeRunner::enqueue(const Kernel& kernel, const Range& range) {
  Event event;
  bench_.launch(kernel, range, &event);
  (first_ ? last_ : first_) = std::move(event);
}

void OpenclProbeRunner::enqueue_over(const Kernel& kernel) {
  if (is_cpu_) bench_.launch(kernel, {.groups = std::max(layout_.units, 1u), .items = 1});
  else bench_.launch(kernel, {.groups = 1024, .items = std::min(256u, layout_.max_threads_per_block)});
}

ProbeSample OpenclProbeRunner::time(const std::function<void()>& enqueue_all) {
  bench_.queue().finish();
  first_ = {};
  last_ = {};
  ProbeSample sample;
  const Seconds begin = steady_clock().now();
  enqueue_all();
  bench_.queue().finish();
  sample.host_us = microseconds(steady_clock().now() - begin);
  if (const auto took = profiled(first_, last_ ? last_ : first_)) sample.device_us = microseconds(*took);
  return sample;
}

void OpenclProbeRunner::make_room(Buffer& buffer, std::uint64_t bytes) const {
  const std::uint64_t words = (bytes + 3) / 4 * 4;
  if (buffer.bytes() >= words) return;
  buffer = {};  // given back before more is taken
  buffer = bench_.buffer(words);
}

// ---- OpenclSumsRunner ----------------------------------------------------------------------------------------------

void OpenclSumsRunner::make_ready() {
  make_room(results_, threads() * sizeof(std::uint32_t));
  timed(0);
}

ProbeSample OpenclSumsRunner::launch(std::uint64_t repeats) {
  if (repeats > UINT32_MAX) throw Error(ErrorKind::usage, "a run of this probe has at most 2^32 - 1 repeats");
  bench().fill(results_, poison);
  repeats_ = repeats;
  return timed(static_cast<std::uint32_t>(repeats));
}

std::optional<std::string> OpenclSumsRunner::wrong_result() {
  return wrong_word(read<std::uint32_t>(results_, threads()), shape(), repeats_,
                    [&](std::uint32_t block, std::uint32_t thread) { return expected(block, thread, repeats_); });
}

}  // namespace npgpu::opencl
