// Staged messages in the trace of a rank. For each size: the chunk that the costs of the stages advise, the time of a
// message with it by these costs, the chunk that was chosen after trials, and how that compares with other chunks.
//
// Example:
//   const auto all = npgpu::staged_messages(npgpu::read_trace("rank.h5"));  // of npgpu transfer --access staged
//   for (const npgpu::StagedMessages& messages : all)
//     for (const npgpu::StagedSize& size : messages.sizes)
//       std::cout << messages.source << " to " << messages.target << ", " << npgpu::size_text(size.bytes)
//                 << ": chunks of " << npgpu::size_text(size.chunk) << ", " << size.predicted_us << " us\n";
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/staging.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// Times are one way, in microseconds; NaN: not measured.
struct StagedSize {
  std::uint64_t bytes = 0;
  std::uint64_t chunk = 0;             // advised by the costs of the stages; 0: not known
  double predicted_us = not_measured;  // with it, by these costs
  std::uint64_t taken_chunk = 0;       // chosen by --chunk advised, after trials; 0: not known
  double advised_us = not_measured;    // measured with --chunk advised
  std::uint64_t best_chunk = 0;        // of those that were measured, the advised one left out; 0: none was
  double best_us = not_measured;       // with it
  double regret() const { return advised_us / best_us - 1; }
};
struct StagedMessages {
  std::string source{}, target{};
  Pattern pattern = Pattern::pingpong;
  std::vector<StagedSize> sizes{};  // that were measured staged
};

// The cost of stages depends on how much of a message the caches hold. It is measured for messages of 16 KiB times
// powers of four; the extent of a message is the smallest of these sizes that holds it.
std::uint64_t extent_of(std::uint64_t bytes);
// "rank1_extent65536_stage0_us": the cost's name in /provenance/ranks_after.
std::string stage_fact(int partner, std::uint64_t extent, int stage);
// "worker 0: 4096 0.31 16384 0.9": a cost as /provenance/ranks_after holds it, with sizes in bytes and times in us; and
// back. Nothing if the text is no cost.
std::string stage_text(const StageCost&);
std::optional<StageCost> parse_stage(const std::string&);

// How the chunk of a size was chosen. Trials began with the chunk that the costs of the stages advise.
struct ChunkChoice {
  std::uint64_t advised = 0, taken = 0;
  struct Tried {
    std::uint64_t chunk = 0;
    Seconds least{0};  // the shortest of its trials, for a message one way
  };
  std::vector<Tried> tried{};  // by chunk; empty where there was nothing to choose from
};
// "rank1_pingpong65536_chunk": the choice's name in /provenance/ranks_chunks.
std::string chunk_fact(int partner, Pattern, std::uint64_t bytes);
// "advised 16384, taken 32768: 8192 60.1 16384 41.2 32768 38": as stage_text().
std::string choice_text(const ChunkChoice&);
std::optional<ChunkChoice> parse_choice(const std::string&);

// Only patterns of one lane. Empty where the trace does not say how chunks were chosen.
std::vector<StagedMessages> staged_messages(const Trace&);

}  // namespace npgpu
