// Functions of the user's own as a backend of calls.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <exception>
#include <memory>

#include "netpipe/devices/host/quiet_core.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

// What the user's code throws is a failure of the point.
template <class F> auto guarded(F&& f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(ErrorKind::failed, e.what());
  }
}

class FunctionRunner final : public Runner<Calls> {
 public:
  explicit FunctionRunner(const Function& function) : function_(function) {
    if (function.stream) timer_ = devices::stream_timer(function.device, *function.stream);
  }

  void prepare(const Step<Calls>& step) override {
    spacing_ = step.question.spacing;
    if (function_.prepare) guarded([&] { function_.prepare(step.axes.bytes); });
    run_once_ = true;
  }

  bool run(std::uint64_t repeats, std::vector<CallSample>& samples) override {
    const bool moved = quiet_.settle();
    if (quiet_.is_shared() && spacing_ != Spacing::gated) disturbed_by(Cause::core_shared);
    CallSample sample;
    sample.repeats = repeats;
    const bool is_valid = guarded([&] {
      if (moved || std::exchange(run_once_, false)) {  // nothing is timed that is done for the first time
        function_.call();
        wait();
      }
      if (spacing_ == Spacing::gated) return gated(sample);
      timed(sample);
      return true;
    });
    if (is_valid) samples.push_back(sample);
    return is_valid;
  }

  std::optional<std::string> check(std::span<CallSample> last_trial) override {
    if (!function_.check) return std::nullopt;
    const auto wrong = guarded(function_.check);
    for (CallSample& sample : last_trial) sample.intact = wrong ? 0 : 1;
    return wrong;
  }

  std::uint64_t max_repeats() const override {
    if (spacing_ == Spacing::alone) return 0;
    if (spacing_ == Spacing::back_to_back) return 4096;
    return std::max<std::uint64_t>(1, timer_->gate_capacity() / std::max(1u, function_.operations));
  }
  double work() const override { return 1; }
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return devices::telemetry(function_.device); }
  std::string binding() const override { return quiet_.text(); }

 private:
  static Seconds now() { return steady_clock().now(); }
  void wait() const {
    if (function_.wait) function_.wait();
  }

  void timed(CallSample& sample) const {
    Seconds host{0}, done{0};
    if (spacing_ == Spacing::alone) {
      for (std::uint64_t i = 0; i < sample.repeats; ++i) {
        const Seconds begin = now();
        function_.call();
        const Seconds returned = now();
        wait();
        done += now() - begin;
        host += returned - begin;
      }
    } else {
      const Seconds begin = now();
      for (std::uint64_t i = 0; i < sample.repeats; ++i) function_.call();
      host = now() - begin;
      wait();
      done = now() - begin;
    }
    sample.host_us = microseconds(host);
    if (function_.wait) sample.done_us = microseconds(done);
  }

  // False where the gate timed out: launch costs are then in it.
  bool gated(CallSample& sample) const {
    timer_->hold();
    timer_->start();
    const Seconds begin = now();
    for (std::uint64_t i = 0; i < sample.repeats; ++i) function_.call();
    sample.host_us = microseconds(now() - begin);
    timer_->stop();
    timer_->release();
    wait();
    const std::optional<Seconds> elapsed = timer_->elapsed();
    if (elapsed) sample.done_us = microseconds(*elapsed);
    return elapsed.has_value();
  }

  const Function& function_;
  host::QuietCore quiet_;
  std::unique_ptr<DeviceTimer> timer_;  // null where the function has no stream
  Spacing spacing_ = Spacing::alone;
  bool run_once_ = true;
};

class FunctionBackend final : public Backend<Calls> {
 public:
  explicit FunctionBackend(const Function& function)
      : function_(function),
        is_timed_by_device_(function.stream && devices::stream_timer(function.device, *function.stream)) {}
  std::string_view name() const override { return function_.name; }
  std::string_view device_kind() const override { return devices::kind_of(function_.device); }
  std::string_view summary() const override { return "a function of the user's own"; }
  std::optional<std::string> refuses(const Step<Calls>& step) const override {
    if (step.question.spacing == Spacing::gated && !is_timed_by_device_)
      return fmt::format("{} has no streams, so that its work has no time on the device", function_.device);
    return std::nullopt;
  }
  bool allows_context_reset() const override { return false; }  // its memory is the user's
  std::unique_ptr<Runner<Calls>> open(std::span<const Step<Calls>>) const override {
    return std::make_unique<FunctionRunner>(function_);
  }

 private:
  const Function& function_;
  const bool is_timed_by_device_;  // asked once: a timer holds events and a gate
};

void check_function(const Function& function) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  if (function.name.empty() || !std::ranges::all_of(function.name, fits))
    throw Error(ErrorKind::usage,
                fmt::format("a function is called '{}': letters, digits, '-', '_' and '.' are taken", function.name));
  if (!function.call)
    throw Error(ErrorKind::usage, fmt::format("function {}: there is nothing to call", function.name));
  if (function.sizes.empty()) throw Error(ErrorKind::usage, fmt::format("function {}: it has no size", function.name));
  if (function.stream && !function.wait)
    throw Error(ErrorKind::usage, fmt::format("function {}: it has a stream, and no wait", function.name));
}

}  // namespace

CampaignResult measure(const std::vector<Function>& functions, const Settings& settings, Observer& observer) {
  std::deque<FunctionBackend> backends;
  Plan plan;
  for (const Function& function : functions) {
    check_function(function);
    const FunctionBackend& backend = backends.emplace_back(function);
    std::vector<Spacing> all{Spacing::alone, Spacing::back_to_back};
    if (function.stream) all.push_back(Spacing::gated);
    std::vector<Step<Calls>> steps;
    for (const Spacing spacing : all)
      for (const std::uint64_t bytes : function.sizes) {
        CallCase question{.device = function.device, .call = Call::function, .spacing = spacing};
        question.function = function.name;
        steps.push_back({question, {.bytes = bytes}});
      }
    add<Calls>(plan, backend, devices::find(function.device), steps);
  }
  if (plan.points() == 0)
    throw Error(ErrorKind::usage, plan.left_out.empty() ? "there is no function to measure" : plan.left_out.front());
  Settings own = settings;
  if (own.plan.empty()) {
    own.plan = "functions:";
    for (const Function& function : functions) own.plan += " " + function.name;
  }
  return measure(plan, own, observer);
}

CampaignResult measure(const std::vector<Function>& functions, const Settings& settings) {
  Observer nobody;
  return measure(functions, settings, nobody);
}

}  // namespace npgpu
