// Calls on a simulated device, on its manual clock, from what the spec states under "hardware": call_<name>_us for each
// call, empty_kernel_us on the device for a kernel, and for graphs what each kernel adds. An operation begins
// kernel_latency_us after its call; a wait ends synchronize_us after what it waited for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

// What a spec states; remembers the first figure that a call cannot do without and that is not there.
class Stated {
 public:
  explicit Stated(const simulated::Spec& spec) : host(spec.host), spec_(spec) {}
  Seconds maybe(const std::string& key) const { return spec_.time(key); }
  Seconds must(const std::string& key) {
    if (missing.empty() && std::isnan(number_fact(spec_.hardware, key))) missing = key;
    return maybe(key);
  }
  Seconds must(Call call) {  // "call_event_wait_us"
    std::string key = fmt::format("call_{}_us", name(call));
    std::replace(key.begin(), key.end(), '-', '_');
    return must(key);
  }

  Seconds clears(std::uint64_t bytes) {
    const double gb_s = number_fact(spec_.hardware, "clears_gb_s");
    if (missing.empty() && std::isnan(gb_s)) missing = "clears_gb_s";
    return Seconds{static_cast<double>(bytes) / (gb_s * 1e9)};
  }

  // Within the device, or into it from pageable memory.
  Seconds copies(Call call, std::uint64_t bytes) {
    const bool within = call == Call::copy_within;
    const simulated::Link* const link =
        spec_.link(within ? Direction::d2d : Direction::h2d, within ? Memory::device : Memory::pageable);
    if (!link && missing.empty()) missing = within ? "links.d2d" : "links.h2d.pageable";
    return link ? Seconds{static_cast<double>(bytes) / link->bytes_per_s} : Seconds{0};
  }
  // Up to so many bytes a copy from pageable memory returns once they are staged.
  double early_return_bytes() const { return number_fact(spec_.hardware, "early_return_bytes"); }

  const simulated::HostCosts& host;
  std::string missing;

 private:
  const simulated::Spec& spec_;
};

// What a trial costs: the host until the last call returns, and the device once it has been asked.
struct Cost {
  Seconds host{0}, device{0};
};

Cost cost_of(const Step<Calls>& step, Stated& spec) {
  const Call call = step.question.call;
  const double nodes = step.axes.nodes;
  const auto host_alone = [&](const char* each_kernel) {
    const Seconds host = spec.must(call);
    return Cost{host + nodes * spec.must(each_kernel)};
  };
  switch (call) {
    case Call::launch:
    case Call::cooperative_launch: {
      const Seconds host = spec.must(call);
      return {host + static_cast<double>(step.axes.bytes) * spec.maybe("call_argument_byte_us"),
              spec.must("empty_kernel_us")};
    }
    case Call::signal: return {spec.must(call), spec.must("empty_kernel_us")};
    case Call::launches: return {nodes * spec.must(Call::launch), spec.must("empty_kernel_us")};
    case Call::default_launches: return {nodes * spec.must(call), spec.must("empty_kernel_us")};
    case Call::copy_in:
    case Call::copy_within: {
      const Seconds host = spec.must(call), device = spec.copies(call, step.axes.bytes);
      if (call == Call::copy_within || static_cast<double>(step.axes.bytes) <= spec.early_return_bytes())
        return {host, device};
      return {host + device};
    }
    case Call::graph_launch: {
      const Seconds host = spec.must(call), chain = spec.must("graph_chain_kernel_us"),
                    fork = spec.must("graph_fork_kernel_us");
      if (step.question.form == GraphForm::chain) return {host, nodes * chain};
      return {host + nodes * fork, spec.maybe("empty_kernel_us")};
    }
    case Call::graph_instantiate: return host_alone("graph_instantiate_kernel_us");
    case Call::graph_update: return host_alone("graph_update_kernel_us");
    case Call::event_record: return {spec.host.record};
    case Call::stream_synchronize: return {spec.host.synchronize};
    case Call::event_elapsed:
    case Call::malloc_free: return {spec.must(call)};
    case Call::event_wait:
    case Call::callback:
    case Call::memset:
    case Call::pool_alloc_free: return {spec.must(call)};
    // Only a spec that says how fast its driver clears memory knows what follows a free.
    case Call::free:
    case Call::pool_trim: return {spec.must(call), spec.clears(step.axes.bytes)};
    case Call::pool_free:
    case Call::managed_free: return {spec.must(call)};
    case Call::process_free:
    case Call::process_end: break;  // of older traces
    case Call::function: break;     // has a backend of its own
  }
  return {};
}

class SimulatedCallRunner final : public Runner<Calls> {
 public:
  explicit SimulatedCallRunner(const std::string& id) : device_(simulated::open_device(id)) { payload_.data = &byte_; }
  ~SimulatedCallRunner() override { device_->forget(payload_); }

  void prepare(const Step<Calls>& step) override { step_ = step; }

  bool run(std::uint64_t repeats, std::vector<CallSample>& samples) override {
    const Seconds wait = device_->spec().host.synchronize;
    const bool in_a_row = step_.question.spacing == Spacing::back_to_back;
    Stated stated(device_->spec());
    const Cost one = cost_of(step_, stated);
    const bool clears = frees_memory(step_.question.call) && one.device > Seconds{0};
    const bool is_done_later = leaves_work(step_.question.call) || clears;
    const double n = static_cast<double>(repeats);
    // In a row, calls and their work overlap; alone, each call's work ends before the next call.
    const double rows = in_a_row ? 1 : n, calls = in_a_row ? n : 1;
    const Seconds host = calls * one.host;
    const Seconds rest = std::max(Seconds{0}, one.host + stated.maybe("kernel_latency_us") + calls * one.device - host);
    const Seconds done = is_done_later ? host + rest + wait : host;
    const double noise = device_->run_kernel(rows * host, rows * rest, Seconds{0}, payload_, 1);
    CallSample sample;
    sample.repeats = repeats;
    sample.host_us = microseconds(rows * host * noise);
    if (is_done_later) sample.done_us = microseconds(rows * done * noise);
    if (clears) sample.slowed = number_fact(device_->spec().hardware, "clearing_slows");
    samples.push_back(sample);
    return true;
  }

  // A fault of the spec changes the byte.
  std::optional<std::string> check(std::span<CallSample> last_trial) override {
    const bool right = byte_ == std::byte{0};
    for (CallSample& sample : last_trial) sample.intact = right ? 1 : 0;
    if (right) return std::nullopt;
    byte_ = std::byte{0};
    return "the call's work was not done";
  }

  double work() const override { return step_.question.form == GraphForm::none ? 1 : step_.axes.nodes; }
  const Clock& clock() const override { return device_->clock(); }
  Telemetry telemetry() override { return device_->telemetry(); }
  std::string binding() const override { return "simulated"; }

 private:
  std::shared_ptr<simulated::Device> device_;
  std::byte byte_{0};
  simulated::Payload payload_;
  Step<Calls> step_;
};

class SimulatedCalls final : public Backend<Calls> {
 public:
  std::string_view name() const override { return "calls"; }
  std::string_view device_kind() const override { return "sim"; }
  std::string_view summary() const override { return "what calls cost, on simulated devices"; }
  std::optional<std::string> refuses(const Step<Calls>& step) const override {
    const simulated::Spec spec = simulated::spec_of(step.question.device);
    Stated stated(spec);
    (void)cost_of(step, stated);
    if (stated.missing.empty()) return std::nullopt;
    return fmt::format("its spec does not say what such calls cost: {}{} is missing",
                       stated.missing.starts_with("links") ? "" : "hardware.", stated.missing);
  }
  std::unique_ptr<Runner<Calls>> open(std::span<const Step<Calls>> steps) const override {
    return std::make_unique<SimulatedCallRunner>(steps.front().question.device);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Backend<npgpu::Calls>, npgpu::SimulatedCalls)
