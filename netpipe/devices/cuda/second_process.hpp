// A second process of this program that holds memory on GPUs, for copies between the memories of two processes (CUDA
// IPC). It is started when memory of it is first asked for, ends with this one, and does nothing on a GPU but hold what
// it was asked for. Everything throws Error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npgpu::cuda {

// Memory of the second process on that GPU, mapped into this one.
std::byte* allocate_in_second_process(int ordinal, std::uint64_t bytes);
// Of what the function above gave. The second process frees it; what goes wrong is said on standard error.
void free_in_second_process(std::byte*) noexcept;

// Whether this process started that one, whether or not it has ended.
bool is_second_process(long pid);

// What the second process does: what its standard input asks for, until that ends. The exit code.
int serve();

}  // namespace npgpu::cuda
