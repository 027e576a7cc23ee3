// What probe migration asks. GPUs and simulated devices share it.
//
// Space managed: memory that the driver moves page by page between host and device. Before each repeat its pages are
// put where the shape says (Pages), and that is not timed.
//   read, write  by a grid on all units, of all bytes
//   chase        one word of every `stride`, by one thread, which waits for each: what a touch takes
//   prefetch     all bytes brought to the other side (cudaMemPrefetchAsync)
//   host_read    all bytes read by the host, on one core
// Space pageable: a device that reads the host's ordinary memory (HMM, ATS). Space host: pinned memory, read and
// written in place.
#pragma once

#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::migration {

constexpr std::uint32_t threads = 512, accesses = 4, access_bytes = 16, word_bytes = 4;
// More managed memory than a device has free can hang it, and what a GiB shows a larger set shows, too.
constexpr std::uint64_t most_bytes = GiB;

std::vector<ProbeCase> cases(const std::string& device);
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);

// Words that a chase touches.
std::uint64_t touches(const Shape&);
// Bytes, or touches, in one repeat.
double work(const ProbeCase&, const Shape&);

}  // namespace npgpu::migration
