// What NVIDIA's documents say of a GPU by its compute capability (90 for 9.0), whichever API reaches it; and whether
// this program can ask for GPUs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::nvidia {

// What a multiprocessor holds at once, by the CUDA C++ Programming Guide. 0 where the table here does not have it.
struct Unit {
  std::uint32_t blocks = 0, threads = 0;
};
Unit unit_of(int capability);

// The size of the first level, which data and shared memory divide between them, as the CUDA C++ Programming Guide
// gives it for each capability (90 for 9.0); the driver gives only shared memory's part. 0 where the table here does
// not have it.
std::uint64_t unified_cache_bytes(int capability);

// From the same guide's table "Throughput of Native Arithmetic Instructions", a packed pair of fp16 counted as two
// elements; two operations a multiply-add; `clock_mhz` is the highest. NaN with a reason where a factor is not known.
Limit arithmetic_limit(DataType, int capability, unsigned multiprocessors, double clock_mhz);

// NVIDIA H800 and H20 give about 1 TFLOP/s of fp64 (their data sheets), whatever their multiprocessors are.
bool has_reduced_fp64(std::string_view name);

// The same of tensor cores and dense matrices, by NVIDIA's papers on the architectures.
Limit tensor_limit(DataType, int capability, unsigned multiprocessors, double clock_mhz);

}  // namespace npgpu::nvidia

namespace npgpu {

// Whether this program can ask how many GPUs there are, which is another question than the number. Each family with
// GPUs of this machine has one, which joins as a GpuDriver.

class GpuDriver {
 public:
  virtual ~GpuDriver() = default;
  virtual std::string_view rank() const = 0;  // the family's kind
  // False where the program was built without the API, where there is no driver, or too old a one.
  virtual bool can_ask() const = 0;
};

namespace devices {

// False: that devices::gpus() is empty says nothing of the machine.
inline bool can_ask_for_gpus() {
  return std::ranges::any_of(registered<GpuDriver>(), [](const auto& driver) { return driver->can_ask(); });
}

}  // namespace devices

}  // namespace npgpu
