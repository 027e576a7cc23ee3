// What a matrix comes to: what is broken, slow, missing, not judged, or right; a finding for each place.
#pragma once

#include <string>
#include <vector>

#include "netpipe/model/matrix/causes.hpp"
#include "netpipe/model/matrix/rulings.hpp"

namespace npgpu::model {

// Copies of many lanes at once that have no figure, and why. Nobody knows which of the lanes it was.
struct MissingLanes {
  std::string name, why;
};

// Broken, slow, failed, undecided, not judged, warned of, skipped, passed: 0, 1, ...
int rank_of_finding(const HealthFinding&);

// The most serious first. `rulings` are of the node's matrices.
std::vector<NodeFinding> findings_of_matrix(const MatrixEvidence&, const std::vector<CellRuling>& rulings,
                                            const std::vector<CopyResults>&, const std::vector<MissingLanes>&);

// The matrix of all copies between GPUs, whether or not the trace has enough of them for tables; empty where no case
// has several GPUs.
NodeMatrix matrix_of_copies(const Trace&);

// Those of the trace's matrix, and of any other copies between GPUs; empty where no case has several GPUs.
std::vector<NodeFinding> findings_between_gpus(const Trace&);

}  // namespace npgpu::model
