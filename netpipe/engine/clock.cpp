#include "npgpu/clock.hpp"

namespace npgpu {

const Clock& steady_clock() {
  static const SteadyClock clock;
  return clock;
}

}  // namespace npgpu
