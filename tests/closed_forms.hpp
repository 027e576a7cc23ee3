// Closed forms of the literature for jobs in n streams, that the simulator is compared with: only tests ask for them
// here. plots/npgpu/study/models.py has all of them, with the numbers of streams that they choose.
//
// `whole` are the times of the unstreamed job: H, E, D. `chunk` are those of one of n chunks on its engine, a, k, d:
// to count gaps, pass chunk_times().
#pragma once

#include <algorithm>
#include <cstdint>

#include "npgpu/model/simulate.hpp"

namespace npgpu::models {

inline Seconds transfers(const Stages& whole) { return whole.h2d + whole.d2h; }

// ---- CUDA C Best Practices Guide 3.2, as Gomez-Luna et al. 2012 quote it: t_T = H + D -------------------------------
inline Seconds best_practices_kernel(const Stages& whole, double n) { return whole.kernel + transfers(whole) / n; }
inline Seconds best_practices_transfers(const Stages& whole, double n) { return transfers(whole) + whole.kernel / n; }

// ---- Gomez-Luna et al. 2012: one copy engine, stream creation counted -----------------------------------------------
// c.c. 1.x, (1) and (3): t_T + n t_sc while t_T >= t_E + t_T/n, else t_E + t_T/n + n t_sc.
inline Seconds cc1(const Stages& whole, Seconds t_sc, double n) {
  return std::max(transfers(whole), whole.kernel + transfers(whole) / n) + n * t_sc;
}
// c.c. 2.x, (5) and (7): H + t_E/n + D + n t_sc while H >= t_E, else H/n + t_E + D + n t_sc.
inline Seconds cc2(const Stages& whole, Seconds t_sc, double n) {
  return std::max(whole.h2d, whole.kernel) + std::min(whole.h2d, whole.kernel) / n + whole.d2h + n * t_sc;
}

// ---- Two copy engines, breadth-first, exact ------------------------------------------------------------------------
// The longest of the chains of operations that could hold the end up: a first chunk that fills the pipe, then n - 1
// more at the pace of the slowest that is left.
inline Seconds two_engines_breadth_first(const Stages& chunk, const Stages& latency, const Stages& issue,
                                         std::uint32_t n) {
  const auto [a, k, d] = chunk;
  const auto [lh, lk, ld] = latency;
  const auto [oh, ok, od] = issue;
  const double all = n, more = n - 1.0;
  return std::max({oh + a + lh + k + lk + d + ld + more * std::max({a, k, d, oh}),
                   all * oh + ok + k + lk + d + ld + more * std::max({k, d, ok}),
                   all * (oh + ok) + od + d + ld + more * std::max(d, od)});
}

// ---- van Werkhoven, Maassen, Seinstra, Bal: Performance models for CPU-GPU data transfers (CCGrid 2014) -------------
inline Seconds van_werkhoven(const Stages& whole, double n) {
  const auto [h, e, d] = whole;
  return std::max({h + e / n + d / n, h / n + e + d / n, h / n + e / n + d});
}

// ---- The longest stage M and the others S: M + S/n + (n - 1) g -----------------------------------------------------
// g is what one more chunk costs the longest stage's engine; t_sc belongs to it where creation is timed.
inline Seconds dominant_stage(const Stages& whole, Seconds g, double n) {
  const Seconds longest = std::max({whole.h2d, whole.kernel, whole.d2h});
  return longest + (whole.sum() - longest) / n + (n - 1) * g;
}

}  // namespace npgpu::models
