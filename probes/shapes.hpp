// What the probes compute, bandwidth and latency ask of a device of this layout, corners first, each shape once, in
// whatever its kernels are written. A CPU has its own, because its lanes are all or one.
#pragma once

#include <initializer_list>

#include "npgpu/vocabulary/probe.hpp"

namespace npgpu {

// Every operation in the streaming form, then these in the dependent one.
std::vector<ProbeCase> bandwidth_cases(const std::string& device, DataType, Space,
                                       std::initializer_list<Operation> dependent);
// Why a GPU, whatever its kernels are written in, has no such case.
std::optional<std::string> refuses_gpu_bandwidth(const ProbeCase&);
std::optional<std::string> refuses_gpu_compute(const ProbeCase&);

// Blocks of so many threads that fill the units, without a part of a wave at the end.
std::uint32_t filling_blocks(const Layout&, std::uint32_t threads);
// One-One; One-All and All-All over threads per block and ilp; All-One over blocks per unit, the first of them alone.
std::vector<Shape> compute_shapes(const Layout&);
// A working set so much larger than the last cache that the cache answers for little of it, where memory allows.
std::uint64_t bytes_beyond_caches(const Layout&);
// The same corners on memory far beyond the cache, over access widths, threads and accesses in flight; and one
// working set inside the cache. The dependent form has one access in flight.
std::vector<Shape> bandwidth_shapes(const Layout&, Form);
// One thread that chases through working sets from `least` to `most`, so many to the octave, in whole steps; half as
// many above `large`, which take long to lay out.
std::vector<Shape> chase_shapes(std::uint32_t access_bytes, std::uint64_t step, std::uint64_t least, std::uint64_t most,
                                int of_octave, std::uint64_t large = UINT64_MAX);
// Why no chase has this shape; `most` UINT64_MAX: a set may be as large as memory.
std::optional<std::string> refuses_chase_shape(const Shape&, std::uint64_t access_bytes, std::uint64_t least,
                                               std::uint64_t most);

}  // namespace npgpu
