// The figure that stands for a point where it has only one: in the table of --summary, and in the formats of other
// tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "netpipe/report/series_text.hpp"

namespace npgpu {

// In the unit that the kind is known by.
Estimate figure_of(const TransferCase&, const TransferResult&);
Estimate figure_of(const ProbeCase&, const ProbeResult&);
Estimate figure_of(const EnergyCase&, const EnergyResult&);
Estimate figure_of(const SoakCase&, const SoakResult&);
Estimate figure_of(const CollectiveCase&, const CollectiveResult&);
template <class K> Estimate figure_of(const typename K::Case&, const Result<K>& r) { return r.time_us; }
// What it counts, as data/TABLES.md has it.
std::string_view counted_in(const TransferCase&, const TransferResult&);
std::string_view counted_in(const ProbeCase&, const ProbeResult&);
std::string_view counted_in(const JobCase&, const JobResult&);
std::string_view counted_in(const CallCase&, const CallResult&);
std::string_view counted_in(const PartitionCase&, const PartitionResult&);
std::string_view counted_in(const EnergyCase&, const EnergyResult&);
std::string_view counted_in(const SoakCase&, const SoakResult&);
std::string_view counted_in(const PieceCase&, const PieceResult&);
std::string_view counted_in(const CollectiveCase&, const CollectiveResult&);

// A point by a name of its own, as other tools want it.
struct NamedFigure {
  std::string kind{};    // "transfers"
  std::string title{};   // of the series, without its kind; a second one of the same title gets " (2)"
  std::string device{};  // "cuda:0", of the series
  std::string axes{};    // "bytes:1048576", "blocks:132/threads:1024/..."; "/lane:1" where there are several
  Estimate figure{};
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
