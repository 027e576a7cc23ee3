// The clock of host times. Real channels use SteadyClock. Simulated devices have a manual clock of their own, so that
// whole runs are exact and repeatable.
//
// Example:
//   const npgpu::Clock& clock = npgpu::steady_clock();
//   const npgpu::Seconds begin = clock.now();
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   std::cout << "reading a trace: " << npgpu::microseconds(clock.now() - begin) << " us\n";
#pragma once

#include "npgpu/units.hpp"

namespace npgpu {

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic; only differences mean anything.
  virtual Seconds now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

// The one steady clock of the process.
inline const Clock& steady_clock() {
  static const SteadyClock clock;
  return clock;
}

}  // namespace npgpu
