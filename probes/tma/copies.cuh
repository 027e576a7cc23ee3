// Barriers in shared memory that count the bytes of bulk copies, and the copies: each of a box of a set, which all
// kernels of probe tma have in one form. Device code, for compute capability 9.0 and later.
#pragma once

#include <cuda.h>

#include "netpipe/devices/cuda/probe_bench.hpp"
#include "probes/tma/shapes.hpp"

namespace npgpu::cuda {

using tma::Rung, tma::unit_bytes;

constexpr unsigned warp_lanes = tma::warp, most_boxes = tma::max_boxes_of_warp, most_warps = 8, most_threads = 256;

struct Boxes {
  std::byte* memory;
  std::uint32_t box_bytes;
  std::uint32_t apart, rows_apart;  // from one element or box to the next: bytes, and rows of the tensor map
  std::uint32_t depth;              // boxes in flight of a warp
  std::uint32_t groups;             // of warps, which take turns
  std::uint64_t boxes;              // of each group
  std::uint64_t steps;              // boxes that a group copies; chase: loads
  std::uint32_t cluster;
  std::uint32_t begin;  // chase: the first element
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

// An element of a chase.
struct Link {
  std::uint64_t next;   // address
  std::uint32_t place;  // of the next: elements before it
  std::uint32_t own;
};
static_assert(sizeof(Link) == unit_bytes);

__device__ inline std::uint32_t in_shared(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

// Barriers in shared memory, and copies that arrive there; all by the thread that calls them.
__device__ inline void make_barrier(std::uint64_t* barrier, std::uint32_t arrivals) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(in_shared(barrier)), "r"(arrivals) : "memory");
#endif
}
__device__ inline void barriers_made() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
#endif
}
__device__ inline void expect(std::uint32_t barrier, std::uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#endif
}
__device__ inline void wait_at(std::uint32_t barrier, std::uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  std::uint32_t done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
#endif
}
// At the same barrier of another block of the cluster; what it orders are reads of shared memory before copies into it.
// With the scope of the cluster each arrival is a fence, and blocks receive half as much.
__device__ inline void arrive_at(std::uint32_t barrier, std::uint32_t rank) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
#endif
}
__device__ inline void meet_in_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
__device__ inline std::uint32_t rank_in_cluster() {
  std::uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

__device__ inline void copy_from(std::uint32_t to, std::uint64_t from, std::uint32_t bytes, std::uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
#endif
}

// Asks for the box or element `number` of the set; its barrier knows what to expect.
template <Rung rung>
__device__ inline void ask_for(std::uint32_t to, const Boxes& b, const CUtensorMap& map, std::uint64_t number,
                               std::uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  if constexpr (rung == tma::bulk) {
    copy_from(to, reinterpret_cast<std::uint64_t>(b.memory + number * b.apart), b.box_bytes, barrier);
  } else if constexpr (rung == tma::box) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(to),
        "l"(&map), "r"(0), "r"(static_cast<std::uint32_t>(number) * b.rows_apart), "r"(barrier)
        : "memory");
  } else {  // this block's part of it, to all blocks of the cluster
    const std::uint32_t part = b.box_bytes / b.cluster, begin = part * rank_in_cluster();
    const auto all = static_cast<std::uint16_t>((1u << b.cluster) - 1);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
        "%4;" ::"r"(to + begin),
        "l"(b.memory + number * b.apart + begin), "r"(part), "r"(barrier), "h"(all)
        : "memory");
  }
#endif
}
template <Rung rung>
__device__ inline void store_box(std::uint32_t from, const Boxes& b, const CUtensorMap& map, std::uint64_t number) {
#if __CUDA_ARCH__ >= 900
  if constexpr (rung == tma::bulk)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(b.memory + number * b.apart),
                 "r"(from), "r"(b.box_bytes)
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(0),
                 "r"(static_cast<std::uint32_t>(number) * b.rows_apart), "r"(from)
                 : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

}  // namespace npgpu::cuda
