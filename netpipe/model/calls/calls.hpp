// What a trace says of calls: each summarized, and graphs compared with the same kernels launched call by call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu::model {

// Kernels of one form and number, alone: in a graph, and launched one by one. NaN: not measured.
struct GraphRow {
  GraphForm form = GraphForm::chain;
  std::uint32_t nodes = 0;
  Estimate launches_us, graph_us;            // until done
  Estimate launches_host_us, graph_host_us;  // until the call, or the last of them, returns
  Estimate default_us;                       // launched one by one, every other in the default stream, until done
  Estimate instantiate_us, update_us;
  // Launches of the graph after which instantiating it was worth it; nothing where it saves nothing (intervals
  // overlap).
  std::optional<double> pays_after;
};
// The rows of one device, by form and number.
std::vector<GraphRow> graph_rows(const std::vector<CallSeries>&, const std::string& device);
// The fewest kernels from which on, at every number measured, the graph is done sooner and the intervals are apart.
std::optional<std::uint32_t> pays_from(const std::vector<GraphRow>&, GraphForm);

// How fast a device's driver clears freed memory, and what that takes from kernels that read; empty where no free was
// followed by slower reads.
std::vector<Parameter> clearing_parameters(const std::vector<const CallSeries*>& of_device);

}  // namespace npgpu::model
