#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu {

TraceResults::TraceResults(const Trace& of)
    : trace(of),
      drifts(drifts_of(of)),
      beside(beside_others(of)),
      sibling(busy_sibling(of)),
      energies(energy_figures(of)),
      rooflines(rooflines_of(of)),
      soaks(soak_devices(of)),
      pieces(piece_tables(of)),
      messages(staged_messages(of)),
      partitions(partition_studies(of)),
      costs(stream_costs(of)),
      derived(model::derive(of, costs)),
      matrix(node_matrix(of)),
      verdict(verdict_of(of, matrix)),
      collectives(collective_studies(of, matrix)) {}

}  // namespace npgpu
