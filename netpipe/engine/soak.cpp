#include "npgpu/soak.hpp"

#include <fmt/format.h>

#include "npgpu/repetition.hpp"
#include "npgpu/result.hpp"

namespace npgpu {

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
