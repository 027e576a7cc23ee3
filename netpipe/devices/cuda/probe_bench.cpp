#include "netpipe/devices/cuda/probe_bench.hpp"

#include <fmt/format.h>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/throughput.hpp"

namespace npgpu::cuda {

namespace {

std::uint32_t count(cudaDeviceAttr which, int ordinal) { return static_cast<std::uint32_t>(attribute(which, ordinal)); }

// CUDA 13 took the clock out of the properties; where a driver no longer has the attribute it is unknown.
double clock_mhz(int ordinal) {
  int khz = 0;
  if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, ordinal) == cudaSuccess && khz > 0) return khz * 1e-3;
  (void)cudaGetLastError();
  return not_measured;
}

const DeviceInfo& info(int ordinal) { return inventory().at(static_cast<std::size_t>(ordinal)); }

}  // namespace

int capability_of(int ordinal) {
  return attribute(cudaDevAttrComputeCapabilityMajor, ordinal) * 10 +
         attribute(cudaDevAttrComputeCapabilityMinor, ordinal);
}

Layout layout_of(int ordinal) {
  Layout layout;
  layout.units = count(cudaDevAttrMultiProcessorCount, ordinal);
  layout.lanes = count(cudaDevAttrWarpSize, ordinal);
  layout.max_threads_per_block = count(cudaDevAttrMaxThreadsPerBlock, ordinal);
  layout.max_blocks_per_unit = count(cudaDevAttrMaxBlocksPerMultiprocessor, ordinal);
  layout.max_threads_per_unit = count(cudaDevAttrMaxThreadsPerMultiProcessor, ordinal);
  layout.cache_bytes = l2_bytes(ordinal);
  layout.near_cache_bytes = unified_cache_bytes(capability_of(ordinal));
  layout.memory_bytes = device_memory(ordinal).free_bytes;
  layout.clock_mhz = clock_mhz(ordinal);
  return layout;
}

Limit arithmetic_limit(DataType type, int ordinal) {
  return arithmetic_limit(type, capability_of(ordinal), count(cudaDevAttrMultiProcessorCount, ordinal),
                         clock_mhz(ordinal));
}

std::uint32_t shared_bytes_to_be_alone(int ordinal) {
  const std::uint32_t half = count(cudaDevAttrMaxSharedMemoryPerMultiprocessor, ordinal) / 2 + 1;
  const std::uint32_t most = count(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);
  if (half > most)
    throw Error(ErrorKind::usage,
                fmt::format("cuda:{}: a block takes at most {} bytes of shared memory, which does not "
                            "keep a second one away",
                            ordinal, most));
  return half;
}

std::optional<std::string> refuses_grid(const Shape& shape) {
  constexpr std::uint32_t max_blocks = 0x7fffffff, max_threads = 1024;
  if (shape.blocks >= 1 && shape.blocks <= max_blocks && shape.threads >= 1 && shape.threads <= max_threads)
    return std::nullopt;
  return fmt::format("{} blocks of {} threads: a launch takes 1 to {} of 1 to {}", shape.blocks, shape.threads,
                     max_blocks, max_threads);
}

ProbeBench::ProbeBench(int ordinal)
    : ordinal_(ordinal),
      binding_(host::Binding::near_device(info(ordinal).pci_bus_id)),
      stream_([ordinal] {
        cuda::make_current(ordinal);
        return Stream();
      }()),
      timer_(ordinal, stream_.get(), std::nullopt) {
  std::string why;
  nvml_ = NvmlDevice::find(info(ordinal).pci_bus_id, why);
}

ProbeSample ProbeBench::time(const std::function<void()>& enqueue, bool recorded) {
  stream_.synchronize();
  ProbeSample sample;
  const Seconds begin = steady_clock().now();
  timer_.start();
  enqueue();
  check(cudaGetLastError(), "launching a probe's kernel");
  timer_.stop();
  stream_.synchronize();
  sample.host_us = microseconds(steady_clock().now() - begin);
  sample.device_us = microseconds(*timer_.elapsed());  // there is no gate that could time out
  if (recorded) {
    const BlockReadback blocks = records_.end(stream_.get());
    sample.cycles = blocks.cycles;
    sample.units = blocks.units;
    sample.max_blocks_on_unit = blocks.max_blocks_on_unit;
  }
  return sample;
}

}  // namespace npgpu::cuda
