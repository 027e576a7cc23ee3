// Messages that are staged through host memory in chunks: how long they take, and how large a chunk should be.
//
// Each chunk goes through the same stages, for example out of a GPU, over the network, into a GPU. Each stage is done
// by a worker, which has one chunk at a time. With t_i(c) for a chunk of c bytes, n equal chunks of a message take
//     T(n) = sum_i t_i(bytes / n) + (n - 1) max_w sum_{i of w} t_i(bytes / n):
// the first chunk goes through all stages, and behind it the busiest worker is never idle. This is the makespan of
// equal jobs in a flow shop (Johnson 1954 has the case of two workers). Where t_i = s_i + b_i c, and one worker is
// always the busiest, with a start of s and B for a byte, T is smallest at n = sqrt(bytes (sum b_i - B) / s). Costs are
// curves, because a chunk that fits into caches is copied faster than a larger one.
//
// Example:
//   using npgpu::Seconds;
//   const npgpu::StageCost copy{.curve = {{4096, Seconds{9e-6}}, {npgpu::MiB, Seconds{28e-6}}}, .worker = 0};
//   const npgpu::StageCost send{.curve = {{4096, Seconds{5e-6}}, {npgpu::MiB, Seconds{52e-6}}}, .worker = 1};
//   const std::vector<npgpu::StageCost> stages{copy, send};
//   const std::uint64_t chunk = npgpu::advised_chunk(stages, 4 * npgpu::MiB, npgpu::MiB);
//   const Seconds time = npgpu::staged_time(stages, 4 * npgpu::MiB, 4 * npgpu::MiB / chunk);
//   std::cout << "chunks of " << npgpu::size_text(chunk) << ": " << npgpu::microseconds(time) << " us\n";
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npgpu/units.hpp"

namespace npgpu {

// The cost of one stage for one chunk, at some sizes.
struct StageCost {
  struct At {
    double bytes = 0;
    Seconds time{0};
  };
  std::vector<At> curve{};  // ascending, at least one; straight lines between them, and the last one goes on
  int worker = 0;           // stages of the same worker do not overlap

  // Below the first size, the time is that of the first size.
  Seconds time(double bytes) const;
};

// The time of a message in `chunks` equal chunks, at least 1.
Seconds staged_time(std::span<const StageCost>, std::uint64_t bytes, std::uint64_t chunks);

// The chunk with the shortest time of a message. It is a multiple of `grain`, at least one and at most `most` bytes, or
// the whole message where that is less. Among chunks with times within 1 % of the shortest, the largest, because it
// needs the fewest messages. Numbers of chunks are tried one by one up to 64, and then in steps of a twentieth.
std::uint64_t advised_chunk(std::span<const StageCost>, std::uint64_t bytes, std::uint64_t most,
                            std::uint64_t grain = 4096);

}  // namespace npgpu
