// Calls on a simulated device, on its manual clock, from what the spec states under "hardware": call_<name>_us for each
// call, empty_kernel_us on the device for a kernel, and for graphs what each kernel adds. An operation begins
// kernel_latency_us after its call; a wait ends synchronize_us after what it waited for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/call.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

// "call_event_record_us"
std::string fact_of(Call call) {
  std::string key = fmt::format("call_{}_us", name(call));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::vector<std::string> facts_needed(const Step<Calls>& step) {
  const Call call = step.question.call;
  std::vector<std::string> keys;
  if (call == Call::launches) keys = {fact_of(Call::launch), "empty_kernel_us"};
  else if (call == Call::event_record || call == Call::stream_synchronize)
    keys = {};  // host.record_us and host.synchronize_us
  else keys = {fact_of(call)};
  if (call == Call::launch || call == Call::cooperative_launch || call == Call::signal)
    keys.push_back("empty_kernel_us");
  if (call == Call::graph_launch) keys.insert(keys.end(), {"graph_chain_kernel_us", "graph_fork_kernel_us"});
  if (call == Call::graph_instantiate) keys.push_back("graph_instantiate_kernel_us");
  if (call == Call::graph_update) keys.push_back("graph_update_kernel_us");
  return keys;
}

// What a trial costs: the host until the last call returns, and the device once it has been asked.
struct Cost {
  Seconds host{0}, device{0};
  bool leaves_work = true;
};

class SimulatedCallRunner final : public Runner<Calls> {
 public:
  explicit SimulatedCallRunner(const std::string& id) : device_(simulated::open_device(id)) { payload_.data = &byte_; }
  ~SimulatedCallRunner() override { device_->forget(payload_); }

  void prepare(const Step<Calls>& step) override { step_ = step; }

  bool run(std::uint64_t repeats, std::vector<CallSample>& samples) override {
    const Seconds wait = device_->spec().host.synchronize;
    const bool in_a_row = step_.question.manner == Manner::back_to_back;
    const Cost one = cost();
    const double n = static_cast<double>(repeats);
    // In a row, calls and their work overlap; alone, each call's work ends before the next call.
    const double rows = in_a_row ? 1 : n, calls = in_a_row ? n : 1;
    const Seconds host = calls * one.host;
    const Seconds rest = std::max(Seconds{0}, one.host + fact("kernel_latency_us") + calls * one.device - host);
    const Seconds done = one.leaves_work ? host + rest + wait : host;
    const double noise = device_->run_kernel(rows * host, rows * rest, Seconds{0}, payload_, 1);
    CallSample sample;
    sample.repeats = repeats;
    sample.host_us = microseconds(rows * host * noise);
    if (one.leaves_work) sample.done_us = microseconds(rows * done * noise);
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
  std::string binding() const override { return "simulated"; }

 private:
  Seconds fact(const std::string& key) const {
    const double us = number_fact(device_->spec().hardware, key);
    return from_microseconds(std::isnan(us) ? 0 : us);
  }

  Cost cost() const {
    const Call call = step_.question.call;
    const double nodes = step_.axes.nodes;
    const Seconds kernel = fact("empty_kernel_us"), host = fact(fact_of(call));
    switch (call) {
      case Call::launch:
      case Call::cooperative_launch:
        return {host + static_cast<double>(step_.axes.bytes) * fact("call_argument_byte_us"), kernel};
      case Call::signal: return {host, kernel};
      case Call::launches: return {nodes * fact(fact_of(Call::launch)), kernel};
      case Call::graph_launch:
        if (step_.question.form == GraphForm::chain) return {host, nodes * fact("graph_chain_kernel_us")};
        return {host + nodes * fact("graph_fork_kernel_us"), kernel};
      case Call::graph_instantiate: return {host + nodes * fact("graph_instantiate_kernel_us"), Seconds{0}, false};
      case Call::graph_update: return {host + nodes * fact("graph_update_kernel_us"), Seconds{0}, false};
      case Call::event_record: return {device_->spec().host.record, Seconds{0}};
      case Call::stream_synchronize: return {device_->spec().host.synchronize, Seconds{0}, false};
      case Call::event_elapsed:
      case Call::malloc_free: return {host, Seconds{0}, false};
      case Call::event_wait:
      case Call::callback:
      case Call::memset:
      case Call::pool_alloc_free: return {host, Seconds{0}};
    }
    return {};
  }

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
    const Facts hardware = simulated::spec_of(step.question.device).hardware;
    for (const std::string& key : facts_needed(step))
      if (std::isnan(number_fact(hardware, key)))
        return fmt::format("its spec does not say what such calls cost: hardware.{} is missing", key);
    return std::nullopt;
  }
  std::unique_ptr<Runner<Calls>> open(std::span<const Step<Calls>> steps) const override {
    return std::make_unique<SimulatedCallRunner>(steps.front().question.device);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_BACKEND(Calls, npgpu::SimulatedCalls)
