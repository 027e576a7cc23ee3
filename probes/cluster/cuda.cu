// Shared memory of other blocks of a cluster (distributed shared memory, compute capability 9.0 and later).
//
// chase   A place of the memory that is reached has the address of the next, as the whole cluster sees it, in random
//         order; so a load needs no sum. Each is a 64-bit generic load (LD), as the compiler makes of every load from
//         another block.
// read    Of each block the words are known, and each thread adds up what it reads.
// write   What a thread writes holds block and step; afterwards each block adds up its own memory.
//
// All blocks begin and end together, at barriers of the cluster: no block's memory goes while another reaches for it.
// Each has so much shared memory that none shares its multiprocessor.

#include <algorithm>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cluster/shapes.hpp"
#include "probes/cuda.hpp"
#include "probes/walks.hpp"

namespace npgpu::cuda {

namespace {

using cluster::word_bytes;

constexpr unsigned chase_threads = 128, unrolled = 32;

struct Reach {
  std::uint32_t words;  // of each block's memory; chase: places
  std::uint32_t cluster, on;
  std::uint32_t steps;         // chase: loads
  const std::uint32_t* links;  // chase: of each word the next one's place
  std::uint32_t begin;         // chase: place of the first load
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

__device__ void meet() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
__device__ std::uint32_t rank() {
  std::uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
// The generic address at which a block of the cluster reaches what another has at `own`.
__device__ std::uint64_t address_in(const void* own, std::uint32_t rank) {
  auto address = reinterpret_cast<std::uint64_t>(own);
#if __CUDA_ARCH__ >= 900
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(reinterpret_cast<std::uint64_t>(own)), "r"(rank));
#endif
  return address;
}
__device__ std::uint32_t reached(const Reach& r) { return (rank() + r.on) % r.cluster; }

__global__ void __launch_bounds__(chase_threads) chase_cluster(Reach r) {
  extern __shared__ std::uint64_t links[];
  for (std::uint32_t i = threadIdx.x; i < r.words; i += blockDim.x) links[i] = address_in(links + r.links[i], rank());
  const std::uint64_t base = address_in(links, reached(r));
  meet();
  const BlockClock clock(true);
  std::uint64_t p = base + r.begin * sizeof(std::uint64_t);
  if (rank() == 0 && threadIdx.x == 0) {
    std::uint32_t loads = r.steps;
#pragma unroll 1
    for (; loads >= unrolled; loads -= unrolled) {
#pragma unroll
      for (unsigned i = 0; i < unrolled; ++i) asm volatile("ld.u64 %0, [%0];" : "+l"(p)::"memory");
    }
    if (p == 0) r.results[0] = 1;  // the last load is waited for
  }
  clock.write(r.records, r.launch);
  if (threadIdx.x == 0)
    r.results[blockIdx.x] = rank() == 0 ? static_cast<std::uint32_t>((p - base) / sizeof(std::uint64_t)) : blockIdx.x;
  meet();
}

__device__ std::uint32_t sum_of_words(const uint4& x) { return x.x + x.y + x.z + x.w; }

template <unsigned ilp> __global__ void __launch_bounds__(1024) read_cluster(Reach r) {
  extern __shared__ std::uint32_t own[];
  for (std::uint32_t i = threadIdx.x; i < r.words; i += blockDim.x) own[i] = pattern_word(i) + blockIdx.x;
  const std::uint32_t of_step = blockDim.x * ilp * sizeof(uint4), all = r.words * word_bytes;
  const std::uint64_t base = address_in(own, reached(r)) + threadIdx.x * sizeof(uint4);
  std::uint32_t sum = 0, at = 0;
  meet();
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < r.steps; ++step) {
    uint4 x[ilp];
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k)
      asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[k].x), "=r"(x[k].y), "=r"(x[k].z), "=r"(x[k].w)
                   : "l"(base + at + k * blockDim.x * sizeof(uint4)));
    at += of_step;
    if (at >= all) at = 0;
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k) sum += sum_of_words(x[k]);
  }
  clock.write(r.records, r.launch);
  r.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  meet();
}

// The first of four words that a block writes in a step.
__host__ __device__ std::uint32_t written(std::uint32_t block, std::uint32_t step) {
  return pattern_word(step + 1) + block;
}

template <unsigned ilp> __global__ void __launch_bounds__(1024) write_cluster(Reach r) {
  extern __shared__ uint4 taken[];
  const std::uint32_t units = r.words * word_bytes / sizeof(uint4), of_step = blockDim.x * ilp * sizeof(uint4);
  const std::uint32_t all = r.words * word_bytes;
  for (std::uint32_t i = threadIdx.x; i < units; i += blockDim.x) taken[i] = {};
  const std::uint64_t base = address_in(taken, reached(r)) + threadIdx.x * sizeof(uint4);
  std::uint32_t at = 0;
  meet();
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < r.steps; ++step) {
    const std::uint32_t first = written(blockIdx.x, step);
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k)
      asm volatile("st.v4.u32 [%4], {%0, %1, %2, %3};" ::"r"(first), "r"(first + k), "r"(first + 2), "r"(first + 3),
                   "l"(base + at + k * blockDim.x * sizeof(uint4))
                   : "memory");
    at += of_step;
    if (at >= all) at = 0;
  }
  meet();  // what was written is there
  clock.write(r.records, r.launch);
  std::uint32_t sum = 0;
  for (std::uint32_t i = threadIdx.x; i < units; i += blockDim.x) sum += sum_of_words(taken[i]);
  r.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

using ClusterKernel = void (*)(Reach);

ClusterKernel kernel_of(Operation operation, unsigned ilp) {
  if (operation == Operation::chase) return chase_cluster;
  if (operation == Operation::read) return ilp == 1 ? read_cluster<1> : read_cluster<4>;
  return ilp == 1 ? write_cluster<1> : write_cluster<4>;
}
std::uint32_t threads_of(Operation operation, const Shape& s) {
  return operation == Operation::chase ? chase_threads : s.threads;
}

// A launch of blocks in clusters, each with so much shared memory.
struct ClusterLaunch {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
  ClusterLaunch(ClusterKernel kernel, std::uint32_t blocks, std::uint32_t threads, std::uint32_t shared_bytes,
                std::uint32_t size, cudaStream_t stream) {
    cuda::check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
        "giving blocks of a cluster their shared memory");
    if (size > cluster::portable)
      cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                  "allowing clusters of more than 8 blocks");
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size, 1, 1};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;
};

// As much as a block takes, whatever is asked of it: no two of them fit a multiprocessor.
std::uint32_t shared_of(int ordinal, std::uint64_t bytes) {
  return std::max(static_cast<std::uint32_t>(bytes), shared_bytes_to_be_alone(ordinal));
}

std::uint32_t clusters_at_once(const std::string& device, std::uint32_t size) {
  const int ordinal = ordinal_or_throw(device);
  make_current(ordinal);
  const ClusterLaunch launch(read_cluster<1>, size, 1024, shared_of(ordinal, cluster::set_bytes), size, nullptr);
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, read_cluster<1>, &launch.config) != cudaSuccess) {
    (void)cudaGetLastError();  // a size that the device does not have is no error of ours
    return 0;
  }
  return static_cast<std::uint32_t>(clusters);
}

class ClusterRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return cluster::work(question(), shape()); }

 private:
  bool chases() const { return question().operation == Operation::chase; }
  std::uint64_t of_repeat() const { return chases() ? cluster::loads_of_repeat : cluster::steps_of_repeat; }
  std::uint32_t words() const {
    return static_cast<std::uint32_t>(shape().bytes / (chases() ? cluster::place_bytes : word_bytes));
  }
  void set_up() override {
    bench().gpu().make_current();
    if (chases()) {
      order_ = Permutation(words());
      std::vector<std::uint32_t> links(words());
      for (std::uint32_t i = 0; i < words(); ++i)
        links[order_.at(i)] = static_cast<std::uint32_t>(order_.at((i + 1) % words()));
      links_ = Buffer(Memory::device, links.size() * word_bytes);
      cuda::check(
          cudaMemcpyAsync(links_.data(), links.data(), links.size() * word_bytes, cudaMemcpyHostToDevice, stream()),
          "laying out the chase");
      cuda::check(cudaStreamSynchronize(stream()), "laying out the chase");  // before `links` goes
    }
    make_ready();
  }
  ProbeSample timed(std::uint32_t repeats) override {
    if (repeats > UINT32_MAX / of_repeat())
      throw Error(ErrorKind::usage, "probe cluster: at most " + std::to_string(UINT32_MAX / of_repeat()) + " repeats");
    const auto kernel = kernel_of(question().operation, shape().ilp);
    const ClusterLaunch launch(kernel, shape().blocks, threads_of(question().operation, shape()),
                               shared_of(*ordinal_of(question().device), shape().bytes), shape().cluster, stream());
    const Reach reach{.words = words(),
                      .cluster = shape().cluster,
                      .on = shape().stride,
                      .steps = static_cast<std::uint32_t>(repeats * of_repeat()),
                      .links = reinterpret_cast<const std::uint32_t*>(links_.data()),
                      .begin = chases() ? static_cast<std::uint32_t>(order_.at(0)) : 0,
                      .results = results(),
                      .records = bench().record(shape().blocks),
                      .launch = bench().launch()};
    return bench().time_kernel(repeats, [&] {
      cuda::check(cudaLaunchKernelEx(&launch.config, kernel, reach), "launching blocks in clusters");
    });
  }
  std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const override {
    const std::uint64_t steps = repeats * of_repeat();
    if (chases()) return block ? block : static_cast<std::uint32_t>(order_.at(steps % words()));
    const std::uint32_t ilp = shape().ilp, threads = shape().threads;
    const std::uint64_t chunks = shape().bytes / (std::uint64_t{16} * ilp * threads);
    const auto in_cluster = [&](std::uint32_t on) {  // of this block's cluster
      return block / shape().cluster * shape().cluster + (block + on) % shape().cluster;
    };
    if (question().operation == Operation::read) {  // places 4u .. 4u+3 of units u, and of each word the block's number
      const std::uint64_t chunk_sum = steps / chunks * sum_below(chunks) + sum_below(steps % chunks);
      const std::uint64_t units =
          chunk_sum * ilp * ilp * threads + steps * (threads * sum_below(ilp) + std::uint64_t{ilp} * thread);
      const std::uint64_t loads = steps * ilp;
      return pattern_word(16 * units + 6 * loads) + static_cast<std::uint32_t>(4 * loads * in_cluster(shape().stride));
    }
    const std::uint32_t from = in_cluster(shape().cluster - shape().stride);
    std::uint32_t sum = 0;
    for (std::uint64_t chunk = 0; chunk < std::min(chunks, steps); ++chunk) {
      const std::uint64_t last = chunk + (steps - 1 - chunk) / chunks * chunks;
      for (std::uint32_t k = 0; k < ilp; ++k) sum += 4 * written(from, static_cast<std::uint32_t>(last)) + k + 5;
    }
    return sum;
  }

  Buffer links_;
  Permutation order_{1};
};

std::optional<std::string> lacks_clusters(const ProbeCase& c) {
  if (capability_of(c) >= 90) return std::nullopt;
  return c.device + " has no clusters of blocks, which need compute capability 9.0";
}
std::optional<std::string> refuses_clusters(const ProbeCase& c, const Shape& shape) {
  if (clusters_at_once(c.device, shape.cluster) > 0) return std::nullopt;
  return c.device + " runs no clusters of " + std::to_string(shape.cluster) + " blocks of this probe";
}

const Cuda cluster_probe(
    {{.name = "cluster",
      .open = runs<ClusterRunner>,
      .shapes = [](const ProbeCase& c, const Layout&) { return cluster::shapes(c, clusters_at_once); },
      .lacks = lacks_clusters,
      .refuses = refuses_clusters,
      .limit = [](const ProbeCase&, const Layout&) -> Limit {
        return {not_measured, "unknown: neither driver nor guide gives the rates of a cluster's shared memory"};
      },
      .needs = [](std::span<const ProbeStep>) -> MemoryNeed {
        return {0, cluster::set_bytes};
      }}});

}  // namespace
}  // namespace npgpu::cuda
