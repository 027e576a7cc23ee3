// Jobs whose chunks take just so long, for tests of models and of the simulator.
#pragma once

#include <cmath>
#include <random>

#include "npgpu/model/advice.hpp"

namespace npgpu {

inline Stages ms(double h2d, double kernel, double d2h) {
  return {Seconds{h2d * 1e-3}, Seconds{kernel * 1e-3}, Seconds{d2h * 1e-3}};
}
inline double in_ms(Seconds t) { return t.count() * 1e3; }

// n chunks that take `chunk` each, and a node that takes nothing but that.
struct MadeJob {
  Job job;
  StreamCosts costs;
};
inline MadeJob made(const Stages& chunk, std::uint32_t n) {
  MadeJob m;
  m.job = {.in_bytes = 1000ull * n, .out_bytes = 1000ull * n, .kernel = chunk.kernel * n};
  m.costs.copy_h2d = Curve({{1000, chunk.h2d}});
  m.costs.copy_d2h = Curve({{1000, chunk.d2h}});
  return m;
}

// Times over some powers of ten, all equally likely.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  double between(double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random_));
  }
  Stages stages(double low, double high) {
    return {Seconds{between(low, high)}, Seconds{between(low, high)}, Seconds{between(low, high)}};
  }
  std::uint32_t count(std::uint32_t most) { return 1 + static_cast<std::uint32_t>(random_() % most); }

 private:
  std::mt19937_64 random_;
};

}  // namespace npgpu
