// The results of a whole trace, computed once for all reports. REQUIRES: the trace outlives them, and does not change.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   const npgpu::TraceResults all(trace);  // once for several reports
//   npgpu::report_text(std::cout, all, {.width = 80});
//   npgpu::report_json(std::cout, all);
#pragma once

#include <vector>

#include "npgpu/collective_figures.hpp"
#include "npgpu/derive.hpp"
#include "npgpu/drift.hpp"
#include "npgpu/energy_figures.hpp"
#include "npgpu/matrix_verdict.hpp"
#include "npgpu/messages.hpp"
#include "npgpu/partition_model.hpp"
#include "npgpu/piece_advice.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/roofline.hpp"
#include "npgpu/soak_figures.hpp"

namespace npgpu {

struct TraceResults {
  const Trace& trace;  // must outlive this
  std::vector<Drift> drifts;
  std::vector<BesideOthers> beside;
  BusySibling sibling;
  std::vector<EnergyFigure> energies;
  std::vector<Roofline> rooflines;
  std::vector<SoakDevice> soaks;
  std::vector<PieceTable> pieces;
  std::vector<StagedMessages> messages;
  std::vector<PartitionStudy> partitions;
  std::vector<MeasuredCosts> costs;  // of streams
  std::vector<DeviceParameters> derived;
  NodeMatrix matrix;
  MatrixVerdict verdict;  // of the matrix
  std::vector<CollectiveStudy> collectives;

  explicit TraceResults(const Trace&);
};

}  // namespace npgpu
