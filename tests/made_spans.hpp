// What is read from a simulated timeline.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "exact_forms.hpp"
#include "made_chunks.hpp"
#include "netpipe/simulate/simulator.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace made_spans {

using namespace npgpu;

struct Span {
  double start, end;  // ms
};
inline Span span_of(const Timeline& t, Stage stage, std::uint32_t chunk, bool host = false) {
  for (const TimelineEntry& e : t.entries)
    if (e.stage == stage && e.chunk == chunk && (e.server == Server::host) == host)
      return {in_ms(e.start), in_ms(e.end)};
  FAIL("no such operation");
  return {};
}
inline void check(const Span& s, double start, double end) {
  CHECK(s.start == doctest::Approx(start));
  CHECK(s.end == doctest::Approx(end));
}
inline double total(const MadeJob& m, std::uint32_t n, Order order = Order::breadth_first) {
  return in_ms(simulate_total(m.job, n, m.costs, order).total);
}
inline MadeJob only_kernels(double whole_ms, std::uint64_t blocks, std::uint64_t slots) {
  MadeJob m;
  m.job.kernel = Seconds{whole_ms * 1e-3};
  m.job.blocks = blocks;
  m.job.slots = slots;
  return m;
}

}  // namespace made_spans
