// A job as a CUDA graph: what that costs, whether it is faster than the same calls in streams, and what is predicted of
// jobs that were measured both ways. Pure functions.
//
// Example:
//   const npgpu::MeasuredCosts costs = npgpu::stream_costs(npgpu::read_trace("node.h5")).at(0);
//   const npgpu::Job job{.in_bytes = npgpu::MiB, .out_bytes = npgpu::MiB, .kernel = npgpu::Seconds{50e-6}};
//   const auto order = npgpu::Order::breadth_first;
//   const std::vector<std::uint32_t> counts = npgpu::stream_counts(16);
//   const npgpu::Prediction of_streams = npgpu::choose_streams(job, costs.costs, order, counts);
//   const std::vector<npgpu::SplitTime> splits = npgpu::one_chunk_a_stream(of_streams, order);
//   const npgpu::GraphAdvice graph = npgpu::advise_graph(job, costs.costs, costs.graph.value(), order, counts,
//                                                        npgpu::advised_streams(splits));
//   std::cout << "streams: " << npgpu::microseconds(of_streams.time)
//             << " us, a graph: " << npgpu::microseconds(graph.best.run.total) << " us\n";
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/predict.hpp"

namespace npgpu {

// A job in chunks that go round the streams. With as many chunks as streams, each chunk has memory of its own. With
// more, the chunks take turns: a stream's next chunk is copied in when its last one has been copied out, so that the
// host has to issue them depth-first.
struct SplitTime {
  std::uint32_t chunks = 1, streams = 1;
  Order order = Order::breadth_first;
  StreamRun run{};
};

// Of that device of the trace; nothing where graphs of fewer than two sizes were launched. From jobs that were launched
// as graphs, where there are some. Else from calls that launch graphs of kernels none of which waits for another, each
// alone on an idle device: a node of a job is taken for one of those, because it runs on another engine than the nodes
// before and behind it.
std::optional<GraphCosts> graph_costs(const Trace&, const std::string& device, const std::string& device_uuid);

// The same device, where one call launches all of a job in n chunks: the call's own time first, and then the same for
// each node.
StreamCosts as_graph(const StreamCosts&, const GraphCosts&, const Job&, std::uint32_t chunks);
std::uint32_t nodes_of(const Job&, std::uint32_t chunks);

// A graph has a chain of copy, kernel and copy for each chunk.
struct GraphAdvice {
  SplitTime best, advised;               // streams: chains; advised: the fewest within 1 % of the best
  std::optional<Seconds> instantiate{};  // of the advised one
  // How much sooner the advised graph ends than the advised streams do, as a share of their time; below 0: later.
  double gain = 0;
  std::optional<double> pays_after{};  // launches; nothing where it gains less than 1 %, or that is not known
};
GraphAdvice advise_graph(const Job&, const StreamCosts&, const GraphCosts&, Order,
                         std::span<const std::uint32_t> candidates, const SplitTime& advised_streams);

// ---- measured graphs beside measured streams
// ---------------------------------------------------------------------------

// A workload that was measured both ways. The kernel's time is as job_of() takes it from the unsplit job in a stream.
struct GraphComparison {
  MeasuredWorkload streams, graph;
  double kernel_us = not_measured;
  std::vector<double> streams_us, graph_us;  // predicted, for each split
};
// Those that both were measured of. Throws Error(usage) where the costs of graphs are not known.
std::vector<GraphComparison> compare_graphs(std::span<const MeasuredWorkload> streams,
                                            std::span<const MeasuredWorkload> graphs, const MeasuredCosts&);

}  // namespace npgpu
