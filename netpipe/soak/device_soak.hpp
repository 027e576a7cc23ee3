// One device of a soak: its loads, each opened at its first slice and kept, and what it says of itself while they run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "netpipe/energy/load.hpp"
#include "npgpu/vocabulary/load.hpp"

namespace npgpu::soak {

// What runs at once in a case; one load but of `together`.
std::vector<SoakLoad> parts_of(const SoakCase&);
// Why a case cannot run; nothing if it can.
std::optional<std::string> refuses(const SoakCase&);

struct Slice {
  std::vector<SoakSample> samples;
  std::string wrong;  // what the first wrong results were; empty if all were right
};

class DeviceSoak {
 public:
  // `thorough`: memory tests do all passes; else, among other loads, another part of them in each slice.
  DeviceSoak(std::string device, bool thorough);
  ~DeviceSoak();

  // One slice of a case of this device. `elapsed`: of the soak, when it begins. Throws Error. A real device's loads run
  // in threads of their own, and end together; a simulated one's take turns.
  Slice run(const SoakCase&, const SoakSlice&, Seconds elapsed);
  // How long it took, by the device's own time.
  Seconds took() const { return took_; }

 private:
  struct Part;
  class Watch;
  Part& part(const SoakCase&, SoakLoad, bool beside);
  void work(Part&, Seconds length, const std::function<bool()>& stop);
  void work_beside(Part&, Seconds length, const std::function<bool()>& stop);
  Slice memory_test(const SoakSlice&, Watch&);
  void run_parts(const std::vector<Part*>&, Seconds length);
  void add_counters(SoakSample&) const;

  const std::string device_;
  const bool simulated_, thorough_;
  std::map<std::pair<SoakLoad, bool>, std::unique_ptr<Part>> parts_;
  Seconds took_{0};
};

}  // namespace npgpu::soak
