// A message in chunks through slots of host memory: while one chunk travels, the next leaves the device, and the one
// before enters the other one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "netpipe/engine/message_memory.hpp"
#include "netpipe/ranks/world.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::ranks {

struct Staging {
  World* world = nullptr;
  int partner = 0;
  std::uint64_t slots = 2;  // of each memory, at least 2: one travels while the other is copied
  std::uint64_t chunk = 1;  // bytes; the last of a message may be shorter
};

// Both return when their side is done: the memory may be changed, or has it all.
void send_staged(const Staging&, MessageMemory&, std::uint64_t bytes);
void receive_staged(const Staging&, MessageMemory&, std::uint64_t bytes);
// Both at once, chunk by chunk: what two ranks do that send to each other.
void exchange_staged(const Staging&, MessageMemory& from, MessageMemory& to, std::uint64_t bytes);

// Which chunk a staged message takes least with, by trying: the predicted one, half of it and double, in turns, and
// then on towards the better side. The stages of a chunk run slower together than each alone, which a prediction from
// their costs cannot know.

// Fed with the time of each trial that it asks for. Decides nothing else, so that it is tested with numbers.
class ChunkSearch {
 public:
  static constexpr int trials = 5;  // of each chunk, of which the least counts
  static constexpr int steps = 4;   // on towards the better side, each with trials of the best and of the next
  static constexpr int most_trials = (3 + 2 * steps) * trials;
  static constexpr double gain = 0.01;  // another chunk is taken if it saves more than this
  // Once trials have taken this long in all, the turn that was begun is the last.
  static constexpr Seconds budget{1};

  // Chunks are whole `grain`s, or the whole message, and at most `most`. Of a message that one grain holds nothing is
  // tried.
  ChunkSearch(std::uint64_t predicted, std::uint64_t bytes, std::uint64_t most, std::uint64_t grain = 4096);

  std::optional<std::uint64_t> next() const;  // the chunk of the next trial; nothing: it is over
  // What a message took in that trial, and what the whole trial took.
  void record(Seconds message, Seconds trial);
  std::uint64_t best() const { return best_; }
  // All that were tried, each with the least that it took.
  std::vector<ChunkChoice::Tried> tried() const;

 private:
  struct Chunk {
    std::uint64_t bytes;
    Seconds least{1e9};
  };
  std::uint64_t half(std::uint64_t chunk) const;
  std::uint64_t twice(std::uint64_t chunk) const;
  Chunk& of(std::uint64_t chunk);
  void take_turns(std::vector<std::uint64_t> chunks);
  void judge(bool last);

  std::uint64_t bytes_, most_, grain_, best_;
  std::vector<Chunk> all_;            // in the order in which they were tried
  std::vector<std::uint64_t> turns_;  // empty: it is over
  std::size_t at_ = 0;
  int done_ = 0, steps_ = 0;
  Seconds spent_{0};
};

}  // namespace npgpu::ranks
