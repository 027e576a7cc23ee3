// Estimates of the literature from the times of the unstreamed job.
#include "npgpu/closed_forms.hpp"

#include <algorithm>
#include <cmath>

namespace npgpu::models {

namespace {

Seconds transfers(const Stages& whole) { return whole.h2d + whole.d2h; }

}  // namespace

Stages chunk_of(const Stages& whole, double n) { return {whole.h2d / n, whole.kernel / n, whole.d2h / n}; }

Seconds best_practices_kernel(const Stages& whole, double n) { return whole.kernel + transfers(whole) / n; }
Seconds best_practices_transfers(const Stages& whole, double n) { return transfers(whole) + whole.kernel / n; }

Seconds cc1(const Stages& whole, Seconds t_sc, double n) {
  return std::max(transfers(whole), whole.kernel + transfers(whole) / n) + n * t_sc;
}

double cc1_optimum_as_printed(const Stages& whole, Seconds t_sc) {
  const Seconds t_t = transfers(whole);
  return t_t > whole.kernel ? t_t / (t_t - whole.kernel) : std::sqrt(t_t / t_sc);
}

double cc1_optimum(const Stages& whole, Seconds t_sc) {
  const Seconds t_t = transfers(whole);
  const double cheapest = std::sqrt(t_t / t_sc);
  return std::max(1.0, t_t > whole.kernel ? std::min(t_t / (t_t - whole.kernel), cheapest) : cheapest);
}

Seconds cc2(const Stages& whole, Seconds t_sc, double n) {
  const Seconds hidden = std::min(whole.h2d, whole.kernel);
  return std::max(whole.h2d, whole.kernel) + hidden / n + whole.d2h + n * t_sc;
}

double cc2_optimum(const Stages& whole, Seconds t_sc) { return std::sqrt(std::min(whole.h2d, whole.kernel) / t_sc); }

Seconds van_werkhoven(const Stages& whole, double n) {
  const auto [h, e, d] = whole;
  return std::max({h + e / n + d / n, h / n + e + d / n, h / n + e / n + d});
}

Seconds dominant_stage(const Stages& whole, Seconds g, double n) {
  const Seconds longest = std::max({whole.h2d, whole.kernel, whole.d2h});
  return longest + (whole.sum() - longest) / n + (n - 1) * g;
}

double dominant_stage_optimum(const Stages& whole, Seconds g) {
  const Seconds longest = std::max({whole.h2d, whole.kernel, whole.d2h});
  return std::max(1.0, std::sqrt((whole.sum() - longest) / g));
}

double tail_inflation(std::uint64_t blocks, std::uint64_t slots, double n) {
  const double at_once = n * static_cast<double>(slots), all = static_cast<double>(blocks);
  return at_once * std::ceil(all / at_once) / all;
}

Seconds both_directions(const Copy& one, const Copy& other) {
  const auto beside = [](const Copy& c) { return c.fixed + c.slow * c.transfer; };
  const bool in_order = beside(one) <= beside(other);
  const Copy &first = in_order ? one : other, &second = in_order ? other : one;
  // Only bytes are slowed: nothing is where the first ends before the second's bytes begin.
  const Seconds together = std::max(Seconds{0}, beside(first) - second.fixed);
  return second.fixed + second.transfer + together * (1 - 1 / second.slow);
}

}  // namespace npgpu::models
