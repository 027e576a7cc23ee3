// How long a kernel takes on a simulated device, and what a warp's accesses cost, counted lane by lane from how the
// device is built. The model's laws (npgpu/model/derive.hpp) are formulas for hardware as it is taught; here nothing
// but the device's own figures counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::simulated {

constexpr std::uint32_t word_bytes = 4;

// Cycles of one warp's access to shared memory, `stride` words apart: as many lanes as there are banks are served at
// once, but for those that want different rows of a bank.
inline std::uint32_t shared_cycles(std::uint32_t stride, std::uint32_t lanes, std::uint32_t banks,
                                   std::uint32_t bank_bytes) {
  std::uint32_t cycles = 0;
  for (std::uint32_t begin = 0; begin < lanes; begin += banks) {
    std::map<std::uint64_t, std::set<std::uint64_t>> rows;  // by bank
    for (std::uint32_t lane = begin; lane < std::min(begin + banks, lanes); ++lane) {
      const std::uint64_t cell = std::uint64_t{lane} * stride * word_bytes / bank_bytes;
      rows[cell % banks].insert(cell / banks);
    }
    std::size_t most = 0;
    for (const auto& [bank, its] : rows) most = std::max(most, its.size());
    cycles += static_cast<std::uint32_t>(most);
  }
  return cycles;
}

// Different pieces of memory, so many bytes each, that a warp's words lie in.
inline std::uint32_t pieces(std::uint32_t stride, std::uint32_t offset_bytes, std::uint32_t lanes,
                            std::uint32_t piece_bytes) {
  std::set<std::uint64_t> all;
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    all.insert((offset_bytes + std::uint64_t{lane} * stride * word_bytes) / piece_bytes);
  return static_cast<std::uint32_t>(all.size());
}

// Ways of a branch that a group of so many threads takes one after the other, on average over the groups of a block.
inline double ways_taken(std::uint32_t stride, std::uint32_t ways, std::uint32_t threads, std::uint32_t group) {
  double sum = 0, groups = 0;
  for (std::uint32_t begin = 0; begin < threads; begin += group, ++groups) {
    std::set<std::uint32_t> taken;
    for (std::uint32_t t = begin; t < std::min(begin + group, threads); ++t)
      taken.insert(stride ? t / stride % ways : 0);
    sum += static_cast<double>(taken.size());
  }
  return sum / groups;
}

// Warps that have a lane at work, summed over the passes in which a block adds its words up. `neighbours`: thread t
// adds word t + s while s grows and t is a multiple of 2s; otherwise the first half adds the second, again and again.
inline std::uint32_t reduction_warps(std::uint32_t threads, bool neighbours) {
  constexpr std::uint32_t lanes = 32;
  std::uint32_t sum = 0;
  for (std::uint32_t s = 1; s < threads; s *= 2)
    sum += neighbours ? (threads + std::max(2 * s, lanes) - 1) / std::max(2 * s, lanes) : (s + lanes - 1) / lanes;
  return sum;
}

// How long a kernel takes on a simulated device, from how its multiprocessors (SMs) are built.
//
// Time goes in steps: in each, every warp issues its instructions and waits for their results before the next. One
// wave of resident blocks has, with R warps and K blocks on the busiest SM and S schedulers an SM,
//
//     cycles of a step = max( latency of the results,
//                             ceil(R / S) * instructions * 32 / (lanes / S),   the busiest scheduler issues
//                             K * bytes of a block / SM's bytes per cycle,     the SM's way to memory
//                             bytes of all blocks on the bus / its rate )
//
// because a warp instruction keeps its scheduler's lanes busy for 32 / (lanes / S) cycles, however few of its threads
// work. Blocks go to the SMs in turn. An SM holds as many as its slots, warps, registers and shared memory allow, and
// one where blocks are to be alone; the rest wait for the next wave.

constexpr std::uint32_t warp_threads = 32;

// The part of a spec that kernels run on.
struct Multiprocessors {
  std::uint32_t sms = 1;
  std::uint32_t idle_sms = 0;    // of these, to which no block goes: what the device says of itself, and does not do
  std::uint32_t schedulers = 1;  // of an SM, as all below
  double lanes = warp_threads;
  std::uint32_t warps = 1;          // resident
  std::uint32_t blocks = 1;         // resident
  std::uint32_t block_threads = 0;  // most, of a block
  // 0: they set no limit. The last is what each block takes besides its own.
  std::uint32_t registers = 0, shared_bytes = 0, shared_reserved_bytes = 0;
  double clock_hz = 0;                   // at which kernels run
  double max_clock_hz = 0;               // the highest, by which limits go
  double fma_latency_cycles = 0;         // until a dependent one can issue
  double memory_latency_cycles = 0;      // of a load, where one SM loads
  double memory_latency_all_cycles = 0;  // where all do
  double sm_bytes_per_cycle = std::numeric_limits<double>::infinity();
  double transaction_bytes = 32;  // least that the bus moves
  double bus_bytes_per_s = std::numeric_limits<double>::infinity();
  double memory_read_share = 1, memory_write_share = 1;  // of that, where all is read, or all is written
  // How latency and rate give way to each other: 0 in a corner, and blocks go in step; else (a^k + b^k)^(1/k), and
  // blocks come and go; k is a share of this, as in kernel_time.cpp of the model. Then what each doubling of the loads
  // that a thread has in flight adds to their latency, and each of their width; what a block takes besides its step,
  // each of its warps, and one that also stores; and the least time between two blocks. Twins of real devices have
  // these.
  double memory_knee = 0, memory_more_loads_cycles = 0, memory_wider_loads_cycles = 0;
  double block_dispatch_ns = 0, block_turnaround_ns = 0, warp_turnaround_ns = 0, store_turnaround_ns = 0,
         write_turnaround_ns = 0;
  double sm_read_bytes_per_cycle = 0, sm_write_bytes_per_cycle = 0;  // reads and writes alone; 0: as both together
  // On the chip:
  std::uint32_t shared_banks = 32, bank_bytes = 4;    // of an SM's shared memory
  std::uint32_t sector_bytes = 32, line_bytes = 128;  // what L2 sends at least; what a cycle of L1 can serve
  double l1_bytes = 0, l1_bytes_per_cycle = 0;        // of an SM
  double l2_bytes = 0, l2_bytes_per_s = 0;
  std::uint32_t branch_lanes = 32;        // threads that take a branch's ways one after the other
  std::uint32_t shared_atomic_lanes = 1;  // additions to one word that a cycle of shared memory makes
  double l2_atomics_per_s = 0, l2_atomics_one_word_per_s = 0;  // of all SMs: on a word a thread, on one word
  double constant_bytes_per_cycle = 0;                         // of an SM, 4 for each lane that reads the same word
  // Tensor cores: multiply-adds a cycle of an SM, by type, where wgmma keeps them busy; of that what mma reaches, and
  // how long a product waits for the one before.
  double tensor_fp16 = 0, tensor_tf32 = 0, tensor_fp8 = 0, tensor_int8 = 0, tensor_fp64 = 0;
  double mma_share = 1, tensor_latency_cycles = 0;
  // Pages that move: a fault brings so many bytes, and takes so long besides their way; rates of that way, and of reads
  // by the host of its own memory.
  double fault_s = 0, fault_bytes = 0, to_device_bytes_per_s = 0, to_host_bytes_per_s = 0, host_bytes_per_s = 0;
  double wgmma_latency_cycles =
      0;  // from its issue until its sums can be read, beyond the cycles of the product itself
  // Clusters: most blocks of one; a load from another block's shared memory, and what an SM reads there.
  std::uint32_t cluster_blocks = 0;
  double cluster_latency_cycles = 0, cluster_bytes_per_cycle = 0;
  // A plain load that L2 answers; what a bulk copy, and a box of a tensor map, take longer than a plain load.
  double shared_latency_cycles = 0;   // of a block's own
  double shared_conflict_cycles = 0;  // that each lane more in a bank adds to it
  double l2_latency_cycles = 0, bulk_latency_cycles = 0, box_latency_cycles = 0;
  // Instructions of a class: lanes of an SM that do one each in a cycle, and cycles until a dependent one can issue.
  struct Instructions {
    double lanes = 0, latency_cycles = 0;
  };
  Instructions int64_add, special, fp64, int64_mul, convert, convert_fp16, convert_fp64, popc, shuffle, dpx, mad24,
      int32, fp16, bf16;
};

enum class Need {
  compute,
  memory,
  onchip,
  atomics,
  tensor,
  occupancy,
  cluster,
  bulk,
  wgmma,
  instructions,
  migration,
  banks
};
// Which keys of the spec are missing for such kernels, in one sentence; nothing if none.
std::optional<std::string> why_no_kernels(const Spec&, Need);
// What a spec leaves out stays as it is above. The bus moves twice the rate of d2d, whose bytes count once.
Multiprocessors multiprocessors_of(const Spec&);

struct Grid {
  std::uint64_t blocks = 1;
  std::uint32_t threads = 1;       // of a block
  bool one_block_per_sm = false;   // never two blocks on one SM at a time
  std::uint32_t registers = 0;     // of a thread
  std::uint32_t shared_bytes = 0;  // of a block
};

struct WarpStep {
  double latency_cycles = 0;
  double instructions = 0;     // of a warp
  double block_bytes = 0;      // between a block and memory
  double block_bus_bytes = 0;  // the same in whole transactions
  double turnaround_ns = 0;    // what a block takes besides, by what it stores
  double written = 0;          // share of the bytes
};

struct KernelTime {
  double cycles = 0;                     // first block's begin to last block's end
  double block_cycles = 0;               // of the block that takes longest
  std::uint32_t units = 0;               // SMs that run a block
  std::uint32_t max_blocks_on_unit = 0;  // blocks, over all waves
};

// Throws Error(usage) where no SM can hold such a block.
KernelTime kernel_time(const Multiprocessors&, const Grid&, const WarpStep&, double steps);

}  // namespace npgpu::simulated
