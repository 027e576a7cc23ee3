// A job as a CUDA graph: its costs, whether it is faster than the same calls in streams, and predictions for jobs that
// were measured both ways. Pure functions.
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

// A job in chunks, which are dealt to the streams in turn. With as many chunks as streams, each chunk has memory of its
// own. With more, the chunks of a stream share memory: the next one is copied in when the last one has been copied out,
// so that the host has to issue them depth-first.
struct SplitTime {
  std::uint32_t chunks = 1, streams = 1;
  Order order = Order::breadth_first;
  StreamRun run{};
};

// The costs of graphs on one device of the trace. They come from jobs that were launched as graphs, where there are
// some. Otherwise they come from calls that launch graphs of independent kernels, alone on an idle device: a job's node
// runs on another engine than the nodes before and after it, and so counts as one of these. Nothing where graphs of
// fewer than two sizes were launched.
std::optional<GraphCosts> graph_costs(const Trace&, const std::string& device, const std::string& device_uuid);

// The costs of the same device where one call launches a whole job in so many chunks: first the time of the call
// itself, then an equal time for each node.
StreamCosts as_graph(const StreamCosts&, const GraphCosts&, const Job&, std::uint32_t chunks);
std::uint32_t nodes_of(const Job&, std::uint32_t chunks);

// Advice on a job as a graph, which has a chain of copy, kernel and copy for each chunk.
struct GraphAdvice {
  SplitTime best, advised;               // streams: chains; advised: the fewest within 1 % of the best
  std::optional<Seconds> instantiate{};  // of the advised one
  // The time that the advised graph saves over the advised streams, as a share of theirs; below 0: it takes longer.
  double gain = 0;
  std::optional<double> pays_after{};  // launches; nothing where it saves less than 1 %, or that is not known
};
GraphAdvice advise_graph(const Job&, const StreamCosts&, const GraphCosts&, Order,
                         std::span<const std::uint32_t> candidates, const SplitTime& advised_streams);

// ---- measured graphs and measured streams ---------------------------------------------------------------------------

// A workload that was measured both ways. The kernel's time is that of job_of(), from the unsplit job in a stream.
struct GraphComparison {
  MeasuredWorkload streams, graph;
  double kernel_us = not_measured;
  std::vector<double> streams_us, graph_us;  // predicted, for each split
};
// The workloads in both lists. Throws Error(usage) where the costs of graphs are not known.
std::vector<GraphComparison> compare_graphs(std::span<const MeasuredWorkload> streams,
                                            std::span<const MeasuredWorkload> graphs, const MeasuredCosts&);

}  // namespace npgpu
