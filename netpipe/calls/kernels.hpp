// The kernels that calls launch: empty ones, ones that count how often they ran, and one that signals the host.
#pragma once

#include <cstdint>

namespace npgpu::cuda {

// All but the signal take an argument of `argument_bytes` and a counter; every block of a counting one adds 1 to it.
// Null where there is no such size.
const void* empty_kernel(std::uint64_t argument_bytes);
const void* counting_kernel(std::uint64_t argument_bytes);
inline constexpr std::uint64_t max_argument_bytes = 4000;
// void(volatile std::uint64_t* word, std::uint64_t value): the host sees the word at once.
const void* signal_kernel();
// void(const uint4* from, std::uint64_t count, unsigned* end): reads all of it, which is zero, and then writes nothing.
const void* reading_kernel();

}  // namespace npgpu::cuda
