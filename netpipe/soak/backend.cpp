// Soaks on every family of devices. One runner has all of a soak's devices: in a slice each does the same load, at the
// same time, in a thread of its own. What each gave is kept until the campaign asks for it. A device that fails or
// does not come back is that device's failure, and the others go on.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "netpipe/soak/device_soak.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

// Beyond a slice's length, until a device is called lost; loads are opened in their first slice.
constexpr Seconds patience{60}, patience_of_memory_tests{600};

class SoakRunner final : public Runner<Soaks> {
 public:
  explicit SoakRunner(std::span<const Step<Soaks>> steps) : steps_(steps.begin(), steps.end()) {
    const bool is_test =
        std::ranges::all_of(steps_, [](const auto& step) { return step.question.load == SoakLoad::memory_test; });
    for (const auto& step : steps_)
      if (!devices_.contains(step.question.device))
        devices_.emplace(step.question.device, std::make_shared<soak::DeviceSoak>(step.question.device, is_test));
  }

  void prepare(const Step<Soaks>& step) override {
    step_ = step;
    is_prepared_ = false;
  }

  bool run(std::uint64_t, std::vector<SoakSample>& samples) override {
    if (!std::exchange(is_prepared_, true)) {  // a schedule's first run of a visit is no trial
      samples.push_back({.repeats = 1, .busy_us = 1});
      return true;
    }
    if (now_ != step_.axes) run_slice();
    Outcome& mine = outcomes_.at(step_.question.device);
    if (mine.failed) std::rethrow_exception(mine.failed);
    samples = mine.slice.samples;
    return true;
  }

  std::optional<std::string> check(std::span<SoakSample> last_trial) override {
    for (SoakSample& sample : last_trial)
      if (sample.pattern == MemoryPattern::none) sample.intact = sample.mismatches > 0 ? 0 : 1;
    const std::string& wrong = outcomes_.at(step_.question.device).slice.wrong;
    if (wrong.empty() || !told_.insert(step_.question).second) return std::nullopt;  // the samples count the others
    return wrong;
  }

  std::uint64_t max_repeats() const override { return 1; }
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override {
    Telemetry t;
    if (const auto mine = outcomes_.find(step_.question.device);
        mine != outcomes_.end() && !mine->second.slice.samples.empty()) {
      const SoakSample& s = mine->second.slice.samples.front();
      t.sm_clock_mhz = s.sm_clock_mhz;
      t.power_w = s.power_w;
      t.temperature_c = s.temperature_c;
      t.throttle_reasons = s.throttle_reasons;
    }
    return t;
  }
  std::string binding() const override { return "a thread for each device, and for each load of several at once"; }

 private:
  struct Outcome {
    soak::Slice slice;
    std::exception_ptr failed;
  };

  // Runs all devices that have a step of this slice. A run that is continued begins where it would have been.
  void run_slice() {
    now_ = step_.axes;
    outcomes_.clear();
    const Seconds nominal{step_.axes.number * (step_.axes.length_ms * 1e-3)}, now = steady_clock().now();
    if (!began_) began_ = now - nominal;
    std::vector<Step<Soaks>> mine;
    for (const auto& step : steps_)
      if (step.axes == step_.axes) mine.push_back(step);
    if (devices::find(step_.question.device).simulated) {
      for (const auto& step : mine) run_simulated(step, nominal);
      return;
    }
    const bool is_test =
        std::ranges::any_of(mine, [](const auto& step) { return step.question.load == SoakLoad::memory_test; });
    const Seconds until{step_.axes.length_ms * 1e-3 + (is_test ? patience_of_memory_tests : patience).count()};
    std::vector<std::pair<std::string, std::future<soak::Slice>>> running;
    for (const auto& step : mine) {
      if (lost_.contains(step.question.device)) {
        outcomes_[step.question.device].failed = lost_.at(step.question.device);
        continue;
      }
      std::packaged_task<soak::Slice()> task(
          [device = devices_.at(step.question.device), step, elapsed = now - *began_] {
            return device->run(step.question, step.axes, elapsed);
          });
      running.emplace_back(step.question.device, task.get_future());
      std::thread(std::move(task)).detach();  // one that hangs in the driver is left there
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(until);
    for (auto& [device, slice] : running) {
      Outcome& outcome = outcomes_[device];
      if (slice.wait_until(end) != std::future_status::ready) {
        lost_[device] = outcome.failed = std::make_exception_ptr(
            Error(ErrorKind::lost, fmt::format("{} did not answer for {:g} s", device, until.count()), device));
        continue;
      }
      take(device, outcome, [&] { return slice.get(); });
    }
  }

  // In its own time, of which a slice is one part.
  void run_simulated(const Step<Soaks>& step, Seconds nominal) {
    const std::string& device = step.question.device;
    Outcome& outcome = outcomes_[device];
    if (const auto lost = lost_.find(device); lost != lost_.end()) {
      outcome.failed = lost->second;
      return;
    }
    const auto begun = simulated_.try_emplace(device, nominal).first;
    begun->second = std::max(begun->second, nominal);  // slices of a load that it gave up have passed
    take(device, outcome, [&] { return devices_.at(device)->run(step.question, step.axes, begun->second); });
    begun->second += devices_.at(device)->took();
  }

  template <class Run> void take(const std::string& device, Outcome& outcome, Run run) {
    try {
      outcome.slice = run();
    } catch (const Error& e) {
      outcome.failed = std::current_exception();
      if (e.kind() == ErrorKind::lost && (e.device().empty() || e.device() == device)) lost_[device] = outcome.failed;
    }
  }

  const std::vector<Step<Soaks>> steps_;
  std::map<std::string, std::shared_ptr<soak::DeviceSoak>> devices_;
  Step<Soaks> step_;
  bool is_prepared_ = false;
  std::optional<SoakSlice> now_;
  std::map<std::string, Outcome> outcomes_;  // of that slice
  std::map<std::string, std::exception_ptr> lost_;
  std::set<SoakCase> told_;
  std::optional<Seconds> began_;
  std::map<std::string, Seconds> simulated_;  // time of the soak that has passed for each
};

class SoakBackend : public Backend<Soaks> {
 public:
  explicit SoakBackend(std::string_view device_kind) : device_kind_(device_kind) {}
  std::string_view name() const override { return "soak"; }
  std::string_view device_kind() const override { return device_kind_; }
  std::string_view summary() const override { return "loads for minutes, all devices at once, every result compared"; }
  std::optional<std::string> refuses(const Step<Soaks>& step) const override {
    if (const auto flaw = flaw_of(step.axes)) return "a slice " + *flaw;
    return soak::refuses(step.question);
  }
  std::unique_ptr<Runner<Soaks>> open(std::span<const Step<Soaks>> steps) const override {
    return std::make_unique<SoakRunner>(steps);
  }

 private:
  std::string_view device_kind_;
};

struct CudaSoak final : SoakBackend {
  CudaSoak() : SoakBackend("cuda") {}
};
struct SimulatedSoak final : SoakBackend {
  SimulatedSoak() : SoakBackend("sim") {}
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Backend<npgpu::Soaks>, npgpu::CudaSoak, npgpu::SimulatedSoak)
