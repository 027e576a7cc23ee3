// Exact times of n equal chunks on one or two copy engines. Each is the longest of the chains of operations that could
// hold the end up: a first chunk that fills the pipe, then n - 1 more at the pace of the slowest that is left.
#include <algorithm>

#include "npgpu/closed_forms.hpp"
#include "npgpu/error.hpp"

namespace npgpu::models {

Seconds one_engine_breadth_first(const Stages& chunk, std::uint32_t n) {
  const auto [a, k, d] = chunk;
  const double all = n;
  // The first two are (1) and (3) of Gomez-Luna et al. 2012.
  return std::max({all * (a + d), a + all * k + d, all * a + k + d, a + k + all * d});
}

Seconds one_engine_depth_first(const Stages& chunk, std::uint32_t n) { return n * chunk.sum(); }

Seconds one_engine_implicit_sync(const Stages& chunk, std::uint32_t n, ImplicitSync sync) {
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

Seconds two_engines(const Stages& chunk, const Stages& latency, std::uint32_t n) {
  const double more = n - 1.0;
  return chunk.sum() + latency.sum() + more * std::max({chunk.h2d, chunk.kernel, chunk.d2h});
}

Seconds two_engines_depth_first(const Stages& chunk, const Stages& latency, const Stages& issue, std::uint32_t n) {
  const auto [a, k, d] = chunk;
  const auto [lh, lk, ld] = latency;
  const auto [oh, ok, od] = issue;
  const Seconds w = issue.sum();  // the host's pace: a chunk is issued whole
  const double more = n - 1.0;
  return std::max({oh + a + lh + k + lk + d + ld + more * std::max({a, k, d, w}),
                   oh + ok + k + lk + d + ld + more * std::max({k, d, w}), w + d + ld + more * std::max(d, w)});
}

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
