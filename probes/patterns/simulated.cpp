// Patterns on simulated devices.
#include "probes/simulated.hpp"

#include <cmath>

#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::simulated {

namespace {

// ---- onchip ---------------------------------------------------------------------------------------------------------

// A warp's access takes the cycles that the device's own banks make of it, or the sectors and lines that it touches.

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

const Simulated onchip_probe(
    {{.name = "onchip",
      .need = Need::onchip,
      .repeat = onchip_repeat,
      .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
        const double all = m.sms * m.max_clock_hz;
        if (c.space == Space::shared)
          return {all * m.shared_banks * word_bytes, "the spec: banks * 4 bytes * SMs * clock"};
        if (c.space == Space::l1) return {all * m.l1_bytes_per_cycle, "the spec: l1_bytes_per_cycle * SMs * clock"};
        if (c.space == Space::l2) return {m.l2_bytes_per_s, "the spec: l2_gb_s"};
        return {all * m.constant_bytes_per_cycle, "the spec: constant_bytes_per_cycle * SMs * clock"};
      }}});

// ---- access ---------------------------------------------------------------------------------------------------------

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

const Simulated access_probe({{.name = "access", .need = Need::onchip, .repeat = access_repeat}});

// ---- atomics --------------------------------------------------------------------------------------------------------

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

const Simulated atomics_probe({{.name = "atomics",
                                .need = Need::atomics,
                                .repeat = atomics_repeat,
                                .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
                                  if (c.space == Space::global) return {m.l2_atomics_per_s, "the spec: l2_atomics_g_s"};
                                  return {m.max_clock_hz * m.sms * m.shared_banks, "the spec: banks * SMs * clock"};
                                }}});

// ---- divergence -----------------------------------------------------------------------------------------------------

Repeat divergence_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double steps = patterns::branch_steps * ways_taken(s.stride, s.ways, s.threads, m.branch_lanes);
  repeat.step.instructions = steps;
  repeat.step.latency_cycles = steps * m.fma_latency_cycles;
  repeat.work = operations_of_an_fma * patterns::branch_steps * s.threads * s.blocks;
  return repeat;
}

const Simulated divergence_probe({{.name = "divergence", .repeat = divergence_repeat, .limit = fma_limit}});

// ---- reduction ------------------------------------------------------------------------------------------------------

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

const Simulated reduction_probe(
    {{.name = "reduction", .need = Need::memory, .repeat = reduction_repeat, .limit = memory_limit}});

// ---- product --------------------------------------------------------------------------------------------------------

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

const Simulated product_probe(
    {{.name = "product", .need = Need::memory, .repeat = product_repeat, .limit = fma_limit, .arrays = 3}});

// ---- staging --------------------------------------------------------------------------------------------------------

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

const Simulated staging_probe(
    {{.name = "staging", .need = Need::memory, .repeat = staging_repeat, .limit = memory_limit}});

// ---- occupancy ------------------------------------------------------------------------------------------------------

// The probe occupancy on simulated devices: a load takes the memory's latency, whatever else runs.

constexpr std::uint32_t registers[] = {32, 40, 64, 80, 128, 168, 255};

Repeat chase_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = 1;
  repeat.steps = occupancy::loads;
  repeat.work = static_cast<double>(occupancy::loads) * s.access_bytes * s.threads * s.blocks;
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

const Simulated occupancy_probe(
    {{.name = "occupancy",
      .need = Need::occupancy,
      .repeat = chase_repeat,
      .shapes = [](const ProbeCase&, const Layout& l) { return occupancy::shapes(l, registers); },
      .refuses =
          [](const ProbeCase& c, const Shape& s) {
            return occupancy::refuses(find_probe(c.probe, c.device).context(c).layout, s, registers);
          }}});

}  // namespace
}  // namespace npgpu::simulated
