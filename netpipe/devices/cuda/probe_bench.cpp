#include "netpipe/devices/cuda/probe_bench.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npgpu::cuda {

BlockReadback read_back(std::span<const BlockRecord> records, std::uint32_t launch) {
  struct Unit {
    std::uint32_t blocks = 0;
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
  };
  std::vector<Unit> units;
  for (std::size_t block = 0; block < records.size(); ++block) {
    const BlockRecord& one = records[block];
    if (one.written != launch)
      throw Error(ErrorKind::failed, fmt::format("block {} of {} left no record of its run", block, records.size()));
    if (one.unit >= units.size()) units.resize(one.unit + 1);
    Unit& unit = units[one.unit];
    ++unit.blocks;
    unit.begin = std::min(unit.begin, one.begin);
    unit.end = std::max(unit.end, one.end);
  }
  BlockReadback all;
  for (const Unit& unit : units) {
    if (!unit.blocks) continue;
    ++all.units;
    all.max_blocks_on_unit = std::max(all.max_blocks_on_unit, unit.blocks);
    all.cycles = std::max(all.cycles, static_cast<double>(unit.end - unit.begin));
  }
  return all;
}

BlockRecord* BlockRecords::begin(std::uint32_t blocks, cudaStream_t stream) {
  const std::uint64_t bytes = std::uint64_t{blocks} * sizeof(BlockRecord);
  if (device_.bytes() < bytes) {
    device_ = Buffer(Memory::device, bytes);
    host_ = Buffer(Memory::pinned, bytes);
    check(cudaMemsetAsync(device_.data(), 0, bytes, stream), "clearing the blocks' records");
  }
  blocks_ = blocks;
  ++launch_;
  return reinterpret_cast<BlockRecord*>(device_.data());
}

BlockReadback BlockRecords::end(cudaStream_t stream) {
  const std::uint64_t bytes = std::uint64_t{blocks_} * sizeof(BlockRecord);
  check(cudaMemcpyAsync(host_.data(), device_.data(), bytes, cudaMemcpyDeviceToHost, stream),
        "reading the blocks' records");
  check(cudaStreamSynchronize(stream), "reading the blocks' records");
  return read_back({reinterpret_cast<const BlockRecord*>(host_.data()), blocks_}, launch_);
}

namespace {

std::uint32_t count(cudaDeviceAttr which, int ordinal) { return static_cast<std::uint32_t>(attribute(which, ordinal)); }

// CUDA 13 took the clock out of the properties; where a driver no longer has the attribute it is unknown.
double clock_mhz(int ordinal) {
  const int khz = maybe_attribute(cudaDevAttrClockRate, ordinal).value_or(0);
  return khz > 0 ? khz * 1e-3 : not_measured;
}

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
  layout.memory_bytes = free_memory(ordinal);
  layout.clock_mhz = clock_mhz(ordinal);
  layout.registers_per_unit = count(cudaDevAttrMaxRegistersPerMultiprocessor, ordinal);
  layout.shared_bytes_per_unit = count(cudaDevAttrMaxSharedMemoryPerMultiprocessor, ordinal);
  layout.shared_bytes_per_block = count(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);
  layout.shared_bytes_reserved = count(cudaDevAttrReservedSharedMemoryPerBlock, ordinal);
  return layout;
}

Limit arithmetic_limit(DataType type, int ordinal) {
  if (type == DataType::fp64 && has_reduced_fp64(info_of(ordinal).name))
    return {not_measured, "unknown: this model's fp64 is slower than its multiprocessors would allow"};
  return arithmetic_limit(type, capability_of(ordinal), count(cudaDevAttrMultiProcessorCount, ordinal),
                          clock_mhz(ordinal));
}

Limit tensor_limit(DataType type, int ordinal) {
  return tensor_limit(type, capability_of(ordinal), count(cudaDevAttrMultiProcessorCount, ordinal), clock_mhz(ordinal));
}

std::uint32_t shared_bytes_to_be_alone(int ordinal) {
  const std::uint32_t half = count(cudaDevAttrMaxSharedMemoryPerMultiprocessor, ordinal) / 2 + 1;
  const std::uint32_t most = count(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);
  if (half > most)
    throw Error(
        ErrorKind::usage,
        fmt::format("cuda:{}: a block takes at most {} bytes of shared memory, which does not keep a second one away",
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
    : gpu_(ordinal), stream_(stream_of(ordinal)), timer_(ordinal, stream_.get(), Seconds{1}) {}

ProbeSample ProbeBench::time(bool gated, const std::function<void()>& enqueue) {
  stream_.synchronize();
  ProbeSample sample;
  Seconds begin = steady_clock().now();
  if (gated) timer_.hold();
  timer_.start();
  enqueue();
  check(cudaGetLastError(), "launching a probe's kernel");
  timer_.stop();
  if (gated) {
    begin = steady_clock().now();
    timer_.release();
  }
  stream_.synchronize();
  sample.host_us = microseconds(steady_clock().now() - begin);
  const auto elapsed = timer_.elapsed();
  timed_out_ = !elapsed;
  if (elapsed) sample.device_us = microseconds(*elapsed);
  if (timed_out_) gate_works_ = false;
  return sample;
}

ProbeSample ProbeBench::time_kernel(std::uint64_t repeats, const std::function<void()>& launch) {
  ProbeSample sample = time(gate_works_ && repeats > 0, launch);
  const BlockReadback blocks = records_.end(stream_.get());
  sample.cycles = blocks.cycles;
  sample.units = blocks.units;
  sample.max_blocks_on_unit = blocks.max_blocks_on_unit;
  return sample;
}

ProbeSample ProbeBench::time_launches(std::uint64_t launches, const std::function<void()>& enqueue) {
  constexpr std::uint64_t events = 2;
  return time(gate_works_ && launches > 0 && launches + events <= timer_.gate_capacity(), enqueue);
}

}  // namespace npgpu::cuda
