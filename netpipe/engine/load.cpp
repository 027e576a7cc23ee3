#include "npgpu/vocabulary/load.hpp"

#include <fmt/format.h>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

Seconds Energies::timed(const Case&, std::span<const Sample> trial) {
  return Seconds{trial.front().energy_j / from_microseconds(trial.front().window_us).count()};
}

namespace {

std::string_view place_text(Space space) {
  switch (space) {
    case Space::global: return "memory";
    case Space::l1: return "L1";
    case Space::l2: return "L2";
    default: return name(space);
  }
}

}  // namespace

std::string work_text(const EnergyCase& c) {
  std::string text(name(c.work));
  if (is_idle(c.work)) return text;
  if (counts_operations(c.work)) text += fmt::format(" {}", name(c.type));
  else if (!is_link_copy(c.work)) text += fmt::format(" {}", place_text(c.space));
  if (!c.target.empty()) text += " to " + c.target;
  if (c.operands != Operands::usual) text += fmt::format(" ({})", name(c.operands));
  return text;
}

std::string title(const EnergyCase& c) { return fmt::format("energy {} {}", c.device, work_text(c)); }

std::optional<std::string> flaw_of(const EnergyLoad& load) {
  if (load.duty_percent > 100) return fmt::format("works in {} % of the time", load.duty_percent);
  if (load.window_ms == 0) return "has windows of 0 ms";
  return std::nullopt;
}

std::string text_of(const EnergyLoad& load) {
  const std::string window = fmt::format("windows of {:g} s", load.window_ms * 1e-3);
  return load.duty_percent == 0 ? window : fmt::format("{} % of the time, {}", load.duty_percent, window);
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// A trial is one window, and the first run of a visit wakes the device up. Powers of one work differ by 1 % from visit
// to visit (H100), whatever the window's length: four short windows say more than three long ones.
Repetition Energies::repetition() {
  return {.classic = {.trials = 1, .fixed_repeats = 1},
          .adaptive = {.tolerance = 0.02, .trial = Seconds{0}, .min_trials = 1, .budget = Seconds{1.5}},
          .rounds = 4};
}

PointCost Energies::cost(const DeviceInfo& device, const Step<Energies>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  return {Seconds{step.axes.window_ms * 1e-3 + 0.36}, Seconds{0.2}};  // until the counter steps, and to set up
}

Estimate Energies::figure(const EnergyCase& c, const EnergyResult& r) {
  if (is_idle(c.work)) return r.power_w;
  const double pj = 1e12 / r.rate.value;  // the scatter is that of the power
  return {r.power_w.value * pj, r.power_w.low * pj, r.power_w.high * pj, "pJ", r.power_w.method};
}

std::string_view Energies::counted(const EnergyCase& c, const EnergyResult&) {
  if (is_idle(c.work)) return "power of the whole device";
  return counts_operations(c.work) ? "energy of an operation, idle included" : "energy of a byte, idle included";
}

// A slice is no operation that is repeated: what it takes decides nothing.
Seconds Soaks::timed(const Case&, std::span<const Sample> trial) { return from_microseconds(trial.front().busy_us); }

std::string title(const SoakCase& c) {
  return fmt::format("soak {} {}{}", c.device, name(c.load), c.target.empty() ? "" : " to " + c.target);
}

std::optional<std::string> flaw_of(const SoakSlice& slice) {
  if (slice.length_ms == 0) return "has a length of 0 ms";
  return std::nullopt;
}

std::string text_of(const SoakSlice& slice) {
  return fmt::format("slice {} of {:g} s", slice.number, slice.length_ms * 1e-3);
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// A slice is visited once: its number is part of the point.
Repetition Soaks::repetition() {
  return {.is_classic = true, .classic = {.trials = 1, .fixed_repeats = 1}, .adaptive = {}, .rounds = 1};
}

// All devices do a slice at once.
PointCost Soaks::cost(const DeviceInfo& device, const Step<Soaks>& step) {
  return {step.question.device == device.id && !device.simulated ? Seconds{step.axes.length_ms * 1e-3} : Seconds{0}};
}

Estimate Soaks::figure(const SoakCase& c, const SoakResult& r) {
  return {r.rate.value, r.rate.low, r.rate.high,
          counts_operations(c.load) || c.load == SoakLoad::together ? "FLOP/s" : "B/s", r.rate.method};
}

std::string_view Soaks::counted(const SoakCase& c, const SoakResult&) {
  if (c.load == SoakLoad::together) return "operations of tensor cores, with other loads";
  return counts_operations(c.load) ? "operations" : "bytes";
}

}  // namespace npgpu
