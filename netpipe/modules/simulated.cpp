// simulated: copies on a device that does not exist, timed by its own clock. The bytes are real: they are moved
// between real buffers, and checked like any others. What a copy costs stands in netpipe/devices/simulated/device.hpp
// and timeline.hpp, what the device is made of in data/devices/README.md.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/error.hpp"
#include "npgpu/module.hpp"

namespace npgpu {

namespace {

using simulated::Device;

enum class Place { host, device };

struct Ends {
  Place source, target;
};
Ends ends_of(Direction d) {
  return {d == Direction::h2d || d == Direction::h2h ? Place::host : Place::device,
          d == Direction::d2h || d == Direction::h2h ? Place::host : Place::device};
}

// One end of a copy: real memory, which the simulated device counts as its own where it lies there.
class End {
 public:
  End(std::shared_ptr<Device> device, Place place, Memory kind, std::uint64_t max_bytes, std::uint64_t offset)
      : device_(std::move(device)), place_(place), taken_(host::allocation_bytes(max_bytes, offset)) {
    if (place_ == Place::device) device_->take(taken_);
    else if (kind != Memory::pageable) device_->touch("allocate host memory");
    try {
      buffer_ = host::PageableBuffer(max_bytes, offset);
    } catch (...) {
      if (place_ == Place::device) device_->give_back(taken_);
      throw;
    }
    payload_.data = buffer_.data();
  }
  ~End() {
    device_->forget(payload_);
    if (place_ == Place::device) device_->give_back(taken_);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  simulated::Payload& payload() { return payload_; }

  void fill(std::uint64_t bytes, std::uint64_t seed) {
    payload::fill(buffer_.payload(bytes), seed);
    written("fill", bytes);
  }
  void arm(std::uint64_t bytes, std::uint64_t seed) {
    payload::arm(buffer_.payload(bytes), seed);
    written("poison", bytes);
  }
  std::optional<std::string> verdict(std::uint64_t bytes, std::uint64_t seed) {
    if (place_ == Place::device) device_->touch("read back");
    return payload::verdict(buffer_.payload(bytes), seed);
  }

 private:
  void written(const char* what, std::uint64_t bytes) {
    if (place_ == Place::device) device_->write(what, payload_, bytes);
    else payload_.content = device_->new_content();
  }

  std::shared_ptr<Device> device_;
  Place place_;
  std::uint64_t taken_;
  host::PageableBuffer buffer_;
  simulated::Payload payload_;
};

class SimulatedChannel final : public Channel, public DeviceTimer {
 public:
  SimulatedChannel(const TransferCase& c, std::uint64_t max_bytes)
      : case_(c),
        max_bytes_(max_bytes),
        device_(simulated::open_device(device_of(c))),
        there_(simulated::route(device_->spec(), c.direction, c.memory)),
        stream_(device_),
        source_(device_, ends_of(c.direction).source, c.memory, max_bytes, c.source_offset),
        target_(device_, ends_of(c.direction).target, c.memory, max_bytes, c.target_offset) {
    if (c.pattern != Pattern::pingpong) return;
    back_ = simulated::route(device_->spec(), reversed(c.direction), c.memory);
    returned_.emplace(device_, ends_of(c.direction).source, c.memory, max_bytes, c.source_offset);
  }

  void prepare(std::uint64_t bytes) override {
    if (bytes == 0 || bytes > max_bytes_)
      throw Error(ErrorKind::usage,
                  fmt::format("a channel opened for 1 to {} bytes was asked for {}", max_bytes_, bytes));
    bytes_ = bytes;
    source_.fill(bytes, seed_);
    target_.arm(bytes, seed_);
    if (returned_) returned_->arm(bytes, seed_);
  }

  void forward() override { stream_.copy(there_, source_.payload(), target_.payload(), bytes_, case_.async); }
  void back() override { stream_.copy(back_, target_.payload(), returned_->payload(), bytes_, case_.async); }
  void settle() override { stream_.synchronize(); }

  std::optional<std::string> intact(bool went_back) override {
    if (auto wrong = target_.verdict(bytes_, seed_)) return wrong;
    if (went_back)
      if (auto wrong = returned_->verdict(bytes_, seed_)) return "on the way back, " + *wrong;
    return std::nullopt;
  }

  const Clock& clock() const override { return device_->clock(); }
  DeviceTimer* timer() override { return there_.on_host ? nullptr : this; }
  bool enqueues() const override { return case_.async && !there_.staged; }
  std::string binding() const override { return "not bound: simulated"; }

  void hold() override { stream_.hold(); }
  void start() override { stream_.start(); }
  void stop() override { stream_.stop(); }
  void release() override { stream_.release(); }
  std::optional<Seconds> elapsed() override { return stream_.elapsed(); }
  std::uint64_t gate_capacity() const override { return device_->spec().host.gate_capacity; }

 private:
  TransferCase case_;
  std::uint64_t max_bytes_, bytes_ = 0;
  std::shared_ptr<Device> device_;
  simulated::Route there_, back_;
  std::uint64_t seed_ = 0x13198A2E03707344 + device_->new_content() * 0xD1B54A32D192ED03;  // another for every channel
  simulated::Stream stream_;
  End source_, target_;
  std::optional<End> returned_;  // where round trips land
};

class Simulated final : public Module {
 public:
  std::string_view name() const override { return "simulated"; }
  std::string_view summary() const override { return "copies on simulated devices, from their specs; no measurement"; }

  std::string_view device_kind() const override { return "sim"; }

  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    return simulated::why_refused(c, simulated::spec_of(device_of(c)));
  }

  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    MemoryNeed need;
    const auto add = [&](Place place, std::uint64_t offset) {
      const std::uint64_t bytes = host::allocation_bytes(max_bytes, offset);
      need.host_bytes = saturating_plus(need.host_bytes, bytes);
      if (place == Place::device) need.device_bytes = saturating_plus(need.device_bytes, bytes);
    };
    const Ends ends = ends_of(c.direction);
    add(ends.source, c.source_offset);
    add(ends.target, c.target_offset);
    if (c.pattern == Pattern::pingpong) add(ends.source, c.source_offset);
    return need;
  }
  MemoryNeed available(const TransferCase& c) const override {
    return {host::free_host_memory(), simulated::spec_of(device_of(c)).memory_bytes};
  }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    if (const auto why = refuses_case(c)) throw Error(ErrorKind::usage, *why);
    return std::make_unique<SimulatedChannel>(c, max_bytes);
  }
};

}  // namespace

NPGPU_MODULE(Simulated)

}  // namespace npgpu
