// What NVIDIA documents of a multiprocessor: the numbers that measured ones are held against.
#pragma once

#include <cstdint>

#include "npgpu/probe.hpp"

namespace npgpu::cuda {

// Multiply-adds that one multiprocessor of this compute capability (90 for 9.0) completes in a cycle, elements
// counted: a packed pair of fp16 is two. From the table "Throughput of Native Arithmetic Instructions" of the CUDA C++
// Programming Guide. NaN where the table here does not have it.
double multiply_adds_per_cycle(DataType, int capability);

// Of the first level, which data and shared memory divide between them, as the same guide gives it for each capability.
// 0 where the table here does not have it; the driver gives only shared memory's part.
std::uint64_t unified_cache_bytes(int capability);

// Two operations a multiply-add; `clock_mhz` is the highest. NaN with a reason where a factor is not known.
Limit arithmetic_limit(DataType, int capability, unsigned multiprocessors, double clock_mhz);

}  // namespace npgpu::cuda
