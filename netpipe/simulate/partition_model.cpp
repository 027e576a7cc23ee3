#include "netpipe/simulate/partition_model.hpp"

#include <cmath>

namespace npgpu::models::partition {

namespace {

constexpr double small_up_to = 1e6;

double hidden_ms(double sum, double n) { return (n - 1) / n * sum; }

}  // namespace

double sum_ms(double size) { return 2.1890017149e-6 * size + 0.1470644998564126; }

double overhead_ms(double size, double n) {
  if (size <= small_up_to) return 2.245645331e-7 * size + 0.6009426920043296 * std::log10(n) - 0.0605183610625299;
  return (3.56594859e-8 * size + 0.0522781620855163) * (4.0 / 3 * std::log2(n)) + 0.3941472844770443;
}

double overhead_ms(double streamed, double non_streamed, double sum, double n) {
  return streamed - non_streamed + hidden_ms(sum, n);
}

double streamed_ms(double non_streamed, double sum, double overhead, double n) {
  return non_streamed - hidden_ms(sum, n) + overhead;
}

double gain_ms(double sum, double overhead, double n) { return hidden_ms(sum, n) - overhead; }

double creation_optimum(double sum) { return std::sqrt(sum / tau_ms); }

std::uint32_t optimum(double size, std::span<const std::uint32_t> candidates) {
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
