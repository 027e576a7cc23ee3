// A message that is staged through host memory in chunks: how long it takes, and how large a chunk should be.
//
// Each chunk goes through the same stages, for example out of a GPU, over the network, into a GPU, and each stage is
// done by a worker who has one chunk at a time. With stages of s_i + b_i c seconds for a chunk of c bytes, n equal
// chunks of a message take
//     T(n) = sum_i t_i + (n - 1) max_w sum_{i of w} t_i,    t_i = s_i + b_i bytes / n:
// the first chunk goes through all stages, and behind it the busiest worker is never idle. This is the makespan of
// equal jobs in a flow shop (Johnson 1954 has the case of two workers). Where one worker is always the busiest, with a
// start of s and B its bytes' time, T is least at n = sqrt(bytes (sum b_i - B) / s).
#pragma once

#include <cstdint>
#include <span>

#include "npgpu/units.hpp"

namespace npgpu {

// Of one chunk.
struct StageCost {
  Seconds start{0};  // of each chunk
  double s_per_byte = 0;
  int worker = 0;  // stages of the same worker do not overlap
};

// `chunks` equal ones, at least 1.
Seconds staged_time(std::span<const StageCost>, std::uint64_t bytes, std::uint64_t chunks);

// The chunk with which a message takes least: whole `grain`s, at least one, at most `most` bytes, or the whole message
// where that is less. Chunks are tried one by one up to 64 of them, and then in steps of a twentieth.
std::uint64_t advised_chunk(std::span<const StageCost>, std::uint64_t bytes, std::uint64_t most,
                            std::uint64_t grain = 4096);

}  // namespace npgpu
