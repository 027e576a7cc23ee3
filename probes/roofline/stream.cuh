// A grid that streams through memory while it computes: each thread loads the next step's words before it works on
// this one's, in two sets of registers, so that loads and operations overlap in every warp. Device code.
//
// Blocks take regions of memory in turns from a counter, so that all end together, however fast each is served: of an
// H200's memory a grid whose warps had as many steps each read 1.4 % less than blocks that begin one after the other
// (data/traces/h200_probes.h5). The next turn is asked for while the last one runs. Where each warp took turns of
// 16 KiB, the counter held up an H200's memory, which then gave 4160 GB/s of 4700.
#pragma once

#include <cstdint>

#include "probes/cuda.hpp"
#include "probes/roofline/shapes.hpp"
#include "probes/roofline/words.hpp"

namespace npgpu::cuda::rooflines {

using roofline::accesses, roofline::warp;

constexpr std::uint32_t slots = 512;  // of totals, by block

struct Run {
  const uint4* memory;
  std::uint32_t* next_turn;
  std::uint32_t turns;    // of all blocks
  std::uint32_t first;    // region of the first one
  std::uint32_t regions;  // of the set
  std::uint32_t pairs;    // of a warp's steps in a region
  std::uint32_t rounds;   // of a step's operations, where they are too many to be written one by one
  float one;              // 1, which only the host knows
  roofline::Total* totals;
  uint4* kept;  // null; see force_load()
  BlockRecord* records;
  std::uint32_t launch;
};

using Words = uint4[accesses];

__device__ inline void load(Words& words, const uint4* at) {
#pragma unroll
  for (unsigned i = 0; i < accesses; ++i)
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[i].x), "=r"(words[i].y), "=r"(words[i].z), "=r"(words[i].w)
                 : "l"(at + i * warp));
}

// A block's turn is in its first thread. Not by atomicAdd, of which the compiler makes one for all lanes, and waits for
// it.
__device__ inline std::uint32_t take_turn(const Run& run) {
  return threadIdx.x == 0 ? atomicInc(run.next_turn, UINT32_MAX - 1) : 0;
}
// A block's turn, for all of its threads. There are two slots, as some threads may still read the last one.
struct SharedTurn {
  std::uint32_t* slots;
  std::uint32_t slot = 0;

  __device__ std::uint32_t broadcast(std::uint32_t turn) {
    slot ^= 1;
    if (threadIdx.x == 0) slots[slot] = turn;
    __syncthreads();
    return slots[slot];
  }
};

// Never called. As these words may be needed here, the assembler loads them here, and not behind the operations that
// follow, just before those that need them.
__device__ inline void force_load(const Words& words, const Run& run) {
#pragma unroll
  for (unsigned i = 0; i < accesses; ++i) run.kept[i] = words[i];
  __trap();
}

// Work: begin(thread), step(words, run), and total().
template <class Work>
__global__ void __launch_bounds__(roofline::max_threads, roofline::blocks_of_unit) stream(Run run) {
  constexpr std::uint32_t of_warp = accesses * warp;
  const std::uint32_t of_step = accesses * blockDim.x;  // the warps' parts of it lie one behind the other
  // Past the last turn the first words of all, which nobody works on.
  const auto begin_of = [&](std::uint32_t turn) {
    const std::uint64_t region = turn < run.turns ? (run.first + turn) % run.regions : 0;
    return run.memory + region * (2 * run.pairs * of_step) + threadIdx.x / warp * of_warp + threadIdx.x % warp;
  };
  __shared__ std::uint32_t turn_slots[2];
  SharedTurn shared{turn_slots};
  Work work;
  work.begin(run);
  const BlockClock clock(true);
  std::uint32_t turn = shared.broadcast(take_turn(run));
  if (turn < run.turns) {
    std::uint32_t next = take_turn(run), pair = run.pairs;
    const uint4* at = begin_of(turn);
    Words now, then;
    load(now, at);
    load(then, at + of_step);
#pragma unroll 1
    do {
      work.step(now, run);
      at += 2 * of_step;
      if (--pair == 0) {
        turn = shared.broadcast(next);
        at = begin_of(turn);
        pair = run.pairs;
        next = take_turn(run);
      }
      load(now, at);
      if (run.kept) force_load(now, run);
      work.step(then, run);
      load(then, at + of_step);
    } while (turn < run.turns);
  }
  clock.write(run.records, run.launch);
  const roofline::Total total = work.total();
  roofline::Total& slot = run.totals[blockIdx.x % slots];
  atomicAdd(reinterpret_cast<unsigned long long*>(&slot.weighted), static_cast<unsigned long long>(total.weighted));
  atomicAdd(reinterpret_cast<unsigned long long*>(&slot.added), static_cast<unsigned long long>(total.added));
}

using Kernel = void (*)(Run);
// Operations that are written one by one; more are rounds of as many.
constexpr std::uint32_t most_unrolled = 512, most_unrolled_products = 64;
// So many multiply-adds of a thread in a step, and products of a warp; null: there is none.
Kernel multiply_kernel(DataType, std::uint32_t operations);
Kernel product_kernel(std::uint32_t products);
// The same on words of shared memory (cuda_shared.cu): `turns` are repeats, `regions` the steps of a block's set, and
// `pairs` those of a repeat. A launch gives each block its set's bytes.
Kernel shared_kernel(DataType, std::uint32_t operations);

}  // namespace npgpu::cuda::rooflines
