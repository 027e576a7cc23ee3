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

const std::vector<std::string>& instruction_classes() {
  static const std::vector<std::string> all{"int64_add",    "special",      "fp64", "int64_mul", "convert",
                                            "convert_fp16", "convert_fp64", "popc", "shuffle",   "dpx"};
  return all;
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
  if (need == Need::instructions)
    for (const std::string& name : instruction_classes())
      for (const char* figure : {"_lanes", "_cycles"}) wants(("instructions_" + name + figure).c_str());
  if ((need == Need::memory || need == Need::migration) && !spec.d2d)
    missing += (missing.empty() ? "" : ", ") + std::string("links.d2d");
  if (missing.empty()) return std::nullopt;
  return fmt::format("the spec of {} does not say how its kernels run: add {} to {}", spec.name, missing,
                     spec.file.string());
}

Multiprocessors multiprocessors_of(const Spec& spec) {
  Multiprocessors m;
  m.sms = count_or(spec, "sms", m.sms);
  if (number_fact(spec.hardware, "idle_sms") > 0) m.idle_sms = std::min(count_or(spec, "idle_sms", 0), m.sms - 1);
  m.schedulers = count_or(spec, "schedulers", m.schedulers);
  m.lanes = figure_or(spec, "lanes", m.lanes);
  m.warps = count_or(spec, "warps", m.warps);
  m.blocks = count_or(spec, "blocks", m.blocks);
  m.block_threads = count_or(spec, "block_threads", std::min(1024u, m.warps * warp_threads));
  m.registers = saturated<std::uint32_t>(figure_or(spec, "registers", 0));
  m.shared_bytes = saturated<std::uint32_t>(figure_or(spec, "shared_bytes", 0));
  m.shared_reserved_bytes = saturated<std::uint32_t>(figure_or(spec, "shared_reserved_bytes", 0));
  m.clock_hz = figure_or(spec, "shader_clock_mhz", 0) * 1e6;
  m.max_clock_hz = std::fmax(m.clock_hz, number_fact(spec.condition.facts, "max_sm_clock_mhz") * 1e6);
  m.fma_latency_cycles = figure_or(spec, "fma_latency_cycles", 0);
  m.memory_latency_cycles = figure_or(spec, "memory_latency_cycles", 0);
  m.sm_bytes_per_cycle = figure_or(spec, "sm_bytes_per_cycle", m.sm_bytes_per_cycle);
  m.memory_read_share = figure_or(spec, "memory_read_share", m.memory_read_share);
  m.memory_write_share = figure_or(spec, "memory_write_share", m.memory_write_share);
  m.transaction_bytes = figure_or(spec, "transaction_bytes", m.transaction_bytes);
  m.shared_banks = count_or(spec, "shared_banks", m.shared_banks);
  m.bank_bytes = count_or(spec, "bank_bytes", m.bank_bytes);
  m.sector_bytes = count_or(spec, "sector_bytes", m.sector_bytes);
  m.line_bytes = count_or(spec, "line_bytes", m.line_bytes);
  m.l1_bytes = figure_or(spec, "l1_bytes", m.l1_bytes);
  m.l1_bytes_per_cycle = figure_or(spec, "l1_bytes_per_cycle", m.l1_bytes_per_cycle);
  m.l2_bytes = figure_or(spec, "l2_bytes", m.l2_bytes);
  m.l2_bytes_per_s = figure_or(spec, "l2_gb_s", 0) * 1e9;
  m.constant_bytes_per_cycle = figure_or(spec, "constant_bytes_per_cycle", m.constant_bytes_per_cycle);
  m.branch_lanes = count_or(spec, "branch_lanes", m.branch_lanes);
  m.shared_atomic_lanes = count_or(spec, "shared_atomic_lanes", m.shared_atomic_lanes);
  m.l2_atomics_per_s = figure_or(spec, "l2_atomics_g_s", 0) * 1e9;
  m.l2_atomics_one_word_per_s = figure_or(spec, "l2_atomics_one_word_g_s", 0) * 1e9;
  m.tensor_fp16 = figure_or(spec, "tensor_fp16", m.tensor_fp16);
  m.tensor_tf32 = figure_or(spec, "tensor_tf32", m.tensor_tf32);
  m.tensor_fp8 = figure_or(spec, "tensor_fp8", m.tensor_fp8);
  m.tensor_int8 = figure_or(spec, "tensor_int8", m.tensor_int8);
  m.tensor_fp64 = figure_or(spec, "tensor_fp64", m.tensor_fp64);
  m.mma_share = figure_or(spec, "mma_share", m.mma_share);
  m.tensor_latency_cycles = figure_or(spec, "tensor_latency_cycles", m.tensor_latency_cycles);
  m.fault_s = figure_or(spec, "page_fault_us", 0) * 1e-6;
  m.fault_bytes = figure_or(spec, "fault_bytes", 0);
  m.to_device_bytes_per_s = figure_or(spec, "migrate_to_device_gb_s", 0) * 1e9;
  m.to_host_bytes_per_s = figure_or(spec, "migrate_to_host_gb_s", 0) * 1e9;
  if (spec.h2h) m.host_bytes_per_s = spec.h2h->bytes_per_s;
  m.wgmma_latency_cycles = figure_or(spec, "wgmma_latency_cycles", m.wgmma_latency_cycles);
  m.cluster_blocks = saturated<std::uint32_t>(figure_or(spec, "cluster_blocks", 0));
  m.cluster_latency_cycles = figure_or(spec, "cluster_latency_cycles", m.cluster_latency_cycles);
  m.cluster_bytes_per_cycle = figure_or(spec, "cluster_bytes_per_cycle", m.cluster_bytes_per_cycle);
  m.shared_latency_cycles = figure_or(spec, "shared_latency_cycles", m.shared_latency_cycles);
  m.l2_latency_cycles = figure_or(spec, "l2_latency_cycles", m.l2_latency_cycles);
  m.shared_conflict_cycles = figure_or(spec, "shared_conflict_cycles", m.shared_conflict_cycles);
  m.bulk_latency_cycles = figure_or(spec, "bulk_latency_cycles", m.bulk_latency_cycles);
  m.box_latency_cycles = figure_or(spec, "box_latency_cycles", m.box_latency_cycles);
  const auto instructions = [&](const char* name, Multiprocessors::Instructions& of) {
    of = {figure_or(spec, fmt::format("instructions_{}_lanes", name), 0),
          figure_or(spec, fmt::format("instructions_{}_cycles", name), 0)};
  };
  instructions("int64_add", m.int64_add);
  instructions("special", m.special);
  instructions("fp64", m.fp64);
  instructions("int64_mul", m.int64_mul);
  instructions("convert", m.convert);
  instructions("convert_fp16", m.convert_fp16);
  instructions("convert_fp64", m.convert_fp64);
  instructions("popc", m.popc);
  instructions("shuffle", m.shuffle);
  instructions("dpx", m.dpx);
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

  const auto step_cycles = [&](std::uint64_t blocks) {
    const double on_busiest = std::ceil(static_cast<double>(blocks) / sms);
    const double scheduled = std::ceil(on_busiest * block_warps / m.schedulers);
    const double issue = scheduled * step.instructions * warp_threads / (m.lanes / m.schedulers);
    const double path = on_busiest * step.block_bytes / m.sm_bytes_per_cycle;
    const double bus = static_cast<double>(blocks) * step.block_bus_bytes / m.bus_bytes_per_s * m.clock_hz;
    return std::max({step.latency_cycles, issue, path, bus});
  };

  const std::uint64_t slots = resident * sms, waves = grid.blocks / slots, rest = grid.blocks % slots;
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
