#include "netpipe/modules/node_channel.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/fabric.hpp"
#include "netpipe/devices/simulated/node.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::simulated {

namespace {

std::string node_id(const TransferCase& c) { return member_of(device_of(c)).value().node; }

// A node while channels of it are open: one clock, one fabric.
class OpenNode {
 public:
  OpenNode(std::shared_ptr<const Node> made, std::uint64_t opening)
      : node(std::move(made)), fabric(node->rates()), noise(node->common().noise, opening) {}

  class HostClock final : public Clock {
   public:
    Seconds now() const override { return Seconds{static_cast<double>(time)}; }
    Time time = 0;
  };

  void spend(Seconds cost) { clock.time += Time{cost.count()} * noise.trial(); }

  const std::shared_ptr<const Node> node;
  HostClock clock;
  Fabric fabric;
  NoiseSource noise;
};

std::shared_ptr<OpenNode> open_node(const std::string& id) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<OpenNode>> open;
  static std::map<std::string, std::uint64_t> openings;
  const std::lock_guard lock(mutex);
  std::shared_ptr<OpenNode> node = open[id].lock();
  if (!node) open[id] = node = std::make_shared<OpenNode>(node_of(id), openings[id]++);
  return node;
}

class NodeTimer final : public DeviceTimer {
 public:
  explicit NodeTimer(std::shared_ptr<OpenNode> open) : open_(std::move(open)), stream_(open_->fabric.add_stream()) {}
  ~NodeTimer() override { open_->fabric.remove(stream_); }
  NodeTimer(const NodeTimer&) = delete;
  NodeTimer& operator=(const NodeTimer&) = delete;

  void hold() override {
    open_->spend(costs().launch);
    open_->fabric.hold(stream_);
  }
  void release() override { open_->fabric.release(stream_, open_->clock.time); }
  void start() override {
    open_->fabric.forget_marks(stream_);
    start_ = record();
  }
  void stop() override { stop_ = record(); }
  std::optional<Seconds> elapsed() override {
    const auto& fabric = open_->fabric;
    return Seconds{static_cast<double>(fabric.time_of(stream_, stop_) - fabric.time_of(stream_, start_))};
  }
  std::uint64_t gate_capacity() const override { return costs().gate_capacity; }

  void submit(const NodeRoute& route, Seconds gap, double bytes, bool waits) {
    const double factor = open_->noise.trial() * open_->noise.operation();
    Fabric::Operation operation;
    operation.latency = Time{route.latency.count()} * factor;
    operation.gap = Time{gap.count()} * factor;
    operation.bytes = bytes * factor;
    operation.cap = route.cap;
    operation.links = route.links;
    operation.waits = waits;
    open_->fabric.submit(stream_, std::move(operation), open_->clock.time);
  }
  void wait() {
    const auto end = open_->fabric.finish(stream_, open_->clock.time);
    if (!end) throw Error(ErrorKind::failed, "a copy waits for what never ends");
    open_->clock.time = *end;
  }

 private:
  const HostCosts& costs() const { return open_->node->common().host; }
  Mark record() {
    open_->spend(costs().record);
    return open_->fabric.mark(stream_, open_->clock.time);
  }

  std::shared_ptr<OpenNode> open_;
  Fabric::Stream stream_;
  Mark start_ = 0, stop_ = 0;
};

// A request goes there and an answer comes back, or two flags. A load of memory takes what the memory takes, and one of
// another GPU's memory the way to it besides.
Seconds latency_of_words(const Node& node, const TransferCase& c, const NodeRoute& route) {
  const Facts& hardware = node.common().hardware;
  const double cycles = number_fact(hardware, "memory_latency_cycles"), mhz = number_fact(hardware, "shader_clock_mhz");
  const Seconds way = 2 * route.latency;
  if (c.pattern == Pattern::flag || !(cycles > 0 && mhz > 0)) return way;
  const Seconds memory{cycles / (mhz * 1e6)};
  return c.direction == Direction::d2d ? memory : c.direction == Direction::peer ? way + memory : way;
}

class NodeChannel final : public Channel {
 public:
  NodeChannel(const TransferCase& c, std::uint64_t max_bytes)
      : case_(c),
        max_bytes_(max_bytes),
        open_(open_node(node_id(c))),
        there_(open_->node->route(c)),
        timer_(open_),
        source_(real_part(max_bytes), host::source_of(c).offset, host::PageSize::large),
        target_(real_part(max_bytes), host::target_of(c).offset, host::PageSize::large),
        course_(open_->node->gpu(member_of(device_of(c)).value().gpu).course),
        age_(age_of(device_of(c))) {
    look_for_loss();
    if (const Link* link = open_->node->common().link(c.direction, c.memory); link && !is_of_words(c.pattern))
      gap_ = link->gap;
    if (is_of_words(c.pattern)) there_.latency = latency_of_words(*open_->node, c, there_);
    if (c.pattern != Pattern::pingpong) return;
    back_ = open_->node->route(lane_case(c, npgpu::reversed(lanes(c).front())));
    returned_ = host::PageableBuffer(real_part(max_bytes), host::source_of(c).offset, host::PageSize::large);
  }

  void prepare(std::uint64_t bytes) override {
    if (bytes == 0 || bytes > max_bytes_)
      throw Error(ErrorKind::usage,
                  fmt::format("a channel opened for 1 to {} bytes was asked for {}", max_bytes_, bytes));
    bytes_ = bytes;
    payload::fill(source_.payload(real_part(bytes)), seed_);
    payload::arm(target_.payload(real_part(bytes)), seed_);
    if (returned_.data()) payload::arm(returned_.payload(real_part(bytes)), seed_);
    moved_ = returned_bytes_ = false;
  }
  void forward() override {
    if (std::exchange(is_settled_, false)) begun_ = open_->clock.time;
    enqueue(there_);
    if (std::exchange(moved_, true)) return;  // the same bytes again
    if (there_.zeros) std::memset(target_.data(), 0, real_part(bytes_));
    else std::memcpy(target_.data(), source_.data(), real_part(bytes_));
  }
  void back() override {
    enqueue(back_);
    if (!std::exchange(returned_bytes_, true)) std::memcpy(returned_.data(), target_.data(), real_part(bytes_));
  }
  void settle() override {
    timer_.wait();
    open_->spend(costs().synchronize);
    open_->noise.next_trial();
    age_.worked += Seconds{static_cast<double>(open_->clock.time - std::exchange(begun_, open_->clock.time))};
    is_settled_ = true;
    look_for_loss();
  }
  std::optional<std::string> intact(bool went_back) override {
    if (auto wrong = payload::verdict(target_.payload(real_part(bytes_)), seed_)) return wrong;
    if (went_back)
      if (auto wrong = payload::verdict(returned_.payload(real_part(bytes_)), seed_))
        return "on the way back, " + *wrong;
    return std::nullopt;
  }
  const Clock& clock() const override { return open_->clock; }
  DeviceTimer* timer() override { return &timer_; }
  bool enqueues() const override { return case_.async; }
  std::string binding() const override {
    return case_.host_node < 0 ? "not bound: simulated" : fmt::format("NUMA node {}: simulated", case_.host_node);
  }

 private:
  const HostCosts& costs() const { return open_->node->common().host; }
  void look_for_loss() const {
    if (const Change* const now = age_.change(course_); now && now->is_lost) lose(device_of(case_), "while it copied");
    for (const std::string& id : devices_of(case_))
      if (is_lost(id)) lose(id, "by a copy");
  }
  void enqueue(const NodeRoute& route) {
    open_->spend(case_.async ? costs().copy_async : costs().copy);
    timer_.submit(route, gap_, static_cast<double>(bytes_),
                  case_.pattern != Pattern::stream && case_.pattern != Pattern::duplex);
    if (!case_.async) timer_.wait();
  }

  TransferCase case_;
  std::uint64_t max_bytes_, bytes_ = 0;
  std::shared_ptr<OpenNode> open_;
  NodeRoute there_, back_;
  NodeTimer timer_;
  Seconds gap_{0};
  std::uint64_t seed_ = payload::fresh_seed();
  host::PageableBuffer source_, target_, returned_;
  bool moved_ = false, returned_bytes_ = false, is_settled_ = true;
  Course course_;
  Age& age_;  // of the device that the copies are the work of
  Time begun_ = 0;
};

}  // namespace

bool is_on_node(const TransferCase& c) {
  const auto first = member_of(device_of(c));
  for (const std::string& device : devices_of(c)) {
    const auto member = member_of(device);
    if (!first || !member || member->node != first->node) return false;
  }
  return true;
}

std::optional<std::string> why_refused_on_node(const TransferCase& c) {
  if (c.cache == Cache::cold) return "--cache cold: a simulated node has no caches to miss: use --cache warm";
  if (c.direction == Direction::h2h) return "--direction h2h: a simulated node copies to, from and between its GPUs";
  if (c.direction != Direction::peer && c.direction != Direction::d2d && c.memory != Memory::pinned)
    return fmt::format("--memory {}: a simulated node has pinned memory: use --memory pinned", name(c.memory));
  if (auto why = why_no_copy(c)) return why;
  if (c.direction == Direction::d2d && !node_of(node_id(c))->common().d2d)
    return "--direction d2d: the GPUs' spec has no such link";
  const bool several = c.pattern == Pattern::duplex || !c.more_lanes.empty();
  if (several && (!c.async || c.timing == Timing::host))
    return "several lanes at once need a host thread each where they block, and a simulated node has one: use --async "
           "--timing gated or event";
  for (const Lane& lane : c.more_lanes)
    if (!lane.measured) return "a lane that is only a load needs a host thread of its own: measure it too";
  const auto none = node_of(node_id(c))->why_no_route(c);
  if (none && c.direction == Direction::peer && c.access != Access::staged)
    return fmt::format("--access {}: {}: use --access staged", name(c.access), *none);
  return none;
}

std::unique_ptr<Channel> open_node_lane(const TransferCase& c, std::uint64_t max_bytes) {
  if (const auto why = why_refused_on_node(c)) throw Error(ErrorKind::usage, *why);
  return std::make_unique<NodeChannel>(c, max_bytes);
}

}  // namespace npgpu::simulated
