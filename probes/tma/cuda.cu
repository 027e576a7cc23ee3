// Bulk copies between global and shared memory (TMA, compute capability 9.0 and later); see shapes.hpp for the rungs.
//
// chase   One thread asks for a copy, waits at a barrier in shared memory that counts its bytes, and reads from there
//         the address of the next element and its number, by which a box is asked for.
// read    Each warp has barriers and places for its copies in flight. Of each box every lane adds up 16 bytes, of a
//         larger one others each time, so that a box that is read too early or overwritten leaves a wrong sum.
//         With multicast, a warp of each block of a cluster asks for its part of a box for all of them. A place is free
//         when all of them have read it, for which they wait at a second barrier.
// write   Places in shared memory hold words that differ. What lies in global memory at the end, another
//         kernel adds up.

#include <algorithm>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/tma/copies.cuh"
#include "probes/walks.hpp"

namespace npgpu::cuda {

namespace {

// ---- chase ----------------------------------------------------------------------------------------------------------

template <Rung rung>
__global__ void __launch_bounds__(warp_lanes) chase_boxes(Boxes b, const __grid_constant__ CUtensorMap map) {
  extern __shared__ __align__(128) unsigned char here[];
  __shared__ std::uint64_t arrived;
  if (threadIdx.x == 0) make_barrier(&arrived, 1), barriers_made();
  __syncthreads();
  const BlockClock clock(true);
  if (threadIdx.x == 0) {
    auto next = reinterpret_cast<std::uint64_t>(b.memory) + std::uint64_t{b.begin} * b.apart;
    std::uint32_t place = b.begin;
    if constexpr (rung == tma::plain) {
#pragma unroll 8
      for (std::uint64_t n = 0; n < b.steps; ++n) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(next)::"memory");
    } else {
      const std::uint32_t to = in_shared(here), barrier = in_shared(&arrived);
#pragma unroll 1
      for (std::uint64_t n = 0; n < b.steps; ++n) {
        expect(barrier, b.box_bytes);
        if constexpr (rung == tma::bulk) copy_from(to, next, b.box_bytes, barrier);
        else ask_for<rung>(to, b, map, place, barrier);
        wait_at(barrier, static_cast<std::uint32_t>(n & 1));
        if constexpr (rung == tma::bulk) asm volatile("ld.shared.u64 %0, [%1];" : "=l"(next) : "r"(to) : "memory");
        else asm volatile("ld.shared.u32 %0, [%1];" : "=r"(place) : "r"(to + 8) : "memory");
      }
    }
    if constexpr (rung != tma::box)
      place = static_cast<std::uint32_t>((next - reinterpret_cast<std::uint64_t>(b.memory)) / b.apart);
    b.results[0] = place;
  }
  clock.write(b.records, b.launch);
}

__global__ void link_elements(std::byte* memory, Permutation order, std::uint64_t step) {
  const std::uint64_t count = order.count();
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t own = order.at(i), next = order.at(i + 1 < count ? i + 1 : 0);
    *reinterpret_cast<Link*>(memory + own * step) = {reinterpret_cast<std::uint64_t>(memory + next * step),
                                                     static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(own)};
  }
}

// ---- read and write -------------------------------------------------------------------------------------------------

// Which of a box's units of 16 bytes a lane adds up in a step.
__host__ __device__ std::uint32_t unit_of(std::uint32_t units, std::uint32_t lane, std::uint64_t step) {
  return units <= warp_lanes ? lane % units
                             : static_cast<std::uint32_t>(step % (units / warp_lanes)) * warp_lanes + lane;
}

template <Rung rung>
__global__ void __launch_bounds__(most_threads) read_boxes(Boxes b, const __grid_constant__ CUtensorMap map) {
  constexpr bool shared_by_cluster = rung == tma::multicast;
  extern __shared__ __align__(128) unsigned char places[];
  __shared__ std::uint64_t arrived[most_warps * most_boxes], free_again[most_warps * most_boxes];
  const std::uint32_t lane = threadIdx.x % warp_lanes, own = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
  const std::uint32_t clusters = shared_by_cluster ? b.cluster : 1;
  const std::uint32_t group = blockIdx.x / clusters * warps + own;
  if (threadIdx.x == 0) {
    for (std::uint32_t i = 0; i < warps * b.depth; ++i)
      make_barrier(&arrived[i], 1), make_barrier(&free_again[i], clusters);
    barriers_made();
  }
  __syncthreads();
  if constexpr (shared_by_cluster) meet_in_cluster();
  const std::uint32_t to = in_shared(places) + own * b.depth * b.box_bytes;
  const std::uint32_t arrived_at = in_shared(&arrived[own * b.depth]), free_at = in_shared(&free_again[own * b.depth]);
  std::uint64_t asked = 0, box = 0;  // box: of the group's
  std::uint32_t slot = 0, turn = 0;  // of what is asked for: its place, and how often the places were filled
  const auto ask = [&] {
    if (asked == b.steps) return;
    if (lane == 0) {
      // All blocks of the cluster have read what was there.
      if (shared_by_cluster && turn > 0) wait_at(free_at + 8 * slot, (turn - 1) & 1);
      expect(arrived_at + 8 * slot, b.box_bytes);
      ask_for<rung>(to + slot * b.box_bytes, b, map, box * b.groups + group, arrived_at + 8 * slot);
    }
    ++asked;
    if (++box == b.boxes) box = 0;
    if (++slot == b.depth) slot = 0, ++turn;
  };
  const BlockClock clock(true);
  std::uint32_t sum = 0, here = 0, parity = 0;
  const std::uint32_t units = b.box_bytes / unit_bytes;
  std::uint32_t unit = unit_of(units, lane, 0);
  for (std::uint32_t i = 0; i < b.depth; ++i) ask();
#pragma unroll 1
  for (std::uint64_t n = 0; n < b.steps; ++n) {
    wait_at(arrived_at + 8 * here, parity);
    uint4 x;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(to + here * b.box_bytes + unit * unit_bytes)
                 : "memory");
    sum += x.x + x.y + x.z + x.w;
    if (units > warp_lanes && (unit += warp_lanes) >= units) unit = lane;
    __syncwarp();  // all lanes have read it
    if constexpr (shared_by_cluster)
      if (lane < clusters) arrive_at(free_at + 8 * here, lane);
    if (++here == b.depth) here = 0, parity ^= 1;
    ask();
  }
  clock.write(b.records, b.launch);
  b.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if constexpr (shared_by_cluster) meet_in_cluster();  // nobody's barriers go before the last arrival
}

// The first of a unit's four words, in place `slot` of that group of warps.
__host__ __device__ std::uint32_t stored(std::uint32_t group, std::uint32_t slot, std::uint32_t unit) {
  return pattern_word(4 * (std::uint64_t{unit} * most_boxes + slot) + 1) + group;
}

template <Rung rung>
__global__ void __launch_bounds__(most_threads) write_boxes(Boxes b, const __grid_constant__ CUtensorMap map) {
  extern __shared__ __align__(128) unsigned char places[];
  const std::uint32_t lane = threadIdx.x % warp_lanes, own = threadIdx.x / warp_lanes;
  const std::uint32_t group = blockIdx.x * (blockDim.x / warp_lanes) + own, units = b.box_bytes / unit_bytes;
  const std::uint32_t from = in_shared(places) + own * b.depth * b.box_bytes;
  for (std::uint32_t slot = 0; slot < b.depth; ++slot)
    for (std::uint32_t unit = lane; unit < units; unit += warp_lanes) {
      const std::uint32_t x = stored(group, slot, unit);
      asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(from + slot * b.box_bytes + unit * unit_bytes),
                   "r"(x), "r"(x + 1), "r"(x + 2), "r"(x + 3)
                   : "memory");
    }
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what threads wrote, before copies read it
#endif
  __syncthreads();
  const BlockClock clock(true);
  if (lane == 0) {
    std::uint64_t box = 0;
    std::uint32_t slot = 0;
#pragma unroll 1
    for (std::uint64_t n = 0; n < b.steps; ++n) {
      store_box<rung>(from + slot * b.box_bytes, b, map, box * b.groups + group);
      if (++box == b.boxes) box = 0;
      if (++slot == b.depth) slot = 0;
#if __CUDA_ARCH__ >= 900
      switch (b.depth) {  // so many may be under way: the number is part of the instruction
        case 1: asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); break;
        case 2: asm volatile("cp.async.bulk.wait_group 1;" ::: "memory"); break;
        case 4: asm volatile("cp.async.bulk.wait_group 3;" ::: "memory"); break;
        default: asm volatile("cp.async.bulk.wait_group 7;" ::: "memory"); break;
      }
#endif
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
  }
  clock.write(b.records, b.launch);
}

// What lies in a group's boxes, added up by its lanes.
__global__ void sum_boxes(Boxes b) {
  const std::uint32_t lane = threadIdx.x % warp_lanes;
  const std::uint32_t group = blockIdx.x * (blockDim.x / warp_lanes) + threadIdx.x / warp_lanes;
  const std::uint64_t written = b.steps < b.boxes ? b.steps : b.boxes;
  std::uint32_t sum = 0;
  for (std::uint64_t box = 0; box < written; ++box) {
    const auto* const units = reinterpret_cast<const uint4*>(b.memory + (box * b.groups + group) * b.box_bytes);
    for (std::uint32_t unit = lane; unit < b.box_bytes / unit_bytes; unit += warp_lanes) {
      const uint4 x = __ldcg(units + unit);
      sum += x.x + x.y + x.z + x.w;
    }
  }
  b.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

using BoxKernel = void (*)(Boxes, CUtensorMap);

BoxKernel kernel_of(Operation operation, std::uint32_t rung) {
  if (operation == Operation::chase)
    return rung == tma::plain  ? chase_boxes<tma::plain>
           : rung == tma::bulk ? chase_boxes<tma::bulk>
                               : chase_boxes<tma::box>;
  if (operation == Operation::write) return rung == tma::bulk ? write_boxes<tma::bulk> : write_boxes<tma::box>;
  return rung == tma::bulk  ? read_boxes<tma::bulk>
         : rung == tma::box ? read_boxes<tma::box>
                            : read_boxes<tma::multicast>;
}

std::uint32_t multicasts_at_once(const std::string& device, std::uint32_t size) {
  const int ordinal = ordinal_or_throw(device);
  make_current(ordinal);
  const auto kernel = read_boxes<tma::multicast>;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {size, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = size;
  config.blockDim = 4 * warp_lanes;
  config.dynamicSmemBytes = tma::shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(config.dynamicSmemBytes)),
              "giving blocks their shared memory");
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess) {
    (void)cudaGetLastError();  // a size that the device does not have is no error of ours
    return 0;
  }
  return static_cast<std::uint32_t>(clusters);
}

// Over so many bytes from `memory` on: rows of words, of which a box has so many.
CUtensorMap map_over(void* memory, std::uint64_t bytes, std::uint32_t row_bytes, std::uint32_t box_bytes) {
  constexpr cuuint32_t word = 4;
  CUtensorMap map{};
  const cuuint64_t sizes[] = {row_bytes / word, bytes / row_bytes}, strides[] = {row_bytes};
  const cuuint32_t of_box[] = {row_bytes / word, box_bytes / row_bytes}, steps[] = {1, 1};
  cuda::check(driver().cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, memory, sizes, strides, of_box,
                                              steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              "making a tensor map");
  return map;
}

class TmaRunner final : public SumsRunner {
 public:
  TmaRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : SumsRunner(probe, steps), memory_(Memory::device, std::max<std::uint64_t>(max_bytes(), KiB)) {}
  double work() const override { return tma::work(question(), shape()); }

 private:
  bool is(Operation operation) const { return question().operation == operation; }
  void set_up() override {
    bench().gpu().make_current();
    auto* const memory = memory_.data();
    if (is(Operation::chase)) {
      order_ = Permutation(shape().bytes / tma::chase_step(shape()));
      walked_ = 0;
      link_elements<<<1024, 256, 0, stream()>>>(memory, order_, tma::chase_step(shape()));
    } else {
      fill_pattern<<<1024, 256, 0, stream()>>>(reinterpret_cast<std::uint32_t*>(memory), shape().bytes / 4);
    }
    cuda::check(cudaGetLastError(), "filling the set");
    map_ = map_over(memory, shape().bytes, tma::row_bytes(shape()), shape().access_bytes);
    make_ready();
    // Elements were written in part, and L2 has the rest of their sectors only when somebody has asked for it.
    if (is(Operation::chase) && question().space == Space::l2)
      timed(static_cast<std::uint32_t>(order_.count() / tma::loads_of_repeat + 1));
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const Shape& s = shape();
    const bool chases = is(Operation::chase);
    const std::uint64_t apart = chases ? tma::chase_step(s) : s.access_bytes;
    const Boxes boxes{.memory = memory_.data(),
                      .box_bytes = s.access_bytes,
                      .apart = static_cast<std::uint32_t>(apart),
                      .rows_apart = static_cast<std::uint32_t>(apart / tma::row_bytes(s)),
                      .depth = s.ilp,
                      .groups = chases ? 1 : tma::groups(s),
                      .boxes = chases ? 1 : tma::boxes_of_group(s),
                      .steps = repeats * (chases ? tma::loads_of_repeat : tma::boxes_of_repeat),
                      .cluster = s.cluster,
                      .begin = chases ? static_cast<std::uint32_t>(order_.at(walked_ % order_.count())) : 0,
                      .results = results(),
                      .records = bench().record(s.blocks),
                      .launch = bench().launch()};
    if (is(Operation::write))  // what is missing is then no older run's
      cuda::check(cudaMemsetAsync(memory_.data(), 0, s.bytes, stream()), "clearing the set");
    const BoxKernel kernel = kernel_of(question().operation, s.rung);
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {std::max(s.cluster, 1u), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = s.blocks;
    config.blockDim = chases ? warp_lanes : s.threads;
    // So much that no two blocks share a multiprocessor.
    config.dynamicSmemBytes =
        std::max(static_cast<std::uint32_t>(s.threads / warp_lanes * s.ilp * s.access_bytes), least_shared());
    config.stream = stream();
    config.attrs = &cluster;
    config.numAttrs = 1;
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(config.dynamicSmemBytes)),
                "giving blocks their shared memory");
    const ProbeSample sample = bench().time_kernel(
        repeats, [&] { cuda::check(cudaLaunchKernelEx(&config, kernel, boxes, map_), "launching bulk copies"); });
    if (chases) walked_ += boxes.steps;
    if (is(Operation::write)) sum_boxes<<<s.blocks, s.threads, 0, stream()>>>(boxes);
    cuda::check(cudaGetLastError(), "adding up what was written");
    return sample;
  }
  std::uint32_t least_shared() const { return shared_bytes_to_be_alone(*ordinal_of(question().device)); }

  std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const override {
    const Shape& s = shape();
    if (is(Operation::chase)) return static_cast<std::uint32_t>(order_.at(walked_ % order_.count()));
    const std::uint32_t units = s.access_bytes / unit_bytes, lane = thread % warp_lanes;
    const std::uint32_t clusters = s.rung == tma::multicast ? s.cluster : 1;
    const std::uint32_t group = block / clusters * (s.threads / warp_lanes) + thread / warp_lanes;
    const std::uint64_t steps = repeats * tma::boxes_of_repeat, boxes = tma::boxes_of_group(s);
    if (is(Operation::read)) {  // unit u has the words 4u .. 4u+3
      const std::uint64_t all = tma::groups(s) * sum_of_cycle(0, steps, boxes) + steps * group;
      const std::uint64_t of_box = units <= warp_lanes
                                       ? steps * (lane % units)
                                       : warp_lanes * sum_of_cycle(0, steps, units / warp_lanes) + steps * lane;
      return pattern_word(16 * (units * all + of_box) + 6 * steps);
    }
    std::uint32_t sum = 0;
    for (std::uint64_t box = 0; box < std::min(boxes, steps); ++box) {
      const std::uint64_t last = box + (steps - 1 - box) / boxes * boxes;
      const auto slot = static_cast<std::uint32_t>(last % s.ilp);
      if (slot_sums_.size() != s.ilp || slot_of_ != std::pair(group, lane)) sum_slots(group, lane, units);
      sum += slot_sums_[slot];
    }
    return sum;
  }
  // Sums, for each place of a group, all words that a lane adds up of a box that came from there.
  void sum_slots(std::uint32_t group, std::uint32_t lane, std::uint32_t units) const {
    slot_of_ = {group, lane};
    slot_sums_.assign(shape().ilp, 0);
    for (std::uint32_t slot = 0; slot < shape().ilp; ++slot)
      for (std::uint32_t unit = lane; unit < units; unit += warp_lanes)
        slot_sums_[slot] += 4 * stored(group, slot, unit) + 6;
  }

  Buffer memory_;
  CUtensorMap map_{};
  Permutation order_{1};
  std::uint64_t walked_ = 0;  // since the set was laid out
  mutable std::pair<std::uint32_t, std::uint32_t> slot_of_{};
  mutable std::vector<std::uint32_t> slot_sums_;
};

std::optional<std::string> lacks_bulk_copies(const ProbeCase& c) {
  if (capability_of(c) >= 90) return std::nullopt;
  return c.device + " has no bulk copies, which need compute capability 9.0";
}
std::optional<std::string> refuses_stores(const ProbeCase& c, const Shape& shape) {
  if (c.operation == Operation::write && shape.ilp != 1 && shape.ilp != 2 && shape.ilp != 4 && shape.ilp != 8)
    return std::to_string(shape.ilp) + " stores under way: 1, 2, 4 or 8";
  return std::nullopt;
}
Limit limit_of_copies(const ProbeCase& c, const Layout& l) {
  if (c.operation == Operation::chase) return {not_measured, "none: a latency has no peak"};
  if (c.space == Space::l2)
    return {not_measured, "unknown: neither driver nor guide gives the bandwidth of this cache"};
  return limit_of_memory(c, l);
}

const Cuda tma_probe({{.name = "tma",
                       .open = runs<TmaRunner>,
                       .shapes = [](const ProbeCase& c,
                                    const Layout& l) { return tma::shapes(c, l, multicasts_at_once); },
                       .lacks = lacks_bulk_copies,
                       .refuses = refuses_stores,
                       .limit = limit_of_copies}});

}  // namespace
}  // namespace npgpu::cuda
