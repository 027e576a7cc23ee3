#include "netpipe/ranks/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace npgpu::ranks {

namespace {

// One side of one message, which is advanced chunk by chunk.
class Flow {
 public:
  Flow(const Staging& how, MessageMemory& memory, std::uint64_t bytes)
      : how_(how), memory_(memory), bytes_(bytes), chunks_((bytes + how.chunk - 1) / how.chunk), begun_(how.slots) {}

  std::uint64_t chunks() const { return chunks_; }

 protected:
  std::uint64_t slot_of(std::uint64_t chunk) const { return chunk % how_.slots; }
  std::uint64_t begin_of(std::uint64_t chunk) const { return chunk * how_.chunk; }
  std::uint64_t bytes_of(std::uint64_t chunk) const { return std::min(how_.chunk, bytes_ - begin_of(chunk)); }
  // Asking for messages lets the library move those on their way.
  void await_memory(std::uint64_t slot) {
    while (!memory_.is_ready(slot)) how_.world->coming(how_.partner, Tag::control);
  }
  void await_message(std::uint64_t slot) { how_.world->wait(begun_[slot]); }

  const Staging& how_;
  MessageMemory& memory_;
  std::uint64_t bytes_, chunks_;
  std::vector<Request> begun_;  // by slot
};

class Sending : public Flow {
 public:
  using Flow::Flow;
  void begin() {
    for (std::uint64_t i = 0; i < std::min(how_.slots, chunks_); ++i) fetch(i);
  }
  void advance(std::uint64_t i) {
    const std::uint64_t slot = slot_of(i);
    await_memory(slot);
    begun_[slot] = how_.world->begin_send(memory_.slot(slot), bytes_of(i), how_.partner, Tag::payload);
    // The slot of the chunk before is the next that is free.
    if (i == 0 || i - 1 + how_.slots >= chunks_) return;
    await_message(slot_of(i - 1));
    fetch(i - 1 + how_.slots);
  }
  void end() {
    for (std::uint64_t i = chunks_ > how_.slots ? chunks_ - how_.slots : 0; i < chunks_; ++i) await_message(slot_of(i));
  }

 private:
  void fetch(std::uint64_t i) { memory_.fetch(slot_of(i), begin_of(i), bytes_of(i)); }
};

class Receiving : public Flow {
 public:
  using Flow::Flow;
  void begin() {
    for (std::uint64_t i = 0; i < std::min(how_.slots, chunks_); ++i) post(i);
  }
  void advance(std::uint64_t i) {
    const std::uint64_t slot = slot_of(i);
    await_message(slot);
    memory_.store(slot, begin_of(i), bytes_of(i));
    if (i == 0 || i - 1 + how_.slots >= chunks_) return;
    await_memory(slot_of(i - 1));
    post(i - 1 + how_.slots);
  }
  void end() {
    for (std::uint64_t i = chunks_ > how_.slots ? chunks_ - how_.slots : 0; i < chunks_; ++i) await_memory(slot_of(i));
  }

 private:
  void post(std::uint64_t i) {
    const std::uint64_t slot = slot_of(i);
    begun_[slot] = how_.world->begin_receive(memory_.slot(slot), bytes_of(i), how_.partner, Tag::payload);
  }
};

}  // namespace

void send_staged(const Staging& how, MessageMemory& memory, std::uint64_t bytes) {
  Sending out(how, memory, bytes);
  out.begin();
  for (std::uint64_t i = 0; i < out.chunks(); ++i) out.advance(i);
  out.end();
}

void receive_staged(const Staging& how, MessageMemory& memory, std::uint64_t bytes) {
  Receiving in(how, memory, bytes);
  in.begin();
  for (std::uint64_t i = 0; i < in.chunks(); ++i) in.advance(i);
  in.end();
}

void exchange_staged(const Staging& how, MessageMemory& from, MessageMemory& to, std::uint64_t bytes) {
  Sending out(how, from, bytes);
  Receiving in(how, to, bytes);
  in.begin();
  out.begin();
  for (std::uint64_t i = 0; i < out.chunks(); ++i) {
    out.advance(i);
    in.advance(i);
  }
  out.end();
  in.end();
}

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
