// The work of an energy window or of a soak: the runner of a probe or of a module, made to run for a while at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/load.hpp"

namespace npgpu::energy {

class Load {
 public:
  virtual ~Load() = default;
  // Runs for about so long; what was done, in operations or bytes, how long it took by the work's own clock, and by the
  // timing of its kind, which leaves out what is around it.
  struct Done {
    double work = 0;
    Seconds took{0};
    Seconds timed{0};
    std::uint64_t repeats = 0;
  };
  virtual Done run(Seconds about) = 0;
  // What is wrong with the results of the last run; nothing if they are right.
  virtual std::optional<std::string> check() = 0;
  // Begins anew, with fresh data: what is wrong in the old stays wrong.
  virtual void renew() = 0;
  virtual std::string binding() const = 0;
};

// Why there is no such work; nothing if there is.
std::optional<std::string> refuses(const EnergyCase&);
MemoryNeed needs(const EnergyCase&);
MemoryNeed available(const EnergyCase&);
// How copies are timed, and how large each is. Gates keep copies in the stream until all are there, and need a
// device that has room for the gate's kernel.
struct CopyForm {
  bool gated = true;
  std::uint64_t bytes = 64 * MiB;  // so large that the cost of calls is nothing
};
// Null of a case that does nothing. Throws Error.
std::unique_ptr<Load> open_load(const EnergyCase&, const CopyForm& = {});

}  // namespace npgpu::energy
