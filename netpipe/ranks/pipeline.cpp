#include "netpipe/ranks/pipeline.hpp"

#include <algorithm>
#include <vector>

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

}  // namespace npgpu::ranks
