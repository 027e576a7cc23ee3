// The figure that stands for a point where it has only one: in the table of --summary, and in the formats of other
// tools.
#pragma once

#include <string>
#include <vector>

#include "netpipe/report/series_text.hpp"

namespace npgpu {

// In the unit that the kind is known by. `counts`: what the value counts, as data/TABLES.md has it.
struct PointFigure {
  double value = not_measured, low = not_measured, high = not_measured;
  std::string unit{};
  const char* counts = "";
};
PointFigure point_figure(const TransferSeries&, const PointResult<Transfers>&);
PointFigure point_figure(const ProbeSeries&, const PointResult<Probes>&);
PointFigure point_figure(const JobSeries&, const PointResult<Jobs>&);
PointFigure point_figure(const CallSeries&, const PointResult<Calls>&);
PointFigure point_figure(const PartitionSeries&, const PointResult<Partitions>&);

// A point by a name of its own, as other tools want it.
struct NamedFigure {
  std::string kind{};    // "transfers"
  std::string title{};   // of the series, without its kind; a second one of the same title gets " (2)"
  std::string device{};  // "cuda:0", of the series
  std::string axes{};    // "bytes:1048576", "blocks:132/threads:1024/..."; "/lane:1" where there are several
  PointFigure figure{};
  Estimate time_us{};
  std::uint64_t trials = 0;
  std::string why_unusable{};  // empty: it is usable

  // "transfers/cudaMemcpy cuda:0 h2d pinned stream async gated/bytes:1048576": the same in every trace that holds the
  // same series.
  std::string name() const { return kind + '/' + title + '/' + axes; }
};
// Of all kinds of a trace, in its order.
std::vector<NamedFigure> named_figures(const Trace&);

}  // namespace npgpu
