// Memory that is another GPU's, or of a second process: how one GPU sees another's, and the process that holds memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::cuda {

// Whether `from` can be given sight of `to`'s memory: over NVLink, or over PCIe where the system allows it.
bool can_see(int from, int to);

// Why a copy between two GPUs cannot be done as the case says; nothing if it can. Both are GPUs of this machine.
std::optional<std::string> why_no_access(const TransferCase&);

// Why the kernel of a case cannot do atomic operations on the case's memory: the link to the host or the other GPU has
// none; nothing if it can.
std::optional<std::string> why_no_atomics(const TransferCase&);

// Gives the two devices of a peer case sight of each other's memory, or takes it away where the copies are to be staged
// through the host. Where only one can see the other, that one does. It holds for the whole process, until another case
// asks for the other: to switch it takes some milliseconds. Throws Error.
void set_access(const TransferCase&);

// Destroys the device's context, and with it what it sees of others and others of it. Throws Error.
void reset(int ordinal);

// A second process of this program that holds memory on GPUs, for copies between the memories of two processes (CUDA
// IPC). It is started when memory of it is first asked for, ends with this one, and does nothing on a GPU but hold what
// it was asked for. Everything throws Error.

// Memory of the second process on that GPU, mapped into this one.
std::byte* allocate_in_second_process(int ordinal, std::uint64_t bytes);
// Takes what the function above gave. The second process frees it; what goes wrong is said on standard error.
void free_in_second_process(std::byte*) noexcept;

// Whether this process started that one, whether or not it has ended.
bool is_second_process(long pid);

// What the second process does: what its standard input asks for, until that ends. The exit code.
int serve();

}  // namespace npgpu::cuda
