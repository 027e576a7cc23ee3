#include "netpipe/devices/simulated/multiprocessors.hpp"

#include <fmt/format.h>

#include <cmath>

#include "netpipe/engine/algorithms.hpp"

namespace npgpu::simulated {

namespace {

// A figure that is there and more than nothing, or `otherwise`.
double figure_or(const Spec& spec, const std::string& key, double otherwise) {
  const double value = number_fact(spec.hardware, key);
  return value > 0 ? value : otherwise;
}

std::uint32_t count_or(const Spec& spec, const std::string& key, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(std::clamp(figure_or(spec, key, otherwise), 1.0, 1e9));
}

// "{}_lanes" and "{}_cycles" of each in the spec.
#define INSTRUCTIONS(each)                                                                                     \
  each(int64_add) each(special) each(fp64) each(int64_mul) each(convert) each(convert_fp16) each(convert_fp64) \
      each(popc) each(shuffle) each(dpx)

// As in the model's kernel_time.cpp: rounder where reads and writes mix, sharper where blocks come and go.
double with_knee(const WarpStep& of, bool come_and_go, double knee, std::initializer_list<double> all) {
  const double mixed = std::min(1.0, 4 * std::min(of.written, 1 - of.written));
  const double alone = come_and_go ? 1.25 : 0.625, k = knee * (alone - mixed * (come_and_go ? 0.625 : 0.225));
  double sum = 0;
  for (const double one : all) sum += std::pow(one, k);
  return std::pow(sum, 1 / k);
}

std::uint32_t warps_of(const Grid& grid) { return (grid.threads + warp_threads - 1) / warp_threads; }

}  // namespace

std::optional<std::string> why_no_kernels(const Spec& spec, Need need) {
  std::string missing;
  const auto wants = [&](const char* key) {
    if (!(number_fact(spec.hardware, key) > 0))
      missing += (missing.empty() ? "hardware." : ", hardware.") + std::string(key);
  };
  for (const char* key : {"sms", "lanes", "shader_clock_mhz", "warps", "blocks"}) wants(key);
  if (need == Need::compute) wants("fma_latency_cycles");
  if (need == Need::memory || need == Need::migration) wants("memory_latency_cycles");
  if (need == Need::migration)
    for (const char* key : {"page_fault_us", "fault_bytes", "migrate_to_device_gb_s", "migrate_to_host_gb_s"})
      wants(key);
  if (need == Need::onchip)
    for (const char* key : {"l1_bytes", "l1_bytes_per_cycle", "l2_bytes", "l2_gb_s", "constant_bytes_per_cycle"})
      wants(key);
  if (need == Need::occupancy)
    for (const char* key : {"memory_latency_cycles", "registers", "shared_bytes"}) wants(key);
  if (need == Need::atomics)
    for (const char* key : {"l2_atomics_g_s", "l2_atomics_one_word_g_s"}) wants(key);
  if (need == Need::tensor)
    for (const char* key :
         {"tensor_fp16", "tensor_tf32", "tensor_fp8", "tensor_int8", "tensor_fp64", "tensor_latency_cycles"})
      wants(key);
  if (need == Need::cluster)
    for (const char* key :
         {"cluster_blocks", "cluster_latency_cycles", "cluster_bytes_per_cycle", "shared_latency_cycles"})
      wants(key);
  if (need == Need::bulk)
    for (const char* key : {"memory_latency_cycles", "l2_bytes", "l2_gb_s", "l2_latency_cycles", "bulk_latency_cycles",
                            "box_latency_cycles", "cluster_blocks"})
      wants(key);
  if (need == Need::banks)
    for (const char* key : {"shared_latency_cycles", "shared_conflict_cycles"}) wants(key);
  if (need == Need::wgmma)
    for (const char* key : {"tensor_fp16", "tensor_tf32", "tensor_fp8", "tensor_int8", "wgmma_latency_cycles"})
      wants(key);
#define WANTS(name) wants("instructions_" #name "_lanes"), wants("instructions_" #name "_cycles");
  if (need == Need::instructions) {
    INSTRUCTIONS(WANTS)
  }
#undef WANTS
  if ((need == Need::memory || need == Need::migration) && !spec.d2d)
    missing += (missing.empty() ? "" : ", ") + std::string("links.d2d");
  if (missing.empty()) return std::nullopt;
  return fmt::format("the spec of {} does not say how its kernels run: add {} to {}", spec.name, missing,
                     spec.file.string());
}

Multiprocessors multiprocessors_of(const Spec& spec) {
  Multiprocessors m;
// Those that the spec calls as they are called here.
#define COUNT(name) m.name = count_or(spec, #name, m.name)
#define FIGURE(name) m.name = figure_or(spec, #name, m.name)
#define INSTRUCTION(name) \
  m.name = {figure_or(spec, "instructions_" #name "_lanes", 0), figure_or(spec, "instructions_" #name "_cycles", 0)};
  COUNT(sms), COUNT(schedulers), COUNT(warps), COUNT(blocks), COUNT(shared_banks), COUNT(bank_bytes),
      COUNT(sector_bytes), COUNT(line_bytes), COUNT(branch_lanes), COUNT(shared_atomic_lanes);
  FIGURE(lanes), FIGURE(sm_bytes_per_cycle), FIGURE(memory_read_share), FIGURE(memory_write_share), FIGURE(memory_knee),
      FIGURE(memory_more_loads_cycles), FIGURE(memory_wider_loads_cycles), FIGURE(block_dispatch_ns),
      FIGURE(block_turnaround_ns), FIGURE(warp_turnaround_ns), FIGURE(store_turnaround_ns), FIGURE(write_turnaround_ns),
      FIGURE(sm_read_bytes_per_cycle), FIGURE(sm_write_bytes_per_cycle), FIGURE(transaction_bytes), FIGURE(l1_bytes),
      FIGURE(l1_bytes_per_cycle), FIGURE(l2_bytes), FIGURE(constant_bytes_per_cycle), FIGURE(tensor_fp16),
      FIGURE(tensor_tf32), FIGURE(tensor_fp8), FIGURE(tensor_int8), FIGURE(tensor_fp64), FIGURE(mma_share),
      FIGURE(tensor_latency_cycles), FIGURE(wgmma_latency_cycles), FIGURE(cluster_latency_cycles),
      FIGURE(cluster_bytes_per_cycle), FIGURE(shared_latency_cycles), FIGURE(l2_latency_cycles),
      FIGURE(shared_conflict_cycles), FIGURE(bulk_latency_cycles), FIGURE(box_latency_cycles),
      FIGURE(fma_latency_cycles), FIGURE(memory_latency_cycles), FIGURE(fault_bytes);
  INSTRUCTIONS(INSTRUCTION)
  // No probe needs these: mad24 is of cards before 2012, the others are of twins.
  INSTRUCTION(mad24)
  INSTRUCTION(int32)
  INSTRUCTION(fp16)
  INSTRUCTION(bf16)
  m.memory_latency_all_cycles = figure_or(spec, "memory_latency_all_cycles", m.memory_latency_cycles);
#undef COUNT
#undef FIGURE
#undef INSTRUCTION
#undef INSTRUCTIONS
  if (number_fact(spec.hardware, "idle_sms") > 0) m.idle_sms = std::min(count_or(spec, "idle_sms", 0), m.sms - 1);
  m.block_threads = count_or(spec, "block_threads", std::min(1024u, m.warps * warp_threads));
  m.registers = saturated<std::uint32_t>(figure_or(spec, "registers", 0));
  m.shared_bytes = saturated<std::uint32_t>(figure_or(spec, "shared_bytes", 0));
  m.shared_reserved_bytes = saturated<std::uint32_t>(figure_or(spec, "shared_reserved_bytes", 0));
  m.clock_hz = figure_or(spec, "shader_clock_mhz", 0) * 1e6;
  m.max_clock_hz = std::fmax(m.clock_hz, number_fact(spec.condition.facts, "max_sm_clock_mhz") * 1e6);
  m.l2_bytes_per_s = figure_or(spec, "l2_gb_s", 0) * 1e9;
  m.l2_atomics_per_s = figure_or(spec, "l2_atomics_g_s", 0) * 1e9;
  m.l2_atomics_one_word_per_s = figure_or(spec, "l2_atomics_one_word_g_s", 0) * 1e9;
  m.fault_s = figure_or(spec, "page_fault_us", 0) * 1e-6;
  m.to_device_bytes_per_s = figure_or(spec, "migrate_to_device_gb_s", 0) * 1e9;
  m.to_host_bytes_per_s = figure_or(spec, "migrate_to_host_gb_s", 0) * 1e9;
  if (spec.h2h) m.host_bytes_per_s = spec.h2h->bytes_per_s;
  m.cluster_blocks = saturated<std::uint32_t>(figure_or(spec, "cluster_blocks", 0));
  if (spec.d2d) m.bus_bytes_per_s = 2 * spec.d2d->bytes_per_s;
  return m;
}

KernelTime kernel_time(const Multiprocessors& m, const Grid& grid, const WarpStep& step, double steps) {
  const std::uint32_t block_warps = warps_of(grid), sms = m.sms - m.idle_sms;
  if (grid.blocks == 0 || block_warps == 0 || grid.threads > m.block_threads || block_warps > m.warps)
    throw Error(ErrorKind::usage, fmt::format("no block of {} threads fits the device: at most {}, in {} warps",
                                              grid.threads, m.block_threads, m.warps));
  std::uint64_t resident = grid.one_block_per_sm ? 1 : std::min(m.blocks, m.warps / block_warps);
  if (m.registers && grid.registers) {  // each scheduler has its part of the registers, and whole warps of a block
    const std::uint64_t of_warp = (grid.registers + 7) / 8 * 8 * warp_threads;
    resident = std::min(resident, m.registers / m.schedulers / of_warp * m.schedulers / block_warps);
  }
  if (m.shared_bytes && grid.shared_bytes)
    resident = std::min<std::uint64_t>(resident, m.shared_bytes / (grid.shared_bytes + m.shared_reserved_bytes));
  if (resident == 0)
    throw Error(ErrorKind::usage,
                fmt::format("no block of {} threads with {} registers each and {} bytes of shared memory "
                            "fits a multiprocessor",
                            grid.threads, grid.registers, grid.shared_bytes));

  const std::uint64_t slots = resident * sms;
  const bool comes_and_goes = m.memory_knee > 0 && step.block_bytes > 0;
  if (comes_and_goes && grid.blocks > slots) {
    const double all = static_cast<double>(grid.blocks), cycles_a_ns = m.clock_hz * 1e-9;
    const double besides =
        (m.block_turnaround_ns + m.warp_turnaround_ns * block_warps + step.turnaround_ns) * cycles_a_ns;
    const double own = all / static_cast<double>(slots) * (steps * step.latency_cycles + besides);
    const double bus = all * steps * step.block_bus_bytes / m.bus_bytes_per_s * m.clock_hz;
    KernelTime time;
    time.cycles = std::max(with_knee(step, true, m.memory_knee, {own, bus}), all * m.block_dispatch_ns * cycles_a_ns);
    time.block_cycles = steps * step.latency_cycles + besides;
    time.units = sms;
    time.max_blocks_on_unit = static_cast<std::uint32_t>((grid.blocks + sms - 1) / sms);
    return time;
  }

  const auto step_cycles = [&](std::uint64_t blocks) {
    const double on_busiest = std::ceil(static_cast<double>(blocks) / sms);
    const double scheduled = std::ceil(on_busiest * block_warps / m.schedulers);
    const double issue = scheduled * step.instructions * warp_threads / (m.lanes / m.schedulers);
    const double path = on_busiest * step.block_bytes / m.sm_bytes_per_cycle;
    const double bus = static_cast<double>(blocks) * step.block_bus_bytes / m.bus_bytes_per_s * m.clock_hz;
    if (comes_and_goes) return std::max(issue, with_knee(step, false, m.memory_knee, {step.latency_cycles, path, bus}));
    return std::max({step.latency_cycles, issue, path, bus});
  };

  const std::uint64_t waves = grid.blocks / slots, rest = grid.blocks % slots;
  KernelTime time;
  if (waves > 0) {
    time.block_cycles = steps * step_cycles(slots);
    time.cycles = static_cast<double>(waves) * time.block_cycles;
  }
  if (rest > 0) {
    const double last = steps * step_cycles(rest);
    time.cycles += last;
    time.block_cycles = std::max(time.block_cycles, last);
  }
  time.units = static_cast<std::uint32_t>(std::min<std::uint64_t>(grid.blocks, sms));
  time.max_blocks_on_unit = static_cast<std::uint32_t>(waves * resident + (rest + sms - 1) / sms);
  return time;
}

}  // namespace npgpu::simulated
