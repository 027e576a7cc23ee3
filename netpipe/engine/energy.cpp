#include "npgpu/energy.hpp"

#include <fmt/format.h>

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
std::optional<std::string> flaw_of(const EnergySample& sample) {
  if (sample.repeats == 0) return "has 0 repeats";
  return flaw_of_intact(sample.intact);
}

std::string text_of(const EnergyLoad& load) {
  const std::string window = fmt::format("windows of {:g} s", load.window_ms * 1e-3);
  return load.duty_percent == 0 ? window : fmt::format("{} % of the time, {}", load.duty_percent, window);
}

}  // namespace npgpu
