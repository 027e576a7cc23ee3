// What a rank's trace says of staged messages: the chunk that the costs of the stages advise for each size, how long
// the message takes with it by these costs, the chunk that was taken after trials, and how that compares with other
// chunks.
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
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "npgpu/staging.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

struct TextStyle;

// Times are one way, in microseconds; NaN: not measured.
struct StagedSize {
  std::uint64_t bytes = 0;
  std::uint64_t chunk = 0;             // that the costs of the stages advise; 0: not known
  double predicted_us = not_measured;  // with it, by these costs
  std::uint64_t taken_chunk = 0;       // by --chunk advised, after trials; 0: not known
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

// What stages cost depends on what caches hold of a message: it is measured for messages of up to 16 KiB times a power
// of four. The extent of a message is the least of these that holds it.
std::uint64_t extent_of(std::uint64_t bytes);
// "rank1_extent65536_stage0_us": the cost's name in /provenance/ranks_after.
std::string stage_fact(int partner, std::uint64_t extent, int stage);
// "worker 0: 4096 0.31 16384 0.9": a cost as /provenance/ranks_after holds it, sizes in bytes and times in us; and
// back. Nothing if the text is none.
std::string stage_text(const StageCost&);
std::optional<StageCost> parse_stage(const std::string&);

// How the chunk of a size was chosen: what the costs of the stages advise is where trials began.
struct ChunkChoice {
  std::uint64_t advised = 0, taken = 0;
  struct Tried {
    std::uint64_t chunk = 0;
    Seconds least{0};  // of its trials, for a message one way
  };
  std::vector<Tried> tried{};  // by chunk; empty where there was nothing to choose from
};
// "rank1_pingpong65536_chunk": the choice's name in /provenance/ranks_chunks.
std::string chunk_fact(int partner, Pattern, std::uint64_t bytes);
// "advised 16384, taken 32768: 8192 60.1 16384 41.2 32768 38": as stage_text().
std::string choice_text(const ChunkChoice&);
std::optional<ChunkChoice> parse_choice(const std::string&);

// Of one-lane patterns. Empty where nothing says how a chunk was chosen.
std::vector<StagedMessages> staged_messages(const Trace&);

void messages_text(std::ostream&, std::span<const StagedMessages>, const TextStyle&);

}  // namespace npgpu
