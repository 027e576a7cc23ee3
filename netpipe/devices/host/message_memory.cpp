// Messages from and into the host's pageable memory. Staged ones are copied by the calling thread: what is begun is
// done at once.
#include "netpipe/engine/message_memory.hpp"

#include <cstring>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"

namespace npgpu {

namespace {

class HostMessageMemory final : public MessageMemory {
 public:
  HostMessageMemory(std::uint64_t max_bytes, std::uint64_t offset, const StagingSlots& slots)
      : memory_(max_bytes, offset), slot_bytes_(slots.bytes) {
    if (slots.count > 0) slots_ = {slots.count * slots.bytes, 0};
  }
  std::byte* data() override { return memory_.data(); }
  void fill(std::uint64_t bytes, std::uint64_t seed) override { payload::fill_source(memory_.payload(bytes), seed); }
  void arm(std::uint64_t bytes, std::uint64_t seed) override { payload::arm(memory_.payload(bytes), seed); }
  std::optional<std::string> wrong(std::uint64_t bytes, std::uint64_t seed) override {
    return payload::verdict(memory_.payload(bytes), seed);
  }
  std::byte* slot(std::uint64_t i) override { return slots_.data() + i * slot_bytes_; }
  void fetch(std::uint64_t i, std::uint64_t from, std::uint64_t bytes) override {
    std::memcpy(slot(i), memory_.data() + from, bytes);
  }
  void store(std::uint64_t i, std::uint64_t to, std::uint64_t bytes) override {
    std::memcpy(memory_.data() + to, slot(i), bytes);
  }
  bool is_ready(std::uint64_t) override { return true; }
  bool is_asynchronous() const override { return false; }

 private:
  host::PageableBuffer memory_, slots_;
  std::uint64_t slot_bytes_;
};

class HostMessageMemories final : public MessageMemories {
 public:
  std::string_view kind() const override { return "host"; }
  std::unique_ptr<MessageMemory> open(const std::string&, std::uint64_t max_bytes, std::uint64_t offset,
                                      const StagingSlots& slots) const override {
    return std::make_unique<HostMessageMemory>(max_bytes, offset, slots);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(MessageMemories, npgpu::HostMessageMemories)
