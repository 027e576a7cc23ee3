// The work of an energy window: the runner of a probe or of a module, made to run for a while at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "npgpu/energy.hpp"
#include "npgpu/runner.hpp"

namespace npgpu::energy {

class Load {
 public:
  virtual ~Load() = default;
  // Runs for about so long; what was done, in operations or bytes, and how long it took by the work's own clock.
  struct Done {
    double work = 0;
    Seconds took{0};
  };
  virtual Done run(Seconds about) = 0;
  // What is wrong with the results of the last run; nothing if they are right.
  virtual std::optional<std::string> check() = 0;
  virtual std::string binding() const = 0;
};

// Why there is no such work; nothing if there is.
std::optional<std::string> refuses(const EnergyCase&);
MemoryNeed needs(const EnergyCase&);
MemoryNeed available(const EnergyCase&);
// Null of a case that does nothing. Throws Error.
std::unique_ptr<Load> open_load(const EnergyCase&);

}  // namespace npgpu::energy
