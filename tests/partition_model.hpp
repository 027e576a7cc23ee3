// Veneva & Imamura 2025: the tridiagonal partition method on an RTX 2080 Ti, with their coefficients. Sizes in
// unknowns, times as they fit them, in ms. It reproduces their tables; predictions for other devices do not use it.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace npgpu::models::partition {

constexpr double tau_ms = 0.004448;  // to create a stream on its RTX 2080 Ti
constexpr double small_up_to = 1e6;

inline double hidden_ms(double sum, double n) { return (n - 1) / n * sum; }

// (4)
inline double sum_ms(double size) { return 2.1890017149e-6 * size + 0.1470644998564126; }

// (7): the small form up to 1e6, the big one above
inline double overhead_ms(double size, double n) {
  if (size <= small_up_to) return 2.245645331e-7 * size + 0.6009426920043296 * std::log10(n) - 0.0605183610625299;
  return (3.56594859e-8 * size + 0.0522781620855163) * (4.0 / 3 * std::log2(n)) + 0.3941472844770443;
}

// (5), from measured times
inline double overhead_ms(double streamed, double non_streamed, double sum, double n) {
  return streamed - non_streamed + hidden_ms(sum, n);
}

// (2) less (1)
inline double streamed_ms(double non_streamed, double sum, double overhead, double n) {
  return non_streamed - hidden_ms(sum, n) + overhead;
}

// (n-1)/n sum - overhead
inline double gain_ms(double sum, double overhead, double n) { return hidden_ms(sum, n) - overhead; }

// sqrt(sum/tau), the rule of Gomez-Luna et al. 2012 as Table I has it
inline double creation_optimum(double sum) { return std::sqrt(sum / tau_ms); }

// (6): the candidate with the largest gain; 1 if none has any. Table IV comes out only if 1 is evaluated
// like the others, where (7) is negative for small sizes.
inline std::uint32_t optimum(double size, std::span<const std::uint32_t> candidates) {
  std::uint32_t best = 1;
  double most = 0;
  for (const std::uint32_t n : candidates) {
    const double gain = gain_ms(sum_ms(size), overhead_ms(size, n), n);
    if (gain > most) {
      most = gain;
      best = n;
    }
  }
  return best;
}

}  // namespace npgpu::models::partition
