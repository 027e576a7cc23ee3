#include "npgpu/soak.hpp"

#include <fmt/format.h>

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
std::optional<std::string> flaw_of(const SoakSample& sample) {
  if (sample.repeats == 0) return "has 0 repeats";
  return flaw_of_intact(sample.intact);
}

std::string text_of(const SoakSlice& slice) {
  return fmt::format("slice {} of {:g} s", slice.number, slice.length_ms * 1e-3);
}

}  // namespace npgpu
