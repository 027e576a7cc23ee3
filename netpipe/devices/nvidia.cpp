#include "netpipe/devices/nvidia.hpp"

#include <fmt/format.h>

#include <cmath>

namespace npgpu::nvidia {

namespace {

// Multiply-adds a cycle in the order of DataType, and the first level's size. 7.5 has no bf16. Capabilities that are
// not here are unknown, not like their neighbours: 8.0 and 8.6 share little.
struct Row {
  int capability;
  double rates[5];
  unsigned cache_kib;
};
constexpr Row table[] = {
    {70, {64, 32, 64, 128, not_measured}, 128},
    {75, {64, 2, 64, 128, not_measured}, 96},
    {80, {64, 32, 64, 256, 128}, 192},
    {86, {128, 2, 64, 128, 128}, 128},
    {89, {128, 2, 64, 128, 128}, 128},
    {90, {128, 64, 64, 256, 256}, 256},
    // Blackwell, as the CUDA C++ Best Practices Guide 13 has it; of 10.x it gives fp16 as 64 pairs and no bf16. 10.3
    // has the FP64 units of a consumer chip: HGX B300's FP64 rate (NVIDIA Blackwell Architecture Technical Brief) over
    // its multiprocessors and clock is 2.
    {100, {128, 64, 64, 128, not_measured}, 256},
    {103, {128, 2, 64, 128, not_measured}, 256},
    {120, {128, 2, 64, 128, 128}, 128},
    {121, {128, 2, 64, 128, 128}, 128},
};

// Multiply-adds of dense matrices that tensor cores do in a cycle: the rates that NVIDIA's papers on the architectures
// give for all, over their multiprocessors and clock. fp16 stands for bf16, too.
struct TensorRow {
  int capability;
  double fp16, tf32, fp8, int8, fp64;
  const char* source;
  double rate(DataType type) const {
    switch (type) {
      case DataType::fp16:
      case DataType::bf16: return fp16;
      case DataType::tf32: return tf32;
      case DataType::fp8: return fp8;
      case DataType::int8: return int8;
      case DataType::fp64: return fp64;
      default: return not_measured;
    }
  }
};
constexpr TensorRow tensor_table[] = {
    {80, 1024, 512, not_measured, 2048, 64, "NVIDIA A100 Tensor Core GPU Architecture, 2020"},
    {90, 2048, 1024, 4096, 4096, 128, "NVIDIA H100 Tensor Core GPU Architecture, 2022"},
};

// What a unit has by the same guide, "Technical Specifications per Compute Capability".
struct UnitRow {
  int capability;
  Unit unit;
};
constexpr UnitRow unit_table[] = {{70, {32, 2048}}, {75, {16, 1024}}, {80, {32, 2048}},  {86, {16, 1536}},
                                  {89, {24, 1536}}, {90, {32, 2048}}, {100, {32, 2048}}, {120, {24, 1536}}};

const Row* row_of(int capability) {
  const auto* const row = std::ranges::find(table, capability, &Row::capability);
  return row == std::end(table) ? nullptr : row;
}

}  // namespace

Unit unit_of(int capability) {
  const auto* const row = std::ranges::find(unit_table, capability, &UnitRow::capability);
  return row == std::end(unit_table) ? Unit{} : row->unit;
}

std::uint64_t unified_cache_bytes(int capability) {
  const Row* const row = row_of(capability);
  return row ? row->cache_kib * KiB : 0;
}

Limit arithmetic_limit(DataType type, int capability, unsigned multiprocessors, double clock_mhz) {
  const std::string version = fmt::format("{}.{}", capability / 10, capability % 10);
  const Row* const row = row_of(capability);
  const auto column = static_cast<std::size_t>(type);
  const double lanes = row && column < std::size(row->rates) ? row->rates[column] : not_measured;
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

bool has_reduced_fp64(std::string_view name) {
  constexpr std::string_view h800 = "NVIDIA H800", h20 = "NVIDIA H20";
  return name.starts_with(h800) || (name.starts_with(h20) && (name.size() == h20.size() || name[h20.size()] != '0'));
}

Limit tensor_limit(DataType type, int capability, unsigned multiprocessors, double clock_mhz) {
  const auto* const row = std::ranges::find(tensor_table, capability, &TensorRow::capability);
  const double rate = row == std::end(tensor_table) ? not_measured : row->rate(type);
  if (std::isnan(rate))
    return {not_measured, fmt::format("unknown: this program has no {} rate of the tensor cores of capability {}.{}",
                                      name(type), capability / 10, capability % 10)};
  if (multiprocessors == 0 || !(clock_mhz > 0))
    return {not_measured, "unknown: the driver does not say the multiprocessors' number and clock"};
  return {multiprocessors * rate * 2 * clock_mhz * 1e6,
          fmt::format("{} multiprocessors * {:g} multiply-adds a cycle ({}) * 2 * {:g} MHz", multiprocessors, rate,
                      row->source, clock_mhz)};
}

}  // namespace npgpu::nvidia
