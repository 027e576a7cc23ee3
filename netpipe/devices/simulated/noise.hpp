// The scatter of a simulated device: the same numbers from the same seed on every machine.
#pragma once

#include <cmath>
#include <cstdint>

#include "netpipe/devices/simulated/spec.hpp"
#include "netpipe/engine/normal.hpp"

namespace npgpu::simulated {

class NoiseSource {
 public:
  explicit NoiseSource(const Noise& noise) : noise_(noise), state_(noise.seed) { next_trial(); }

  // On everything that takes time, until the next synchronization.
  double trial() const { return trial_; }
  void next_trial() {
    trial_ = noise_.sigma > 0 ? std::exp(noise_.sigma * normal()) : 1;
    if (noise_.outlier_rate > 0 && uniform() < noise_.outlier_rate) trial_ *= noise_.outlier_factor;
  }
  // On one copy.
  double operation() { return noise_.operation_sigma > 0 ? std::exp(noise_.operation_sigma * normal()) : 1; }

 private:
  // SplitMix64 (Steele, Lea and Flood 2014).
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }  // in (0, 1]
  double normal() {
    return npgpu::normal([this] { return uniform(); });
  }

  Noise noise_;
  std::uint64_t state_;
  double trial_ = 1;
};

}  // namespace npgpu::simulated
