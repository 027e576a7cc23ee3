// The figure that stands for a point where it has only one: in the table of --summary.
#pragma once

#include <string_view>

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

}  // namespace npgpu
