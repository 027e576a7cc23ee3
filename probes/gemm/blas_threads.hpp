// The threads of a host's BLAS: found by what they run in a product that is not timed, and pinned to a core each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "netpipe/devices/host/facts.hpp"
#include "probes/host/threads.hpp"

namespace npgpu {

class BlasThreads {
 public:
  // So many from now on, the caller's own among them.
  void take(std::uint32_t count);
  // Calls work() on the thread that calls the library, which is pinned, too: the library's threads spin for a while
  // after a product, and a thread that is not pinned would take turns with one of them. `work` must not throw.
  void each(const std::function<void()>& work) {
    caller_.each([&](unsigned) { work(); });
  }
  // The same, timed; units are the cpus that all of the threads were on.
  ProbeSample run(const std::function<void()>& work);
  std::string binding() const;

 private:
  std::vector<unsigned> cpus_ = host::core_cpus();
  PinnedThreads caller_{{cpus_.front()}};
  std::uint32_t threads_ = 0;  // that the library was set to have
  std::vector<int> pinned_;    // of them, without the caller
};

}  // namespace npgpu
