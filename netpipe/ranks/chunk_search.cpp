#include "netpipe/ranks/chunk_search.hpp"

#include <algorithm>
#include <utility>

namespace npgpu::ranks {

ChunkSearch::ChunkSearch(std::uint64_t predicted, std::uint64_t bytes, std::uint64_t most, std::uint64_t grain)
    : bytes_(bytes), most_(most), grain_(grain), best_(predicted) {
  take_turns({predicted, half(predicted), twice(predicted)});
}

// As the chunk itself, where there is none.
std::uint64_t ChunkSearch::half(std::uint64_t chunk) const {
  return std::min(chunk, std::max<std::uint64_t>(1, (chunk / 2 + grain_ - 1) / grain_) * grain_);
}
std::uint64_t ChunkSearch::twice(std::uint64_t chunk) const {
  return std::max(chunk, std::min({2 * chunk, most_, bytes_}));
}

ChunkSearch::Chunk& ChunkSearch::of(std::uint64_t chunk) {
  const auto known = std::ranges::find(all_, chunk, &Chunk::bytes);
  return known != all_.end() ? *known : all_.emplace_back(Chunk{chunk});
}

void ChunkSearch::take_turns(std::vector<std::uint64_t> chunks) {
  turns_.clear();
  at_ = 0;
  done_ = 0;
  for (const std::uint64_t chunk : chunks)
    if (std::ranges::find(turns_, chunk) == turns_.end()) turns_.push_back(chunk);
  if (turns_.size() < 2) turns_.clear();
}

std::optional<std::uint64_t> ChunkSearch::next() const {
  if (turns_.empty()) return std::nullopt;
  return turns_[at_];
}

void ChunkSearch::record(Seconds message, Seconds trial) {
  Chunk& chunk = of(turns_.at(at_));
  chunk.least = std::min(chunk.least, message);
  spent_ += trial;
  if (++at_ < turns_.size()) return;
  at_ = 0;
  const bool last = spent_ > budget;
  if (++done_ == trials || last) judge(last);
}

void ChunkSearch::judge(bool last) {
  const std::uint64_t before = best_;
  Seconds least = of(before).least * (1 - gain);
  for (const std::uint64_t chunk : std::exchange(turns_, {}))
    if (of(chunk).least < least) {
      best_ = chunk;
      least = of(chunk).least;
    }
  if (best_ == before || last || steps_++ == steps) return;
  take_turns({best_, best_ > before ? twice(best_) : half(best_)});
}

std::vector<ChunkChoice::Tried> ChunkSearch::tried() const {
  std::vector<ChunkChoice::Tried> tried;
  for (const Chunk& chunk : all_) tried.push_back({chunk.bytes, chunk.least});
  std::ranges::sort(tried, {}, &ChunkChoice::Tried::chunk);
  return tried;
}

}  // namespace npgpu::ranks
