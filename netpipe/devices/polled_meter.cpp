#include "netpipe/devices/polled_meter.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "netpipe/engine/algorithms.hpp"

namespace npgpu::devices {

namespace {

constexpr Seconds look{5e-4}, least_between_steps{0.01}, state_every{0.02};

// Means of what is a number.
class Mean {
 public:
  void add(double value) {
    if (!std::isfinite(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ ? sum_ / count_ : not_measured; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

// What one thread sees from its start to its end.
class Watching {
 public:
  explicit Watching(const PolledSource& source) : source_(source) {}

  void run(const std::stop_token& stop) {
    const Seconds begin = now();
    Seconds state_at = begin;
    double before = source_.joules ? source_.joules().value_or(not_measured) : 0;
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(look);
      const Seconds at = now();
      if (source_.joules) {
        const auto joules = source_.joules();
        const bool is_step = joules && *joules != before;
        if (is_step && (steps_.empty() || at - steps_.back().at >= least_between_steps))
          steps_.push_back({at, *joules});
        if (is_step) before = *joules;
      }
      if (at - state_at < state_every) continue;
      read_state(at, at - state_at);
      state_at = at;
    }
  }

  EnergyRecord record(Seconds since) const {
    EnergyRecord all;
    std::ranges::copy_if(steps_, std::back_inserter(all.steps), [&](const EnergyReading& r) { return r.at >= since; });
    Mean sm_clock, memory_clock;
    FrequentReasons reasons;
    for (const State& one : states_) {
      if (one.at < since) continue;
      all.state = one.told;
      sm_clock.add(one.told.sm_clock_mhz);
      memory_clock.add(one.told.memory_clock_mhz);
      reasons.add(one.told.throttle_reasons);
    }
    all.power_w = all.state.power_w = power_within(all.steps);
    all.state.sm_clock_mhz = sm_clock.value();
    all.state.memory_clock_mhz = memory_clock.value();
    all.state.throttle_reasons = reasons.value();
    return all;
  }

 private:
  struct State {
    Seconds at{0};
    Telemetry told;
    double power_w = not_measured;
    bool is_new = false;  // another power than the reading before it
  };

  // The mean power that was read between the first and the last step. NVML's instantaneous power changes every 100 ms
  // (H100): a reading says what was before the last change, so the first that counts is the first new one.
  double power_within(const std::vector<EnergyReading>& steps) const {
    Mean fresh, all;
    for (const State& one : states_) {
      if (!steps.empty() && (one.at <= steps.front().at || one.at > steps.back().at)) continue;
      all.add(one.power_w);
      if (one.is_new) fresh.add(one.power_w);
    }
    return std::isfinite(fresh.value()) ? fresh.value() : all.value();
  }

  static Seconds now() { return steady_clock().now(); }

  void read_state(Seconds at, Seconds since) {
    State& now = states_.emplace_back(State{at, source_.state(), source_.power_w()});
    now.is_new = std::isfinite(last_power_w_) && now.power_w != last_power_w_;
    last_power_w_ = now.power_w;
    if (source_.joules || !std::isfinite(now.power_w)) return;
    integral_ += now.power_w * since.count();
    steps_.push_back({at, integral_});
  }

  const PolledSource& source_;
  std::vector<EnergyReading> steps_;
  std::vector<State> states_;
  double integral_ = 0;
  double last_power_w_ = not_measured;
};

class PolledMeter final : public EnergyMeter {
 public:
  explicit PolledMeter(PolledSource source) : source_(std::move(source)) {}
  std::string name() const override { return source_.name; }
  bool counts_energy() const override { return static_cast<bool>(source_.joules); }
  void start(const EnergyCase&) override {
    watching_ = std::make_unique<Watching>(source_);
    thread_ = std::jthread([watching = watching_.get()](const std::stop_token& stop) { watching->run(stop); });
  }
  EnergyRecord stop(Seconds since) override {
    thread_.request_stop();
    thread_.join();
    return watching_->record(since);
  }
  const Clock& clock() const override { return steady_clock(); }
  void rest(Seconds duration) override { std::this_thread::sleep_for(duration); }

 private:
  const PolledSource source_;
  std::unique_ptr<Watching> watching_;
  std::jthread thread_;  // last: it ends before what it looks with
};

}  // namespace

std::unique_ptr<EnergyMeter> polled_meter(PolledSource source) {
  return std::make_unique<PolledMeter>(std::move(source));
}

}  // namespace npgpu::devices
