// simulated: copies on a device that does not exist, timed by its own clock. The bytes are real, up to a MiB of each
// payload: they are moved between real buffers, and checked like any others. What a copy costs stands in
// netpipe/devices/simulated/device.hpp and timeline.hpp, what the device is made of in data/devices/README.md.
#include <fmt/format.h>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/modules/node_channel.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

using simulated::Device;

// The memory of one end of a copy: real as far as real_part() goes. The simulated device counts all of it as its own
// where it lies there.
class Area {
 public:
  Area(std::shared_ptr<Device> device, const host::End& end, std::uint64_t max_bytes) : device_(std::move(device)) {
    if (end.kind == Memory::device) taken_.emplace(device_, host::allocation_bytes(max_bytes, end.offset));
    else if (end.kind != Memory::pageable) device_->touch("allocate host memory");
    buffer_ = host::PageableBuffer(simulated::real_part(max_bytes), end.offset, host::PageSize::large);
    payload_.data = buffer_.data();
  }
  ~Area() { device_->forget(payload_); }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  simulated::Payload& payload() { return payload_; }

  void fill(std::uint64_t bytes, std::uint64_t seed) {
    payload::fill(real(bytes), seed);
    written("fill", bytes);
  }
  void arm(std::uint64_t bytes, std::uint64_t seed) {
    payload::arm(real(bytes), seed);
    written("poison", bytes);
  }
  std::optional<std::string> verdict(std::uint64_t bytes, std::uint64_t seed) {
    if (taken_) device_->touch("read back");
    return payload::verdict(real(bytes), seed);
  }

 private:
  payload::Bytes real(std::uint64_t bytes) const { return buffer_.payload(simulated::real_part(bytes)); }
  void written(const char* what, std::uint64_t bytes) {
    if (taken_) device_->write(what, payload_, simulated::real_part(bytes));
    else payload_.content = device_->new_content();
  }

  std::shared_ptr<Device> device_;
  std::optional<simulated::Taken> taken_;
  host::PageableBuffer buffer_;
  simulated::Payload payload_;
};

class SimulatedChannel final : public Channel {
 public:
  SimulatedChannel(const TransferCase& c, std::uint64_t max_bytes)
      : case_(c),
        max_bytes_(max_bytes),
        device_(simulated::open_device(device_of(c))),
        there_(simulated::route(device_->spec(), c.direction, c.memory)),
        stream_(device_),
        source_(device_, host::source_of(c), max_bytes),
        target_(device_, host::target_of(c), max_bytes) {
    if (c.pattern != Pattern::pingpong) return;
    back_ = simulated::route(device_->spec(), reversed(c.direction), c.memory);
    returned_.emplace(device_, host::source_of(c), max_bytes);
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
  DeviceTimer* timer() override { return there_.on_host ? nullptr : &stream_; }
  bool enqueues() const override { return case_.async && !there_.staged; }
  Telemetry telemetry() override { return device_->telemetry(); }
  std::string binding() const override { return "not bound: simulated"; }

 private:
  TransferCase case_;
  std::uint64_t max_bytes_, bytes_ = 0;
  std::shared_ptr<Device> device_;
  simulated::Route there_, back_;
  std::uint64_t seed_ = 0x13198A2E03707344 + device_->new_content() * 0xD1B54A32D192ED03;  // another for every channel
  simulated::Stream stream_;
  Area source_, target_;
  std::optional<Area> returned_;  // where round trips land
};

using Refusal = std::optional<std::string>;

Refusal wrong_lanes(const TransferCase& c) {
  for (const Lane& lane : c.more_lanes) {
    if (!lane.measured)
      return "a lane that is only a load is driven by a host thread of its own, and a simulated device has one thread: "
             "measure that lane too, or use a real device";
    if (const std::string other = device_of(lane_case(c, lane)); other != device_of(c))
      return fmt::format("lanes on {} and on {}: each simulated device has its own clock: use lanes of one device",
                         device_of(c), other);
  }
  return std::nullopt;
}

Refusal no_link(Direction direction, Memory memory, const simulated::Spec& spec) {
  if (spec.link(direction, memory)) return std::nullopt;
  std::string there;
  const auto& links = direction == Direction::h2d ? spec.h2d : spec.d2h;
  if (direction == Direction::h2d || direction == Direction::d2h)
    for (const auto& [kind, link] : links) there += (there.empty() ? "" : ", ") + std::string(name(kind));
  if (there.empty())
    return fmt::format("--direction {}: {} has no such link: add it to its spec, or use another direction",
                       name(direction), spec.name);
  return fmt::format("--memory {}: the spec of {} has no {} link for it: use {}", name(memory), spec.name,
                     name(direction), there);
}

// A simulated device can be asked for the cases of a real one, less what needs a second host thread or a cache, and
// with links that its spec has.
Refusal why_refused(const TransferCase& c, const simulated::Spec& spec) {
  if (c.cache == Cache::cold) return "--cache cold: a simulated device has no caches to miss: use --cache warm";
  if (auto why = why_no_copy(c)) return why;
  if (c.host_node >= 0)
    return fmt::format(
        "--host-node {}: the spec of {} does not say where host memory is: use a GPU of a node, "
        "sim:NODE:0",
        c.host_node, spec.name);
  if (c.direction == Direction::peer)
    return "--direction peer: simulated devices copy to each other only within a node: use sim:NODE:0 and sim:NODE:1";
  if (c.executor == Executor::sm_kernel)
    return "--executor sm-kernel: a simulated device by itself has no such copies: use one of a node, sim:NODE:0";
  const bool from_one_thread = c.timing != Timing::host && only_enqueues(c);
  if (c.pattern == Pattern::duplex && !from_one_thread)
    return fmt::format(
        "--pattern duplex: {} copies of {} memory timed on the {} need two host threads, and a simulated device has "
        "one: use --async --memory pinned --timing gated or event",
        c.async ? "asynchronous" : "blocking", name(c.memory), c.timing == Timing::host ? "host" : "device");
  if (auto why = wrong_lanes(c)) return why;
  if (!c.more_lanes.empty() && !from_one_thread)
    return "lanes that block need a host thread each, and a simulated device has one: use --async --memory pinned "
           "--timing gated or event";
  if (auto why = no_link(c.direction, c.memory, spec)) return why;
  return c.pattern == Pattern::stream ? std::nullopt : no_link(reversed(c.direction), c.memory, spec);
}

class Simulated final : public Module {
 public:
  std::string_view name() const override { return "simulated"; }
  std::string_view summary() const override { return "copies on simulated devices, from their specs; no measurement"; }

  std::string_view device_kind() const override { return "sim"; }

  Refusal refuses_case(const TransferCase& c) const override {
    if (simulated::is_on_node(c)) return simulated::why_refused_on_node(c);
    return why_refused(c, simulated::spec_of(device_of(c)));
  }

  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    MemoryNeed need;
    for (const host::End& end : host::ends_of(c)) {
      const std::uint64_t bytes = host::allocation_bytes(max_bytes, end.offset);
      need.host_bytes += host::allocation_bytes(simulated::real_part(max_bytes), end.offset);
      if (end.kind == Memory::device) need.device_bytes = saturating_plus(need.device_bytes, bytes);
    }
    return need;
  }
  MemoryNeed available(const TransferCase& c) const override {
    return {host::free_host_memory(), simulated::spec_of(device_of(c)).memory_bytes};
  }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    if (simulated::is_on_node(c)) return simulated::open_node_lane(c, max_bytes);
    if (const auto why = refuses_case(c)) throw Error(ErrorKind::usage, *why);
    return std::make_unique<SimulatedChannel>(c, max_bytes);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::Simulated)
