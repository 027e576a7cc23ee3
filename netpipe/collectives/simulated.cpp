// Collectives on the GPUs of a simulated node, on a manual clock. On the device an operation takes what rings take over
// the node's links: with a step in which some GPUs send b bytes each to another one,
//
//   step(b) = the largest latency of their ways + the most that a link needs for the bytes that go over it
//
//   all-reduce 2(n-1) step(S/n); reduce-scatter, all-gather (n-1) step(S/n); send-receive step(S): each to the next
//   broadcast, reduce: S bytes along a chain, in pieces: n-1 latencies, then as much as step(S) has for bytes
//   all-to-all step(S/n) of all pairs; gather, scatter step(S/n) of the root with all others
//
// No way is faster than its cap for copies by kernels. One thread launches an operation on the n GPUs in turn, which
// takes `launch` each; in a row, launches overlap with operations. A graph of several operations takes one launch on
// each GPU. Nothing is moved: a GPU's results are wrong where a way that ends at it brings zeros.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "netpipe/collectives/values.hpp"
#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/node.hpp"
#include "npgpu/vocabulary/collective.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

// Bytes from one GPU to another one, by their places among the case's.
struct Message {
  std::size_t from = 0, to = 0;
};

class Ways {
 public:
  Ways(const simulated::Node& node, std::vector<std::string> gpus)
      : node_(node), gpus_(std::move(gpus)), rates_(node.rates()) {}

  struct Cost {
    Seconds latency{0};         // the largest
    double seconds_a_byte = 0;  // of each message
  };
  Cost cost(const std::vector<Message>& all) {
    Cost c;
    std::map<std::size_t, double> over;  // link: messages that it carries
    for (const Message& one : all) {
      const simulated::NodeRoute& way = route(one);
      c.latency = std::max(c.latency, way.latency);
      for (const std::size_t link : way.links) over[link] += 1;
      if (way.cap > 0) c.seconds_a_byte = std::max(c.seconds_a_byte, 1 / way.cap);
    }
    for (const auto& [link, messages] : over) c.seconds_a_byte = std::max(c.seconds_a_byte, messages / rates_.at(link));
    return c;
  }
  bool brings_zeros(const Message& one) { return route(one).zeros; }
  std::optional<std::string> why_not(const Message& one) const { return node_.why_no_route(copy(one)); }

 private:
  TransferCase copy(const Message& one) const {
    TransferCase c = peer_case("simulated", gpus_[one.from], gpus_[one.to], Access::write);
    c.executor = Executor::sm_kernel;
    return c;
  }
  const simulated::NodeRoute& route(const Message& one) {
    const auto [at, is_new] = known_.try_emplace({one.from, one.to});
    if (is_new) at->second = node_.route(copy(one));
    return at->second;
  }

  const simulated::Node& node_;
  std::vector<std::string> gpus_;
  std::vector<double> rates_;
  std::map<std::pair<std::size_t, std::size_t>, simulated::NodeRoute> known_;
};

std::vector<Message> messages_of(CollectiveOperation operation, std::size_t n) {
  std::vector<Message> all;
  for (std::size_t i = 0; i < n; ++i) switch (operation) {
      case CollectiveOperation::all_to_all:
        for (std::size_t j = 0; j < n; ++j)
          if (j != i) all.push_back({i, j});
        break;
      case CollectiveOperation::gather:
        if (i > 0) all.push_back({i, 0});
        break;
      case CollectiveOperation::scatter:
        if (i > 0) all.push_back({0, i});
        break;
      case CollectiveOperation::broadcast:
        if (i + 1 < n) all.push_back({i, i + 1});
        break;
      case CollectiveOperation::reduce:
        if (i + 1 < n) all.push_back({i + 1, i});
        break;
      default: all.push_back({i, (i + 1) % n}); break;
    }
  return all;
}

Seconds time_of(CollectiveOperation operation, std::size_t gpus, std::uint64_t size, const Ways::Cost& cost) {
  const double n = static_cast<double>(gpus), bytes = static_cast<double>(size);
  const auto step = [&](double each) { return cost.latency + Seconds{each * cost.seconds_a_byte}; };
  switch (operation) {
    case CollectiveOperation::all_reduce: return 2 * (n - 1) * step(bytes / n);
    case CollectiveOperation::reduce_scatter:
    case CollectiveOperation::all_gather: return (n - 1) * step(bytes / n);
    case CollectiveOperation::broadcast:
    case CollectiveOperation::reduce: return (n - 2) * cost.latency + step(bytes);
    case CollectiveOperation::send_receive: return step(bytes);
    default: return step(bytes / n);
  }
}

// Codes of collective_algorithms, collective_protocols and collective_paths.
constexpr std::int32_t ring = 1, simple = 2, p2p = 0;

class CollectiveClock final : public Clock {
 public:
  Seconds now() const override { return time; }
  Seconds time{0};
};

class SimulatedCollectives final : public Runner<Collectives> {
 public:
  explicit SimulatedCollectives(const CollectiveCase& c, std::uint64_t opening)
      : gpus_(devices_of(c)),
        node_(simulated::node_of(simulated::member_of(gpus_.front()).value().node)),
        ways_(*node_, gpus_),
        noise_(node_->common().noise, opening) {}

  void prepare(const Step<Collectives>& step) override {
    const CollectiveOperation operation = step.question.operation;
    const auto [at, is_new] = costs_.try_emplace(operation);
    if (is_new) at->second = ways_.cost(messages_of(operation, gpus_.size()));
    step_ = step;
    took_ = time_of(operation, gpus_.size(), step.axes.bytes, at->second);
  }

  bool run(std::uint64_t repeats, std::vector<CollectiveSample>& samples) override {
    const simulated::HostCosts& host = node_->common().host;
    const double n = static_cast<double>(repeats), noise = noise_.trial();
    const Seconds launch = static_cast<double>(gpus_.size()) * host.launch;
    const bool gated = step_.question.timing == Timing::gated;
    const double share = static_cast<double>(launches(repeats)) / n;  // of a launch that an operation needs
    const Seconds behind =
        took_ + (n - 1) * (gated ? took_ : std::max(took_, share * launch));  // by the device's events
    const Seconds all = gated ? n * share * launch + behind : launch + behind;
    for (std::uint32_t lane = 0; lane < gpus_.size(); ++lane) {
      CollectiveSample s;
      s.lane = lane;
      s.repeats = repeats;
      if (!gated) s.host_us = microseconds((all + host.synchronize) * noise);
      s.device_us = microseconds(behind * noise);
      s.algorithm = ring;
      s.protocol = simple;
      s.path = p2p;
      samples.push_back(s);
    }
    clock_.time += (all + host.synchronize) * noise;
    noise_.next_trial();
    return true;
  }

  std::optional<std::string> check(std::span<CollectiveSample> last_trial) override {
    for (CollectiveSample& s : last_trial) s.intact = 1;
    std::vector<std::string> wrong;
    for (const Message& one : messages_of(step_.question.operation, gpus_.size())) {
      if (!ways_.brings_zeros(one)) continue;
      last_trial[one.to].intact = 0;
      if (std::ranges::find(wrong, gpus_[one.to]) == wrong.end()) wrong.push_back(gpus_[one.to]);
    }
    if (wrong.empty()) return std::nullopt;
    std::string text;
    for (const std::string& id : wrong) text += (text.empty() ? "on " : ", ") + id;
    return text + " zeros came instead of the results";
  }

  std::uint64_t max_repeats() const override {
    return step_.question.timing == Timing::gated ? node_->common().host.gate_capacity : 0;
  }
  double work() const override { return Collectives::work(step_.question, step_.axes); }
  std::uint64_t bytes() const override { return step_.axes.bytes; }
  const Clock& clock() const override { return clock_; }
  std::string binding() const override { return "not bound: simulated"; }

 private:
  std::uint64_t launches(std::uint64_t repeats) const {
    if (step_.question.launch == CollectiveLaunch::eager) return repeats;
    return repeats / collectives::operations_a_graph + repeats % collectives::operations_a_graph;
  }

  std::vector<std::string> gpus_;
  std::shared_ptr<const simulated::Node> node_;
  Ways ways_;
  simulated::NoiseSource noise_;
  std::map<CollectiveOperation, Ways::Cost> costs_;
  Step<Collectives> step_;
  Seconds took_{0};
  CollectiveClock clock_;
};

class SimulatedNccl final : public Backend<Collectives> {
 public:
  std::string_view name() const override { return "nccl"; }
  std::string_view device_kind() const override { return "sim"; }
  std::string_view summary() const override { return "what GPUs do together: rings over a simulated node's links"; }

  std::optional<std::string> refuses(const Step<Collectives>& step) const override {
    const CollectiveCase& c = step.question;
    if (auto why = why_no_collective(step)) return why;
    const auto gpus = devices_of(c);
    std::string node;
    for (const std::string& id : gpus) {
      const auto member = simulated::member_of(id);
      if (!member || (!node.empty() && member->node != node))
        return "simulated GPUs work together within one node only: name one, as --device sim:node8";
      node = member->node;
    }
    if (step.axes.bytes > simulated::node_of(node)->common().memory_bytes / 2)
      return fmt::format("two buffers of {} do not fit into a GPU's memory", size_text(step.axes.bytes));
    if (known_ways_.emplace(c.devices, c.operation).second) {
      Ways ways(*simulated::node_of(node), gpus);
      for (const Message& one : messages_of(c.operation, gpus.size()))
        if (auto why = ways.why_not(one)) {
          known_ways_.erase({c.devices, c.operation});
          return why;
        }
    }
    return std::nullopt;
  }
  CollectiveContext context(const CollectiveCase&) const override { return {"rings, simulated"}; }
  std::unique_ptr<Runner<Collectives>> open(std::span<const Step<Collectives>> steps) const override {
    return std::make_unique<SimulatedCollectives>(steps.front().question, openings_++);
  }

 private:
  mutable std::set<std::pair<std::string, CollectiveOperation>> known_ways_;
  mutable std::uint64_t openings_ = 0;
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Backend<npgpu::Collectives>, npgpu::SimulatedNccl)
