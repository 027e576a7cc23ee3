#include "netpipe/devices/simulated/energy_meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/error.hpp"

namespace npgpu::simulated {

namespace {

constexpr Seconds step{0.1};

class ManualClock final : public Clock {
 public:
  Seconds now() const override { return time; }
  Seconds time{0};
};

class SimulatedMeter final : public EnergyMeter {
 public:
  explicit SimulatedMeter(const Spec& spec) : spec_(spec) {}
  std::string name() const override { return "the energy counter of the spec"; }
  bool counts_energy() const override { return true; }
  void start(const EnergyCase& question) override {
    question_ = question;
    steps_.clear();
    // Each window of the process has a scatter of its own, whichever meter it is read by.
    static std::uint64_t windows = 0;
    noise_ = NoiseSource({.seed = spec_.noise.seed + 0x9E3779B97F4A7C15 * ++windows, .sigma = sigma()}, 0);
  }
  EnergyRecord stop(Seconds since) override {
    EnergyRecord all;
    std::ranges::copy_if(steps_, std::back_inserter(all.steps), [&](const EnergyReading& r) { return r.at >= since; });
    if (all.steps.size() > 1)
      all.power_w =
          (all.steps.back().joules - all.steps.front().joules) / (all.steps.back().at - all.steps.front().at).count();
    if (spec_.condition.telemetry) all.state = *spec_.condition.telemetry;
    all.state.sm_clock_mhz = number_fact(spec_.hardware, "shader_clock_mhz");
    all.state.power_w = all.power_w;
    return all;
  }
  const Clock& clock() const override { return clock_; }
  void rest(Seconds duration) override {
    pass(duration, question_.work == EnergyWork::no_context ? asleep_w() : idle_w());
  }
  void worked(double work, Seconds took) override {
    const std::string key = energy_key(question_);
    const double pj = number_fact(spec_.hardware, key);
    if (std::isnan(pj)) throw Error(ErrorKind::usage, "the spec of " + question_.device + " does not state " + key);
    if (took > Seconds{0}) pass(took, idle_w() + work * pj * 1e-12 * share_of(question_.operands) / took.count());
  }

 private:
  double stated(std::string_view key, double otherwise) const {
    const double value = number_fact(spec_.hardware, key);
    return std::isnan(value) ? otherwise : value;
  }
  double sigma() const { return stated("energy_sigma", 0); }
  double idle_w() const { return stated("energy_idle_w", 0); }
  double asleep_w() const { return stated("energy_no_context_w", idle_w()); }
  double share_of(Operands operands) const {
    if (operands == Operands::zeros) return stated("energy_zeros_share", 1);
    return operands == Operands::pattern ? stated("energy_pattern_share", 1) : 1;
  }
  void pass(Seconds duration, double watts) {
    watts *= noise_.trial();
    const Seconds end = clock_.time + duration;
    for (Seconds next = step * std::floor(clock_.time / step + 1); next <= end; next += step) {
      joules_ += watts * (next - clock_.time).count();
      clock_.time = next;
      steps_.push_back({next, joules_});
    }
    joules_ += watts * (end - clock_.time).count();
    clock_.time = end;
  }

  const Spec spec_;
  NoiseSource noise_{{}, 0};
  ManualClock clock_;
  std::vector<EnergyReading> steps_;
  double joules_ = 0;
  EnergyCase question_;
};

}  // namespace

std::string energy_key(const EnergyCase& c) {
  std::string key = fmt::format("energy_{}", npgpu::name(c.work));
  if (counts_operations(c.work)) key += fmt::format("_{}", npgpu::name(c.type));
  else if (!is_link_copy(c.work)) key += fmt::format("_{}", npgpu::name(c.space));
  return key + "_pj";
}

std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) {
  const Spec spec = spec_of(id);
  if (std::isnan(number_fact(spec.hardware, "energy_idle_w"))) {
    why = "the spec of " + id + " states no energy (energy_idle_w)";
    return nullptr;
  }
  return std::make_unique<SimulatedMeter>(spec);
}

}  // namespace npgpu::simulated
