// Second processes of this program. One holds memory on GPUs, for copies between the memories of two processes (CUDA
// IPC): it is started when memory of it is first asked for, ends with this one, and does nothing on a GPU but hold what
// it was asked for. Others are companions, which work on a GPU while something is measured there. Everything throws
// Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "npgpu/beside.hpp"

namespace npgpu::cuda {

// Memory of the second process on that GPU, mapped into this one.
std::byte* allocate_in_second_process(int ordinal, std::uint64_t bytes);
// Of what the function above gave. The second process frees it; what goes wrong is said on standard error.
void free_in_second_process(std::byte*) noexcept;

// A process of its own with a context on that GPU. It ends when the companion is destroyed, or when this process ends,
// however it does: it reads a pipe, and at the end of it goes.
std::unique_ptr<Companion> companion_on(int ordinal);

// Another process that this one started, so that it is no neighbour.
void count_as_second_process(long pid);
// One that this process started, whether or not it has ended.
bool is_second_process(long pid);

// What a second process does: what its standard input asks for, until that ends. The exit code.
int serve();

}  // namespace npgpu::cuda
