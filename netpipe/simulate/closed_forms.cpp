// Estimates of the literature from the times of the unstreamed job.
#include "npgpu/closed_forms.hpp"

#include <algorithm>
#include <cmath>

namespace npgpu::models {

namespace {

Seconds transfers(const Stages& whole) { return whole.h2d + whole.d2h; }

}  // namespace

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

// The longest of the chains of operations that could hold the end up: a first chunk that fills the pipe, then n - 1
// more at the pace of the slowest that is left.
Seconds two_engines_breadth_first(const Stages& chunk, const Stages& latency, const Stages& issue, std::uint32_t n) {
  const auto [a, k, d] = chunk;
  const auto [lh, lk, ld] = latency;
  const auto [oh, ok, od] = issue;
  const double all = n, more = n - 1.0;
  return std::max({oh + a + lh + k + lk + d + ld + more * std::max({a, k, d, oh}),
                   all * oh + ok + k + lk + d + ld + more * std::max({k, d, ok}),
                   all * (oh + ok) + od + d + ld + more * std::max(d, od)});
}

}  // namespace npgpu::models
