// What probes of simulated devices share: the time of a repeat is computed, and its result is a few real bytes.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "probes/runner.hpp"

namespace npgpu::simulated {

constexpr double operations_of_an_fma = 2;

inline Grid grid_of(const Shape& s) {
  return {s.blocks, s.threads, s.one_block_per_sm != 0, s.registers, s.shared_bytes};
}

// One repeat of a shape: `steps` equal steps of every thread, and what counts as work.
struct Repeat {
  WarpStep step;
  double steps = 1, work = 0;
  // Where the answer comes from elsewhere than memory: its rates in place of the device's.
  double sm_bytes_per_cycle = std::numeric_limits<double>::quiet_NaN();
  double all_bytes_per_s = std::numeric_limits<double>::quiet_NaN();
};
using RepeatOf = Repeat (*)(const ProbeCase&, const Shape&, const Multiprocessors&);

class SimulatedProbe : public Probe {
 public:
  SimulatedProbe(Need need, RepeatOf repeat_of) : need_(need), repeat_of_(repeat_of) {}
  std::string_view device_kind() const override { return "sim"; }
  bool takes_operands(const ProbeCase&, Operands) const override { return true; }  // its time does not depend on them
  std::vector<ProbeCase> cases(const std::string& device) const override;
  std::optional<std::string> refuses_case(const ProbeCase&) const override;
  std::optional<std::string> refuses_shape(const ProbeCase&, const Shape&) const override;
  ProbeContext context(const ProbeCase&) const override;
  MemoryNeed needs(std::span<const ProbeStep> steps) const override { return {0, max_bytes_of(steps)}; }
  MemoryNeed available(const ProbeCase&) const override;
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override;

 private:
  // All that the probe knows to ask, of any device.
  virtual std::vector<ProbeCase> questions(const std::string& device) const = 0;
  virtual Limit limit(const ProbeCase&, const Multiprocessors&) const = 0;
  // Beyond what any grid must be.
  virtual std::optional<std::string> refuses_pattern(const ProbeCase&, const Shape&) const { return std::nullopt; }

  Need need_;
  RepeatOf repeat_of_;
};

}  // namespace npgpu::simulated
