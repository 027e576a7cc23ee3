// What a trace says of calls: each summarized, and graphs held against the same kernels launched call by call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npgpu/model.hpp"

namespace npgpu::model {

// One point: medians over trials, with nonparametric intervals, in us of one call.
struct CallSummary {
  CallShape shape;
  std::uint32_t trials = 0;
  Stop stop = Stop::trials;
  std::string disturbed{};  // as in PointSummary
  bool wrong = false;       // its work was checked and wrong
  Estimate host_us;         // until the call returns; back-to-back: its share of the row
  Estimate done_us;         // until its work is done; NaN where it leaves none

  const Estimate& main_us() const { return done_us.value > 0 ? done_us : host_us; }
};
CallSummary summarize(const CallSeries&, const CallPoint&);
std::vector<CallSummary> summarize(const CallSeries&);  // by shape

// Kernels of one form and number, alone: in a graph, and launched one by one. NaN: not measured.
struct GraphRow {
  GraphForm form = GraphForm::chain;
  std::uint32_t nodes = 0;
  Estimate launches_us, graph_us;            // until done
  Estimate launches_host_us, graph_host_us;  // until the call, or the last of them, returns
  Estimate instantiate_us, update_us;
  // Launches of the graph after which instantiating it was worth it; nothing where it saves nothing (intervals
  // overlap).
  std::optional<double> pays_after;
};
// Of one device, by form and number.
std::vector<GraphRow> graph_rows(const std::vector<CallSeries>&, const std::string& device);
// The fewest kernels from which on, at every number measured, the graph is done sooner and the intervals are apart.
std::optional<std::uint32_t> pays_from(const std::vector<GraphRow>&, GraphForm);

}  // namespace npgpu::model
