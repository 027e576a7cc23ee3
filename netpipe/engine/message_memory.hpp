// Memory of one device that messages between processes leave from or land in, and the device. One file a family of
// devices, which ends with NPGPU_REGISTERED(MessageMemories, Class).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu {

// Host memory through which a message is staged, in slots that are used in turn; 0: it is not staged.
struct StagingSlots {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of each
};

// Everything throws Error.
class MessageMemory {
 public:
  virtual ~MessageMemory() = default;
  virtual std::byte* data() = 0;  // where a message that is not staged lies
  // A payload to be sent; a target that must be written; what is wrong with a target, in one sentence (payload.hpp).
  virtual void fill(std::uint64_t bytes, std::uint64_t seed) = 0;
  virtual void arm(std::uint64_t bytes, std::uint64_t seed) = 0;
  virtual std::optional<std::string> wrong(std::uint64_t bytes, std::uint64_t seed) = 0;

  // Staging: copies between a part of the memory and a slot, which are begun here and done once is_ready().
  virtual std::byte* slot(std::uint64_t i) = 0;
  virtual void fetch(std::uint64_t i, std::uint64_t from, std::uint64_t bytes) = 0;  // into the slot
  virtual void store(std::uint64_t i, std::uint64_t to, std::uint64_t bytes) = 0;    // out of it
  virtual bool is_ready(std::uint64_t i) = 0;
  virtual bool is_asynchronous() const = 0;  // an engine copies while the thread goes on
};

// The device whose memory it is. As long as it lives, the thread that opened it is bound near the device, where the
// family does that; it is opened before the memory.
class MessageDevice {
 public:
  virtual ~MessageDevice() = default;
  // What thread and buffers are bound to, or why they are not; empty: they are as the process was started.
  virtual std::string binding() const { return {}; }
  virtual Telemetry telemetry() { return {}; }
};

class MessageMemories {
 public:
  virtual ~MessageMemories() = default;
  virtual std::string_view kind() const = 0;  // of its devices: host, cuda
  std::string_view rank() const { return kind(); }
  virtual std::unique_ptr<MessageDevice> device(const std::string& device, bool bind) const {
    (void)device, (void)bind;
    return std::make_unique<MessageDevice>();
  }
  // For payloads up to max_bytes, `offset` bytes past an aligned address of the device.
  virtual std::unique_ptr<MessageMemory> open(const std::string& device, std::uint64_t max_bytes, std::uint64_t offset,
                                              const StagingSlots& slots) const = 0;
};

}  // namespace npgpu
