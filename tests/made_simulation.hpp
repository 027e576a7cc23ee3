// Made jobs played through their nodes, for the tests of what is told of that.
#pragma once

#include "npgpu/report/report.hpp"
#include "tests/made_chunks.hpp"

namespace npgpu {

inline Simulation simulation_of(const MadeJob& m, std::uint32_t n, Order order = Order::breadth_first) {
  Simulation s;
  s.node = "sim:made";
  s.job = m.job;
  s.costs = m.costs;
  s.order = order;
  s.streams = n;
  s.timeline = simulate(m.job, n, m.costs, order);
  s.prediction = choose_streams(m.job, m.costs, order, stream_counts(n));
  return s;
}

}  // namespace npgpu
