// What a trace says of energy: watts at rest, and joules an operation or a byte.
//
// Example:
//   for (const npgpu::EnergyFigure& f : npgpu::energy_figures(npgpu::read_trace("energy.h5")))
//     if (f.why.empty() && !npgpu::is_idle(f.question.work))
//       std::cout << npgpu::work_text(f.question) << ": " << f.each_pj().value << " pJ\n";
#pragma once

#include <string>
#include <vector>

#include "npgpu/result.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

struct EnergyFigure {
  EnergyCase question;
  std::string device_name, device_uuid;
  bool simulated = false;
  bool counts_energy = false;  // by a counter; else by readings of power
  double power_limit_w = not_measured;
  EnergyResult full;  // all of the time in work; of idle, at rest
  // J an operation or a byte over idle. Where energy is in proportion to work: the slope of power over work a second,
  // by least squares over all windows at rest, at half work and at full work that count; else of the windows at rest
  // and at full work alone. Its interval is Student's. NaN of idle.
  Estimate each_j;
  // What half work took over idle for each operation, over what full work did: 1 where energy is in proportion to work.
  double half_over_line = not_measured;
  bool is_proportional() const { return half_over_line > 0.95 && half_over_line < 1.05; }
  std::string why;  // nothing of this can be said; else empty

  Estimate each_pj() const;  // the same in pJ
  // J an operation or a byte, idle included.
  double all_in_j() const { return full.power_w.value / full.rate.value; }
  // By a limit of power or temperature; then energy is not in proportion to work.
  bool is_clock_lowered() const { return (full.causes & static_cast<std::uint32_t>(Cause::throttled)) != 0; }
};
// In the order of the trace's series.
std::vector<EnergyFigure> energy_figures(const Trace&);

}  // namespace npgpu
