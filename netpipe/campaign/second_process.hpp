// A runner that measures with a second process at work, where the question asks for one (npgpu/beside.hpp).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/beside.hpp"
#include "npgpu/device.hpp"
#include "npgpu/error.hpp"
#include "npgpu/runner.hpp"

namespace npgpu::campaign {

// The second process works only while a trial runs, so that whoever looks for others before and after a visit does not
// find it, and what it did in the trial is its own count.
template <class K> class BesideRunner final : public Runner<K> {
 public:
  // `open` makes the runner after the second process was started: that one is not bound to what this one will be.
  template <class Open> BesideRunner(std::string device, Open&& open) : device_(std::move(device)) {
    start();
    inner_ = open();
  }

  void prepare(const Step<K>& step) override {
    inner_->prepare(step);
    forward_disturbances();
    beside_ = step.question.beside;
    done_ = 0;
    if (beside_ == Beside::nobody) companion_.reset();
    else if (!companion_) start();
  }
  bool run(std::uint64_t repeats, std::vector<typename K::Sample>& samples) override {
    if (!is_working(beside_)) return run_inner(repeats, samples);
    try {
      companion_->work(beside_);
      const std::uint64_t before = companion_->done();
      const bool valid = run_inner(repeats, samples);
      done_ += companion_->done() - before;
      companion_->rest();
      return valid;
    } catch (...) {
      companion_.reset();  // the next point gets another one
      throw;
    }
  }
  std::optional<std::string> check(std::span<typename K::Sample> last_trial) override {
    return inner_->check(last_trial);
  }
  std::uint64_t max_repeats() const override { return inner_->max_repeats(); }
  double work() const override { return inner_->work(); }
  std::uint64_t bytes() const override { return inner_->bytes(); }
  Step<K> settled(const Step<K>& step, std::span<const typename K::Axes> known) override {
    return inner_->settled(step, known);
  }
  void warm_up(Seconds duration) override { inner_->warm_up(duration); }
  const Clock& clock() const override { return inner_->clock(); }
  Telemetry telemetry() override { return inner_->telemetry(); }
  std::string binding() const override { return inner_->binding(); }
  std::uint64_t beside_done() const override { return done_; }

 private:
  void start() {
    companion_ = devices::companion(device_);
    if (!companion_) throw Error(ErrorKind::usage, "there is no second process on " + device_);
  }
  bool run_inner(std::uint64_t repeats, std::vector<typename K::Sample>& samples) {
    const bool valid = inner_->run(repeats, samples);
    forward_disturbances();
    return valid;
  }
  void forward_disturbances() {
    if (const std::uint32_t causes = inner_->disturbances()) this->disturbed_by(static_cast<Cause>(causes));
  }

  std::string device_;
  std::unique_ptr<Companion> companion_;  // it ends last
  std::unique_ptr<Runner<K>> inner_;
  Beside beside_ = Beside::nobody;
  std::uint64_t done_ = 0;
};

// What `open` gives, with a second process where a step asks for one.
template <class K, class Open>
std::unique_ptr<Runner<K>> with_second_process(std::span<const Step<K>> steps, Open&& open) {
  const auto asks = std::ranges::find_if(steps, [](const Step<K>& step) { return is_beside(step.question); });
  if (asks == steps.end()) return open();
  if constexpr (requires(const Step<K>& step) { step.question.beside; })
    return std::make_unique<BesideRunner<K>>(device_of(asks->question), open);
  return nullptr;
}

}  // namespace npgpu::campaign
