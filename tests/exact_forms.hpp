// Exact times that the simulator must give: only tests ask for them. `whole` are the times of the unstreamed job,
// `chunk` those of one of n chunks on its engine, gaps included.
//
// A time of n equal chunks on one or two copy engines is the longest of the chains of operations that could hold the
// end up: a first chunk that fills the pipe, then n - 1 more at the pace of the slowest that is left.
#pragma once

#include <algorithm>
#include <cmath>

#include "npgpu/model/advice.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::models {

// One n-th of every stage.
inline Stages chunk_of(const Stages& whole, double n) { return {whole.h2d / n, whole.kernel / n, whole.d2h / n}; }

// ---- One copy engine, no cost to the host --------------------------------------------------------------------------
inline Seconds one_engine_breadth_first(const Stages& chunk, std::uint32_t n) {
  const auto [a, k, d] = chunk;
  const double all = n;
  // The first two are (1) and (3) of Gomez-Luna et al. 2012.
  return std::max({all * (a + d), a + all * k + d, all * a + k + d, a + k + all * d});
}

// Copies in the order of issue.
inline Seconds one_engine_depth_first(const Stages& chunk, std::uint32_t n) { return n * chunk.sum(); }

// Breadth-first with implicit synchronization. With `end` it is (5) and (7) of Gomez-Luna et al. 2012 in one.
inline Seconds one_engine_implicit_sync(const Stages& chunk, std::uint32_t n, ImplicitSync sync) {
  const auto [a, k, d] = chunk;
  const double all = n;
  switch (sync) {
    case ImplicitSync::none: return one_engine_breadth_first(chunk, n);
    case ImplicitSync::start:
      // The last kernel starts; then either all copies out follow each other, or the last waits for its kernel.
      return std::max(all * a, a + (all - 1) * k) + std::max(all * d, k + d);
    case ImplicitSync::end: return std::max(all * a + k, a + all * k) + all * d;
  }
  throw Error(ErrorKind::usage, "no such implicit synchronization");
}

// ---- Two copy engines ----------------------------------------------------------------------------------------------
// Breadth-first.
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

// No cost to the host.
inline Seconds two_engines(const Stages& chunk, const Stages& latency, std::uint32_t n) {
  const double more = n - 1.0;
  return chunk.sum() + latency.sum() + more * std::max({chunk.h2d, chunk.kernel, chunk.d2h});
}

inline Seconds two_engines_depth_first(const Stages& chunk, const Stages& latency, const Stages& issue,
                                       std::uint32_t n) {
  const auto [a, k, d] = chunk;
  const auto [lh, lk, ld] = latency;
  const auto [oh, ok, od] = issue;
  const Seconds w = issue.sum();  // the host's pace: a chunk is issued whole
  const double more = n - 1.0;
  return std::max({oh + a + lh + k + lk + d + ld + more * std::max({a, k, d, w}),
                   oh + ok + k + lk + d + ld + more * std::max({k, d, w}), w + d + ld + more * std::max(d, w)});
}

// ---- The longest stage M and the others S: M + S/n + (n - 1) g -----------------------------------------------------
// g is what one more chunk costs the longest stage's engine; t_sc belongs to it where creation is timed.
inline Seconds dominant_stage(const Stages& whole, Seconds g, double n) {
  const Seconds longest = std::max({whole.h2d, whole.kernel, whole.d2h});
  return longest + (whole.sum() - longest) / n + (n - 1) * g;
}

// The optimum of it: sqrt(S/g); at least 1.
inline double dominant_stage_optimum(const Stages& whole, Seconds g) {
  const Seconds longest = std::max({whole.h2d, whole.kernel, whole.d2h});
  return std::max(1.0, std::sqrt((whole.sum() - longest) / g));
}

// ---- A kernel's last wave ------------------------------------------------------------------------------------------
// Compute time of n chunks, one after the other, over that of slots never empty: n M ceil(B/(n M))/B.
inline double tail_inflation(std::uint64_t blocks, std::uint64_t slots, double n) {
  const double at_once = n * static_cast<double>(slots), all = static_cast<double>(blocks);
  return at_once * std::ceil(all / at_once) / all;
}

// ---- Both directions at once ---------------------------------------------------------------------------------------
// Two copies that begin together, each a fixed time and then bytes, slowed while the other is there: when the later
// ends. With t_i = fixed_i + slow_i transfer_i, t_1 < t_2: t_1 (1 - 1/slow_2) + transfer_2 + fixed_2/slow_2, while
// t_1 >= fixed_2.
struct Copy {
  Seconds fixed{0}, transfer{0};
  double slow = 1;
};
inline Seconds both_directions(const Copy& one, const Copy& other) {
  const auto beside = [](const Copy& c) { return c.fixed + c.slow * c.transfer; };
  const bool in_order = beside(one) <= beside(other);
  const Copy &first = in_order ? one : other, &second = in_order ? other : one;
  // Only bytes are slowed: nothing is where the first ends before the second's bytes begin.
  const Seconds together = std::max(Seconds{0}, beside(first) - second.fixed);
  return second.fixed + second.transfer + together * (1 - 1 / second.slow);
}

}  // namespace npgpu::models
