#include "netpipe/report/point_figures.hpp"

#include <cmath>

#include "npgpu/probe_description.hpp"

namespace npgpu {

Estimate figure_of(const TransferCase& c, const TransferResult& r) {
  return {r.rate.value, r.rate.low, r.rate.high, work_unit(c) + "/s", r.time_us.method};
}
Estimate figure_of(const ProbeCase& c, const ProbeResult& r) {
  if (counted_of(c).each_waits()) return {1e9 / r.rate.value, 1e9 / r.rate.high, 1e9 / r.rate.low, "ns", r.rate.method};
  return {r.rate.value, r.rate.low, r.rate.high, work_unit(c) + "/s", r.rate.method};
}

Estimate figure_of(const EnergyCase& c, const EnergyResult& r) {
  if (is_idle(c.work)) return r.power_w;
  const double pj = 1e12 / r.rate.value;  // the scatter is that of the power
  return {r.power_w.value * pj, r.power_w.low * pj, r.power_w.high * pj, "pJ", r.power_w.method};
}

Estimate figure_of(const SoakCase& c, const SoakResult& r) {
  return {r.rate.value, r.rate.low, r.rate.high,
          counts_operations(c.load) || c.load == SoakLoad::together ? "FLOP/s" : "B/s", r.rate.method};
}

Estimate figure_of(const CollectiveCase&, const CollectiveResult& r) {
  return {r.bus_rate.value, r.bus_rate.low, r.bus_rate.high, "B/s", r.time_us.method};
}

std::string_view counted_in(const TransferCase&, const TransferResult&) { return "payload bytes"; }
std::string_view counted_in(const ProbeCase& c, const ProbeResult&) { return counted_of(c).words; }
std::string_view counted_in(const JobCase& c, const JobResult&) {
  return c.gating == Gating::gated ? "device time of a job" : "time of a job";
}
std::string_view counted_in(const CallCase&, const CallResult& r) {
  return std::isfinite(r.done_us.value) ? "time of a call until its work is done" : "time of a call until it returns";
}
std::string_view counted_in(const EnergyCase& c, const EnergyResult&) {
  if (is_idle(c.work)) return "power of the whole device";
  return counts_operations(c.work) ? "energy of an operation, idle included" : "energy of a byte, idle included";
}
std::string_view counted_in(const SoakCase& c, const SoakResult&) {
  if (c.load == SoakLoad::together) return "operations of tensor cores, with other loads";
  return counts_operations(c.load) ? "operations" : "bytes";
}
std::string_view counted_in(const PieceCase&, const PieceResult&) { return "time of a copy of all pieces"; }
std::string_view counted_in(const CollectiveCase&, const CollectiveResult&) { return "bytes of the bus bandwidth"; }
std::string_view counted_in(const PartitionCase&, const PartitionResult&) { return "time of a solution"; }

}  // namespace npgpu
