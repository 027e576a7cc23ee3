// Latency of a GPU's memories: one thread chases pointers through a set in random order, over growing sets. The steps
// in it are the levels; no size of one is used here.
//
// global    A pointer every 128 B, which is the line of both caches: smaller steps would find neighbours of what was
//           loaded in the same line. Loads go through L1 (ld.ca), of which as little as possible is left to shared
//           memory. A launch empties L1, so each begins with a walk that is not timed. L2 is warmed once a set, by one
//           block, so on the same side of it, in the order of the chase: what a full cache has forgotten is then what
//           the chase asks for next, and the timed loads, though fewer than the set has lines, are fair.
// rmw       The same by atomics that change nothing. An L2 in two partitions (A100, H100, H200) keeps a copy of a far
//           line in the near partition for whoever loads it; so one multiprocessor's loads lose part of a set long
//           before it is as large as both partitions, and show the near one only. An atomic works where the line lives
//           and leaves no copy: its step is where all of L2 ends.
// shared    Words in random order.
// constant  A word every 64 B, the line of the first cache of constants, by indexed loads; making the index is in the
//           time of each, so that latencies here are some cycles above those of a load alone.

#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/shapes.hpp"
#include "probes/walks.hpp"

namespace npgpu::cuda {

namespace {

constexpr std::uint64_t line_bytes = 128, constant_line = 64, word_bytes = 4;
constexpr std::uint64_t min_global = 4 * KiB, max_global = GiB, max_shared = 32 * KiB, max_constant = 64 * KiB;
constexpr unsigned loads_of_repeat = 512, unrolled = 16;
// Beyond any first-level cache, and short: 512 KiB of lines.
constexpr std::uint64_t max_warm_loads = 4096;

__constant__ std::uint32_t constants[max_constant / sizeof(std::uint32_t)];

// What one thread leaves: where it got to, and how long it took by the device's own timer. Events would count the walk
// that warms the first level.
struct Readback {
  std::uint64_t at;
  std::uint64_t ns;
};

struct Chase {
  std::uint64_t begin;       // address, or offset in its space
  std::uint64_t warm_begin;  // where a walk of warm_loads that ends at begin starts
  std::uint64_t warm_loads;
  std::uint64_t loads;
  const std::uint32_t* links;  // shared: what is copied there first
  std::uint32_t words;
  Readback* readback;
  BlockRecord* records;
  std::uint32_t launch;
};

struct Global {
  using Place = std::uint64_t;
  static __device__ void fill(const Chase&) {}
  static __device__ void step(Place& p) { asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory"); }
};
struct Atomic {
  using Place = std::uint64_t;
  static __device__ void fill(const Chase&) {}
  static __device__ void step(Place& p) {
    asm volatile("atom.global.or.b64 %0, [%0], %1;" : "+l"(p) : "l"(0ull) : "memory");
  }
};
struct Shared {
  using Place = std::uint32_t;
  static __device__ std::uint32_t* memory() {
    __shared__ std::uint32_t words[max_shared / sizeof(std::uint32_t)];
    return words;
  }
  // Addresses within shared memory, so that a load needs no sum.
  static __device__ void fill(const Chase& c) {
    const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory()));
    for (std::uint32_t i = threadIdx.x; i < c.words; i += blockDim.x) memory()[i] = base + c.links[i];
    __syncthreads();
  }
  static __device__ void step(Place& p) { asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory"); }
};
struct Constant {
  using Place = std::uint32_t;
  static __device__ void fill(const Chase&) {}
  static __device__ void step(Place& p) { p = constants[p / sizeof(std::uint32_t)]; }
};

template <class Memory> __device__ void walk(typename Memory::Place& p, std::uint64_t loads) {
#pragma unroll 1
  for (; loads >= unrolled; loads -= unrolled) {
#pragma unroll
    for (unsigned i = 0; i < unrolled; ++i) Memory::step(p);
  }
#pragma unroll 1
  for (; loads; --loads) Memory::step(p);
}

__device__ std::uint64_t timer_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

// Thread 0 chases; others, where there are any, only fill shared memory.
template <class Memory> __global__ void chase(Chase c) {
  Memory::fill(c);
  typename Memory::Place base = 0;
  if constexpr (std::is_same_v<Memory, Shared>)
    base = static_cast<std::uint32_t>(__cvta_generic_to_shared(Memory::memory()));
  auto p = static_cast<typename Memory::Place>(base + c.warm_begin);
  if (threadIdx.x == 0) walk<Memory>(p, c.warm_loads);
  const BlockClock clock(true);
  if (threadIdx.x == 0) {
    const std::uint64_t begin = timer_ns();
    walk<Memory>(p, c.loads);
    // A use of p before the timer is read: the last load is waited for.
    if (static_cast<std::uint64_t>(p) == ~0ull) c.readback->at = 1;
    const std::uint64_t end = timer_ns();
    *c.readback = {static_cast<std::uint64_t>(p - base), end - begin};
  }
  clock.write(c.records, c.launch);
}

__global__ void link(std::byte* memory, Permutation order) {
  const std::uint64_t count = order.count();
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t next = order.at(i + 1 < count ? i + 1 : 0);
    *reinterpret_cast<std::byte**>(memory + order.at(i) * line_bytes) = memory + next * line_bytes;
  }
}

// Through L2 in the order of the chase, by one block. A line without a pointer traps: it cannot be, and so the load is
// used.
__global__ void __launch_bounds__(1024) touch(std::byte* memory, Permutation order, bool atomic) {
  const std::uint64_t count = order.count();
#pragma unroll 4
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    auto* const line = reinterpret_cast<unsigned long long*>(memory + order.at(i) * line_bytes);
    if ((atomic ? atomicOr(line, 0ull) : __ldcg(line)) == 0) __trap();
  }
}

std::uint64_t step_of(Space space) {
  return space == Space::global ? line_bytes : space == Space::constant ? constant_line : word_bytes;
}
std::uint32_t access_of(Space space) { return space == Space::global ? 8 : 4; }
std::uint64_t max_bytes_in(Space space) {
  return space == Space::shared ? max_shared : space == Space::constant ? max_constant : ~0ull;
}

class LatencyRunner final : public CudaProbeRunner {
 public:
  LatencyRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps),
        memory_(Memory::device, std::max(max_bytes(), line_bytes)),
        readback_(Memory::device, sizeof(Readback)) {
    cuda::check(
        cudaFuncSetAttribute(chase<Global>, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1),
        "leaving as much as possible to L1");
  }
  double work() const override { return loads_of_repeat; }
  std::string binding() const override {
    return CudaProbeRunner::binding() + "; an element every " + std::to_string(step_of(space())) + " bytes";
  }

 private:
  Space space() const { return question().space; }
  bool atomic() const { return question().operation == Operation::rmw; }
  void set_up() override {
    bench().gpu().make_current();
    order_ = Permutation(shape().bytes / step_of(space()));
    walked_ = 0;
    space() == Space::global ? link_lines() : link_words();
    cuda::check(cudaStreamSynchronize(stream()), "laying out the chase");
    timed(0);  // the driver loads a kernel at its first launch, which no trial should wait for
  }
  // Goes on where the last run ended: a set larger than one run's loads is visited in all its parts.
  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    const std::uint64_t loads = repeats * loads_of_repeat;
    ProbeSample sample = timed(loads);
    walked_ += loads;
    cuda::check(cudaMemcpyAsync(&end_, readback_.data(), sizeof end_, cudaMemcpyDeviceToHost, stream()),
                "reading where the chase ended");
    cuda::check(cudaStreamSynchronize(stream()), "reading where the chase ended");
    sample.device_us = static_cast<double>(end_.ns) * 1e-3;
    return sample;
  }
  std::optional<std::string> wrong_result() override {
    if (end_.at == address(walked_)) return std::nullopt;
    return "after " + std::to_string(walked_) + " loads the chase is not at element " +
           std::to_string(order_.at(walked_ % order_.count())) + ", where its order leads";
  }
  void link_lines() {
    link<<<1024, 256, 0, stream()>>>(memory_.data(), order_);
    touch<<<1, 1024, 0, stream()>>>(memory_.data(), order_, atomic());
    cuda::check(cudaGetLastError(), "laying out the chase");
  }
  // In the stream of the kernels: a copy from pageable memory in the default stream may return before the words are on
  // the device, and nothing orders that stream before this one.
  void link_words() {
    const std::uint64_t step = step_of(space()), words_of_step = step / word_bytes, count = order_.count();
    std::vector<std::uint32_t> words(count * words_of_step);
    for (std::uint64_t i = 0; i < count; ++i)
      words[order_.at(i) * words_of_step] = static_cast<std::uint32_t>(order_.at((i + 1) % count) * step);
    words_ = static_cast<std::uint32_t>(words.size());
    void* to = memory_.data();
    if (space() == Space::constant) cuda::check(cudaGetSymbolAddress(&to, constants), "finding constant memory");
    cuda::check(cudaMemcpyAsync(to, words.data(), words.size() * word_bytes, cudaMemcpyHostToDevice, stream()),
                "laying out the chase");
    cuda::check(cudaStreamSynchronize(stream()), "laying out the chase");  // before `words` goes
  }
  // Where a chase is after so many loads.
  std::uint64_t address(std::uint64_t loads) const {
    const std::uint64_t offset = order_.at(loads % order_.count()) * step_of(space());
    return space() == Space::global ? reinterpret_cast<std::uint64_t>(memory_.data()) + offset : offset;
  }
  ProbeSample timed(std::uint64_t loads) {
    const std::uint64_t count = order_.count(), warm = loads && !atomic() ? std::min(count, max_warm_loads) : 0;
    const Chase c{.begin = address(walked_),
                  .warm_begin = address(walked_ % count + count - warm),
                  .warm_loads = warm,
                  .loads = loads,
                  .links = reinterpret_cast<const std::uint32_t*>(memory_.data()),
                  .words = words_,
                  .readback = reinterpret_cast<Readback*>(readback_.data()),
                  .records = bench().record(1),
                  .launch = bench().launch()};
    const auto kernel = atomic()                   ? chase<Atomic>
                        : space() == Space::global ? chase<Global>
                        : space() == Space::shared ? chase<Shared>
                                                   : chase<Constant>;
    return bench().time_kernel(loads, [&] { kernel<<<1, space() == Space::shared ? 256 : 1, 0, stream()>>>(c); });
  }

  Buffer memory_, readback_;
  Permutation order_{1};
  std::uint32_t words_ = 0;
  std::uint64_t walked_ = 0;  // since the set was laid out
  Readback end_{};            // of the last run
};

std::vector<Shape> shapes_of_chase(const ProbeCase& c, const Layout& l) {
  const int of_octave = c.space == Space::shared                                      ? 1
                        : c.space == Space::constant || c.operation == Operation::rmw ? 4
                                                                                      : 8;
  const std::uint64_t least = c.space == Space::global ? min_global : c.space == Space::shared ? KiB : 512;
  const std::uint64_t most = c.space == Space::global   ? std::min(max_global, l.memory_bytes / 4)
                             : c.space == Space::shared ? max_shared
                                                        : max_constant;
  return chase_shapes(access_of(c.space), step_of(c.space), least, most, of_octave);
}
std::optional<std::string> refuses_chase(const ProbeCase& c) {
  if ((c.operation != Operation::chase && c.operation != Operation::rmw) || c.form != Form::dependent)
    return "probe latency has the operations chase, and rmw, which is a chase by atomics; both are dependent";
  if (c.operation == Operation::rmw && c.space != Space::global) return "atomics chase through global memory only";
  if (c.space != Space::global && c.space != Space::shared && c.space != Space::constant)
    return "probe latency chases through global, shared or constant memory";
  if (c.type != (c.space == Space::global ? DataType::fp64 : DataType::fp32))
    return "a chase loads addresses: 8 bytes of global memory, as fp64, or 4 of the others, as fp32";
  return std::nullopt;
}
std::optional<std::string> refuses_shape_of_chase(const ProbeCase& c, const Shape& shape) {
  return refuses_chase_shape(shape, access_of(c.space), step_of(c.space), max_bytes_in(c.space));
}

const Cuda latency_probe({{.name = "latency",
                           .open = runs<LatencyRunner>,
                           .shapes = shapes_of_chase,
                           .refuses_case = refuses_chase,
                           .refuses = refuses_shape_of_chase,
                           .any_grid = true}});

}  // namespace
}  // namespace npgpu::cuda
