// A second process of this program that holds memory on GPUs, for copies between the memories of two processes (CUDA
// IPC). It is started when memory of it is first asked for, and ends with this one. It does nothing on a GPU but hold
// what it was asked for. Everything throws Error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npgpu::cuda {

// Memory of the second process on that GPU, mapped into this one.
std::byte* allocate_in_second_process(int ordinal, std::uint64_t bytes);
// Of what the function above gave. The second process frees it; what goes wrong is said on standard error.
void free_in_second_process(std::byte*) noexcept;

// 0 while there is none.
long second_process_id();

// What the second process does: it allocates and frees what its standard input asks for, until that ends. The exit
// code.
int serve_memory();

}  // namespace npgpu::cuda
