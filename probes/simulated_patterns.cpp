// The probes onchip, access, atomics, divergence, reduction, product and staging on simulated devices. A warp's access
// takes the cycles or the sectors that the device's own banks, lines and sectors make of it; the latencies of these
// memories are not modelled, because the probes keep enough in flight to hide them.
#include <cmath>

#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/patterns.hpp"
#include "probes/simulated.hpp"

namespace npgpu::simulated {

namespace {

double warps_of(const Shape& s) { return std::ceil(static_cast<double>(s.threads) / warp_threads); }
constexpr double no_limit = std::numeric_limits<double>::infinity();

Repeat reads(const Shape& s) {
  Repeat repeat;
  repeat.step.instructions = s.ilp;
  repeat.work = static_cast<double>(s.ilp) * s.access_bytes * s.threads * s.blocks;
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

// A set that no cache here holds comes from memory.
double beyond_l2(const Shape& s, const Multiprocessors& m) {
  return static_cast<double>(s.bytes) <= m.l2_bytes ? m.l2_bytes_per_s : m.bus_bytes_per_s;
}

Repeat onchip_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat = reads(s);
  const double accesses = warps_of(s) * s.ilp;
  if (c.space == Space::shared) {
    const double pass_bytes = static_cast<double>(m.shared_banks) * word_bytes;
    repeat.sm_bytes_per_cycle = pass_bytes;
    repeat.step.block_bytes =
        accesses * shared_cycles(s.stride, warp_threads, m.shared_banks, m.bank_bytes) * pass_bytes;
  } else if (c.space == Space::constant) {
    repeat.sm_bytes_per_cycle = m.constant_bytes_per_cycle;
    repeat.step.block_bytes = accesses * pieces(s.stride, 0, warp_threads, word_bytes) * warp_threads * word_bytes;
  } else {
    const double bytes = static_cast<double>(s.ilp) * s.access_bytes * s.threads;
    const bool in_l1 = c.space == Space::l1 && static_cast<double>(s.bytes) <= m.l1_bytes;
    repeat.step.block_bytes = c.space == Space::l1 ? bytes : 0;
    repeat.sm_bytes_per_cycle = m.l1_bytes_per_cycle;
    repeat.step.block_bus_bytes = in_l1 ? 0 : bytes;
    repeat.all_bytes_per_s = in_l1 ? no_limit : beyond_l2(s, m);
  }
  return repeat;
}

Repeat access_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat = reads(s);
  const double accesses = warps_of(s) * s.ilp;
  const auto touched = [&](std::uint32_t bytes) {
    return accesses * pieces(s.stride, s.offset_bytes, warp_threads, bytes) * bytes;
  };
  if (c.space == Space::l1) {
    repeat.sm_bytes_per_cycle = m.l1_bytes_per_cycle;
    repeat.step.block_bytes = touched(m.line_bytes);
  } else {
    repeat.step.block_bus_bytes = touched(m.sector_bytes);
    repeat.all_bytes_per_s = beyond_l2(s, m);
  }
  return repeat;
}

Repeat atomics_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat = reads(s);
  repeat.work = static_cast<double>(s.ilp) * s.threads * s.blocks;
  if (c.space == Space::shared) {
    const double cycles = s.stride == 0 ? std::ceil(static_cast<double>(warp_threads) / m.shared_atomic_lanes)
                                        : shared_cycles(s.stride, warp_threads, m.shared_banks, m.bank_bytes);
    repeat.step.block_bytes = warps_of(s) * s.ilp * cycles;  // a cycle as a byte
    repeat.sm_bytes_per_cycle = 1;
  } else {
    repeat.step.block_bus_bytes = static_cast<double>(s.ilp) * s.threads;  // an addition as a byte
    repeat.all_bytes_per_s = s.stride == 0 ? m.l2_atomics_one_word_per_s : m.l2_atomics_per_s;
  }
  return repeat;
}

Repeat divergence_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double steps = patterns::branch_steps * ways_taken(s.stride, s.ways, s.threads, m.branch_lanes);
  repeat.step.instructions = steps;
  repeat.step.latency_cycles = steps * m.fma_latency_cycles;
  repeat.work = operations_of_an_fma * patterns::branch_steps * s.threads * s.blocks;
  return repeat;
}

// What a block of a rung issues to add its words up, for each of its warps: for each pass in which a warp has a lane at
// work some instructions, and a barrier for all warps; where lanes meet in banks, as much longer.
double tail_of_rung(std::uint32_t rung, const Multiprocessors& m) {
  constexpr double of_pass = 8, of_barrier = 3, of_shuffle = 2;
  const std::uint32_t threads = patterns::rung_threads, warps = threads / warp_threads;
  const double passes = std::log2(threads), of_last_warp = std::log2(warp_threads) + 1;
  if (rung == patterns::rungs) return 2 * of_shuffle * std::log2(warp_threads) + of_barrier;
  if (rung == 1) return of_pass * reduction_warps(threads, true) / warps + of_barrier * passes;
  double work = of_pass * reduction_warps(threads, false);
  if (rung == 2)
    for (std::uint32_t s = 1; s < threads; s *= 2)
      work += std::ceil(threads / (2.0 * s) / warp_threads) *
              shared_cycles(2 * s, std::min(threads / (2 * s), warp_threads), m.shared_banks, m.bank_bytes);
  return work / warps + of_barrier * (rung < 5 ? passes : passes - of_last_warp);
}

Repeat reduction_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double step_bytes = static_cast<double>(s.ilp) * s.access_bytes * s.threads;
  repeat.steps = std::max(1.0, static_cast<double>(s.bytes) / (step_bytes * s.blocks));
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = s.ilp * (1 + s.access_bytes / word_bytes) + tail_of_rung(s.rung, m) / repeat.steps;
  repeat.step.block_bytes = repeat.step.block_bus_bytes = step_bytes;
  repeat.work = static_cast<double>(s.bytes);
  return repeat;
}

// No cache: each thread's words come from memory, or once for a tile; reads of a tile cost nothing. A step is a tile of
// each matrix, or one word.
Repeat product_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double n = patterns::rows_of_matrix(s), tile = s.rung == 2 ? patterns::tile_of(s) : 1;
  repeat.steps = n / tile;
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = s.rung == 2 ? 2 + tile : 3;
  repeat.step.block_bytes = repeat.step.block_bus_bytes = 2.0 * word_bytes * s.threads;
  repeat.sm_bytes_per_cycle = no_limit;
  repeat.work = operations_of_an_fma * n * n * n;
  return repeat;
}

// A step brings in as many tiles as are under way; nothing hides the latency but them and other blocks.
Repeat staging_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double tiles = std::floor(static_cast<double>(s.bytes) / patterns::tile_bytes / s.blocks);
  repeat.steps = tiles / s.ilp;
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = s.ilp * (s.rung == 1 ? 12 : s.rung == patterns::staging_rungs ? 6 : 10);
  repeat.step.block_bytes = repeat.step.block_bus_bytes = static_cast<double>(s.ilp) * patterns::tile_bytes;
  repeat.work = tiles * patterns::tile_bytes * s.blocks;
  return repeat;
}

std::vector<ProbeCase> reads_of(const char* probe, const std::string& device, std::initializer_list<Space> spaces) {
  std::vector<ProbeCase> all;
  for (const Space space : spaces)
    all.push_back({.probe = probe, .device = device, .operation = Operation::read, .space = space});
  return all;
}

class SimulatedOnchip final : public SimulatedProbe {
 public:
  SimulatedOnchip() : SimulatedProbe(Need::onchip, onchip_repeat) {}
  std::string_view name() const override { return "onchip"; }
  std::string_view summary() const override {
    return "reads of shared memory, L1, L2 and constants on simulated devices; no measurement";
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    return patterns::onchip_shapes(context(c).layout, c.space);
  }
  std::vector<Shape> default_shapes(const ProbeCase& c) const override {
    return patterns::usual_onchip_shapes(context(c).layout, c.space);
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return reads_of("onchip", device, {Space::shared, Space::l1, Space::l2, Space::constant});
  }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return patterns::refuses_onchip(c, s);
  }
  Limit limit(const ProbeCase& c, const Multiprocessors& m) const override {
    const double all = m.sms * m.max_clock_hz;
    if (c.space == Space::shared) return {all * m.shared_banks * word_bytes, "the spec: banks * 4 bytes * SMs * clock"};
    if (c.space == Space::l1) return {all * m.l1_bytes_per_cycle, "the spec: l1_bytes_per_cycle * SMs * clock"};
    if (c.space == Space::l2) return {m.l2_bytes_per_s, "the spec: l2_gb_s"};
    return {all * m.constant_bytes_per_cycle, "the spec: constant_bytes_per_cycle * SMs * clock"};
  }
};

class SimulatedAccess final : public SimulatedProbe {
 public:
  SimulatedAccess() : SimulatedProbe(Need::onchip, access_repeat) {}
  std::string_view name() const override { return "access"; }
  std::string_view summary() const override {
    return "loads of a warp by stride and offset on simulated devices; no measurement";
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    return patterns::access_shapes(context(c).layout, c.space);
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return reads_of("access", device, {Space::l2, Space::l1});
  }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return patterns::refuses_access(c, s);
  }
  Limit limit(const ProbeCase&, const Multiprocessors&) const override {
    return {not_measured, "none: a pattern's cost is held against the law of sectors or lines"};
  }
};

class SimulatedAtomics final : public SimulatedProbe {
 public:
  SimulatedAtomics() : SimulatedProbe(Need::atomics, atomics_repeat) {}
  std::string_view name() const override { return "atomics"; }
  std::string_view summary() const override { return "atomic additions on simulated devices; no measurement"; }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    return patterns::atomics_shapes(context(c).layout, c.space);
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override { return patterns::atomics_cases(device); }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return patterns::refuses_atomics(c, s);
  }
  Limit limit(const ProbeCase& c, const Multiprocessors& m) const override {
    if (c.space == Space::global) return {m.l2_atomics_per_s, "the spec: l2_atomics_g_s"};
    return {m.max_clock_hz * m.sms * m.shared_banks, "the spec: banks * SMs * clock"};
  }
};

class SimulatedDivergence final : public SimulatedProbe {
 public:
  SimulatedDivergence() : SimulatedProbe(Need::compute, divergence_repeat) {}
  std::string_view name() const override { return "divergence"; }
  std::string_view summary() const override { return "branches of several ways on simulated devices; no measurement"; }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    return patterns::divergence_shapes(context(c).layout);
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return {patterns::divergence_case(device)};
  }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return patterns::refuses_divergence(c, s);
  }
  Limit limit(const ProbeCase&, const Multiprocessors& m) const override {
    return {operations_of_an_fma * m.lanes * m.sms * m.max_clock_hz, "the spec: 2 * lanes * SMs * clock"};
  }
};

class SimulatedReduction final : public SimulatedProbe {
 public:
  SimulatedReduction() : SimulatedProbe(Need::memory, reduction_repeat) {}
  std::string_view name() const override { return "reduction"; }
  std::string_view summary() const override { return "the ladder of reductions on simulated devices; no measurement"; }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return patterns::reduction_shapes(context(c).layout); }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return {patterns::reduction_case(device)};
  }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return patterns::refuses_reduction(c, s);
  }
  Limit limit(const ProbeCase& c, const Multiprocessors&) const override { return devices::find(c.device).memory; }
};

class SimulatedProduct final : public SimulatedProbe {
 public:
  SimulatedProduct() : SimulatedProbe(Need::memory, product_repeat) {}
  std::string_view name() const override { return "product"; }
  std::string_view summary() const override { return "products of matrices on simulated devices; no measurement"; }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return patterns::product_shapes(context(c).layout); }
  MemoryNeed needs(std::span<const ProbeStep> steps) const override { return {0, 3 * max_bytes_of(steps)}; }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return {patterns::product_case(device)};
  }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return patterns::refuses_product(c, s);
  }
  Limit limit(const ProbeCase&, const Multiprocessors& m) const override {
    return {operations_of_an_fma * m.lanes * m.sms * m.max_clock_hz, "the spec: 2 * lanes * SMs * clock"};
  }
};

class SimulatedStaging final : public SimulatedProbe {
 public:
  SimulatedStaging() : SimulatedProbe(Need::memory, staging_repeat) {}
  std::string_view name() const override { return "staging"; }
  std::string_view summary() const override {
    return "tiles brought into shared memory on simulated devices; no measurement";
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return patterns::staging_shapes(context(c).layout); }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return {patterns::staging_case(device)};
  }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return patterns::refuses_staging(c, s);
  }
  Limit limit(const ProbeCase& c, const Multiprocessors&) const override { return devices::find(c.device).memory; }
};

}  // namespace
}  // namespace npgpu::simulated

NPGPU_REGISTERED(Probe, npgpu::simulated::SimulatedOnchip, npgpu::simulated::SimulatedAccess,
                 npgpu::simulated::SimulatedAtomics, npgpu::simulated::SimulatedDivergence,
                 npgpu::simulated::SimulatedReduction, npgpu::simulated::SimulatedProduct,
                 npgpu::simulated::SimulatedStaging)
