#include "netpipe/devices/cuda/throughput.hpp"

#include <fmt/format.h>

#include <cmath>

namespace npgpu::cuda {

namespace {

struct Row {
  int capability;
  double fp32, fp64, int32, fp16, bf16;
  unsigned cache_kib;
};

// 7.5 has no bf16. Capabilities that are not here are unknown, not like their neighbours: 8.0 and 8.6 share little.
constexpr Row table[] = {
    {70, 64, 32, 64, 128, not_measured, 128}, {75, 64, 2, 64, 128, not_measured, 96}, {80, 64, 32, 64, 256, 128, 192},
    {86, 128, 2, 64, 128, 128, 128},          {89, 128, 2, 64, 128, 128, 128},        {90, 128, 64, 64, 256, 256, 256},
};

}  // namespace

double multiply_adds_per_cycle(DataType type, int capability) {
  for (const Row& row : table) {
    if (row.capability != capability) continue;
    switch (type) {
      case DataType::fp32:
        return row.fp32;
      case DataType::fp64:
        return row.fp64;
      case DataType::int32:
        return row.int32;
      case DataType::fp16:
        return row.fp16;
      case DataType::bf16:
        return row.bf16;
    }
  }
  return not_measured;
}

std::uint64_t unified_cache_bytes(int capability) {
  for (const Row& row : table)
    if (row.capability == capability) return row.cache_kib * KiB;
  return 0;
}

Limit arithmetic_limit(DataType type, int capability, unsigned multiprocessors, double clock_mhz) {
  const std::string version = fmt::format("{}.{}", capability / 10, capability % 10);
  const double lanes = multiply_adds_per_cycle(type, capability);
  if (std::isnan(lanes))
    return {not_measured,
            fmt::format("unknown: this program has no {} rate of compute capability {}", name(type), version)};
  if (multiprocessors == 0 || !(clock_mhz > 0))
    return {not_measured, "unknown: the driver does not say the multiprocessors' number and clock"};
  return {
      multiprocessors * lanes * 2 * clock_mhz * 1e6,
      fmt::format("{} multiprocessors * {:g} multiply-adds a cycle (CUDA C++ Programming Guide, capability {}) * 2 * "
                  "{:g} MHz",
                  multiprocessors, lanes, version, clock_mhz)};
}

}  // namespace npgpu::cuda
