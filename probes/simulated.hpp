// What probes of simulated devices share: the time of a repeat is computed, and its result is a few real bytes.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "probes/runner.hpp"

namespace npgpu::simulated {

constexpr double operations_of_an_fma = 2;

inline Grid grid_of(const Shape& s) {
  return {s.blocks, s.threads, s.one_block_per_sm != 0, s.registers, s.shared_bytes};
}

// One repeat of a shape: `steps` equal steps of every thread, and what counts as work.
struct Repeat {
  WarpStep step;
  double steps = 1, work = 0;
  // Where the answer comes from elsewhere than memory: its rates in place of the device's.
  double sm_bytes_per_cycle = std::numeric_limits<double>::quiet_NaN();
  double all_bytes_per_s = std::numeric_limits<double>::quiet_NaN();
};
using RepeatOf = Repeat (*)(const ProbeCase&, const Shape&, const Multiprocessors&);

// One probe on simulated devices: how long it takes, and what its description cannot say. What is null is as the
// description has it.
struct SimulatedParts {
  std::string_view name{};
  Need need = Need::compute;
  RepeatOf repeat = nullptr;
  std::vector<ProbeCase> (*cases)(const std::string& device) = nullptr;
  std::vector<Shape> (*shapes)(const ProbeCase&, const Layout&) = nullptr;
  std::optional<std::string> (*refuses)(const ProbeCase&, const Shape&) = nullptr;  // after the description
  Limit (*limit)(const ProbeCase&, const Multiprocessors&) = nullptr;
  std::uint64_t arrays = 1;  // that a shape takes, of its bytes each
};

class SimulatedProbe final : public Probe {
 public:
  SimulatedProbe(const SimulatedParts& parts) : it_(parts) {}
  std::string_view name() const override { return it_.name; }
  std::string_view device_kind() const override { return "sim"; }
  bool takes_operands(const ProbeCase&, Operands) const override { return true; }  // its time does not depend on them
  std::vector<ProbeCase> cases(const std::string& device) const override;
  std::vector<Shape> shapes(const ProbeCase& c) const override;
  std::vector<Shape> default_shapes(const ProbeCase& c) const override;
  std::optional<std::string> refuses_case(const ProbeCase&) const override;
  std::optional<std::string> refuses_shape(const ProbeCase&, const Shape&) const override;
  ProbeContext context(const ProbeCase&) const override;
  MemoryNeed needs(std::span<const ProbeStep> steps) const override { return {0, it_.arrays * max_bytes_of(steps)}; }
  MemoryNeed available(const ProbeCase&) const override;
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override;

 private:
  std::vector<ProbeCase> questions(const std::string& device) const;  // all that it knows to ask, of any device

  SimulatedParts it_;
};
using Simulated = Joined<Probe, SimulatedProbe>;

// ---- what several of them have --------------------------------------------------------------------------------------

constexpr double no_limit = std::numeric_limits<double>::infinity();
inline double warps_of(const Shape& s) { return std::ceil(static_cast<double>(s.threads) / warp_threads); }
Limit fma_limit(const ProbeCase&, const Multiprocessors&);  // multiply-adds of all lanes of the type
// How often a multiply-add of this type takes the time of one of fp32: lanes of fp32 over those of the type.
double issues_of_fma(const ProbeCase&, const Multiprocessors&);
Limit memory_limit(const ProbeCase&, const Multiprocessors&);  // the memory's own
// `ilp` accesses of each thread. Latencies of memories on the chip are not modelled: enough is in flight to hide them.
Repeat reads(const Shape&);
double beyond_l2(const Shape&, const Multiprocessors&);  // bytes per second of a set that only L2 or memory holds

}  // namespace npgpu::simulated
