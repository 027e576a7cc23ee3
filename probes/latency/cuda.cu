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
#include <cmath>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "probes/block_clock.cuh"
#include "probes/latency/permutation.hpp"

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
  Readback* told;
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

template <class Memory>
__device__ void walk(typename Memory::Place& p, std::uint64_t loads) {
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
template <class Memory>
__global__ void chase(Chase c) {
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
    if (static_cast<std::uint64_t>(p) == ~0ull) c.told->at = 1;
    const std::uint64_t end = timer_ns();
    *c.told = {static_cast<std::uint64_t>(p - base), end - begin};
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

class LatencyKernel final : public Runner<Probes> {
 public:
  LatencyKernel(const ProbeCase& c, std::uint64_t max_bytes)
      : space_(c.space),
        atomic_(c.operation == Operation::rmw),
        access_(space_ == Space::global ? 8 : 4),
        bench_(ordinal_or_throw(c.device)),
        max_bytes_(max_bytes),
        memory_(Memory::device, std::max(max_bytes, line_bytes)),
        told_(Memory::device, sizeof(Readback)) {
    if (space_ == Space::global)
      check(cudaFuncSetAttribute(chase<Global>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxL1),
            "leaving as much as possible to L1");
  }

  void prepare(const Shape& shape) override {
    if (shape.blocks != 1 || shape.threads != 1 || shape.ilp != 1 || shape.access_bytes != access_)
      throw Error(ErrorKind::usage, "probe latency: a chase has one block, one thread and one access of " +
                                        std::to_string(access_) + " bytes in flight");
    const std::uint64_t most = space_ == Space::shared     ? max_shared
                               : space_ == Space::constant ? max_constant
                                                           : ~0ull;
    if (shape.bytes < step_of(space_) || shape.bytes > std::min(most, max_bytes_))
      throw Error(ErrorKind::usage, "--bytes: " + std::to_string(shape.bytes) + " bytes; this chase takes " +
                                        std::to_string(step_of(space_)) + " to " +
                                        std::to_string(std::min(most, max_bytes_)));
    bench_.make_current();
    order_ = Permutation(shape.bytes / step_of(space_));
    walked_ = 0;
    if (space_ == Space::global)
      link_lines();
    else
      link_words();
    launch(0);  // the driver loads a kernel at its first launch, which no trial should wait for
  }

  double work() const override { return loads_of_repeat; }

  // Goes on where the last run ended: a set larger than one run's loads is visited in all its parts.
  RunTimes run(std::uint64_t repeats) override {
    if (repeats < 1) throw Error(ErrorKind::usage, "probe latency: at least 1 repeat");
    bench_.make_current();
    const std::uint64_t loads = repeats * loads_of_repeat;
    RunTimes ran = launch(loads);
    walked_ += loads;
    at_ = told();
    ran.device = Seconds{static_cast<double>(at_.ns) * 1e-9};
    return ran;
  }

  std::optional<std::string> intact() override {
    if (!walked_) return "nothing has run since this shape was prepared";
    const std::uint64_t right = address(walked_);
    if (at_.at == right) return std::nullopt;
    return "after " + std::to_string(walked_) + " loads the chase is not at element " +
           std::to_string(order_.at(walked_ % order_.count())) + ", where its order leads";
  }

  const Clock& clock() const override { return bench_.clock(); }
  Telemetry telemetry() override { return bench_.telemetry(); }
  std::string binding() const override {
    return bench_.binding() + "; an element every " + std::to_string(step_of(space_)) + " bytes";
  }

 private:
  void link_lines() {
    link<<<1024, 256, 0, bench_.stream()>>>(memory_.data(), order_);
    touch<<<1, 1024, 0, bench_.stream()>>>(memory_.data(), order_, atomic_);
    check(cudaGetLastError(), "laying out the chase");
    check(cudaStreamSynchronize(bench_.stream()), "laying out the chase");
  }
  void link_words() {
    const std::uint64_t apart = step_of(space_) / word_bytes, count = order_.count();
    std::vector<std::uint32_t> words(count * apart);
    for (std::uint64_t i = 0; i < count; ++i)
      words[order_.at(i) * apart] = static_cast<std::uint32_t>(order_.at((i + 1) % count) * step_of(space_));
    words_ = static_cast<std::uint32_t>(words.size());
    if (space_ == Space::constant)
      check(cudaMemcpyToSymbol(constants, words.data(), words.size() * word_bytes), "laying out the chase");
    else
      check(cudaMemcpy(memory_.data(), words.data(), words.size() * word_bytes, cudaMemcpyHostToDevice),
            "laying out the chase");
  }

  // Of the element where a chase is after so many loads.
  std::uint64_t address(std::uint64_t loads) const {
    const std::uint64_t offset = order_.at(loads % order_.count()) * step_of(space_);
    return space_ == Space::global ? reinterpret_cast<std::uint64_t>(memory_.data()) + offset : offset;
  }

  RunTimes launch(std::uint64_t loads) {
    const std::uint64_t count = order_.count(), warm = loads && !atomic_ ? std::min(count, max_warm_loads) : 0;
    const Chase c{.begin = address(walked_),
                  .warm_begin = address(walked_ % count + count - warm),
                  .warm_loads = warm,
                  .loads = loads,
                  .links = reinterpret_cast<const std::uint32_t*>(memory_.data()),
                  .words = words_,
                  .told = reinterpret_cast<Readback*>(told_.data()),
                  .records = bench_.record(1),
                  .launch = bench_.launch()};
    return bench_.time(
        [&] {
          if (atomic_)
            chase<Atomic><<<1, 1, 0, bench_.stream()>>>(c);
          else if (space_ == Space::global)
            chase<Global><<<1, 1, 0, bench_.stream()>>>(c);
          else if (space_ == Space::shared)
            chase<Shared><<<1, 256, 0, bench_.stream()>>>(c);
          else
            chase<Constant><<<1, 1, 0, bench_.stream()>>>(c);
        },
        true);
  }

  Readback told() const {
    Readback told{};
    check(cudaMemcpy(&told, told_.data(), sizeof told, cudaMemcpyDeviceToHost), "reading where the chase ended");
    return told;
  }

  Space space_;
  bool atomic_;
  std::uint32_t access_;
  ProbeBench bench_;
  std::uint64_t max_bytes_;
  Buffer memory_, told_;
  Permutation order_{1};
  std::uint32_t words_ = 0;
  std::uint64_t walked_ = 0;  // since the set was laid out
  Readback at_{};
};

class LatencyProbe final : public Probe {
 public:
  std::string_view name() const override { return "latency"; }
  std::string_view kind() const override { return "cuda"; }
  std::string_view summary() const override { return "loads that wait for each other, over growing sets of memory"; }
  std::vector<DeviceInfo> devices() const override { return inventory(); }
  std::string why_none() const override { return why_no_device(); }

  std::vector<ProbeCase> cases(const std::string& device) const override {
    std::vector<ProbeCase> all;
    const auto add = [&](Operation operation, Space space) {
      const ProbeCase c{.probe = "latency",
                        .device = device,
                        .operation = operation,
                        .type = space == Space::global ? DataType::fp64 : DataType::fp32,
                        .form = Form::dependent,
                        .space = space};
      if (!refuses(c)) all.push_back(c);
    };
    add(Operation::chase, Space::global);
    add(Operation::rmw, Space::global);
    add(Operation::chase, Space::shared);
    add(Operation::chase, Space::constant);
    return all;
  }
  std::optional<std::string> refuses(const ProbeCase& c) const override {
    if (const auto why = why_not_there(c.device)) return why;
    if ((c.operation != Operation::chase && c.operation != Operation::rmw) || c.form != Form::dependent)
      return "probe latency asks for a chase, or for rmw, which is one by atomics; both are dependent";
    if (c.operation == Operation::rmw && c.space != Space::global) return "atomics chase through global memory alone";
    if (c.space != Space::global && c.space != Space::shared && c.space != Space::constant)
      return "probe latency chases through global, shared or constant memory";
    if (c.type != (c.space == Space::global ? DataType::fp64 : DataType::fp32))
      return "a chase loads addresses: 8 bytes of global memory, as fp64, or 4 of the others, as fp32";
    return std::nullopt;
  }
  Layout layout(const ProbeCase& c) const override { return layout_of(ordinal_or_throw(c.device)); }
  Limit peak(const ProbeCase&) const override { return {not_measured, "none: a latency has no peak"}; }

  std::vector<Shape> shapes(const ProbeCase& c) const override {
    const std::uint64_t step = step_of(c.space);
    const int of_octave = c.space == Space::shared                                      ? 1
                          : c.space == Space::constant || c.operation == Operation::rmw ? 4
                                                                                        : 8;
    const std::uint64_t least = c.space == Space::global ? min_global : c.space == Space::shared ? KiB : 512;
    const std::uint64_t most = c.space == Space::global   ? std::min(max_global, layout(c).memory_bytes / 4)
                               : c.space == Space::shared ? max_shared
                                                          : max_constant;
    std::vector<Shape> all;
    for (int i = 0;; ++i) {
      const double exact = static_cast<double>(least) * std::exp2(static_cast<double>(i) / of_octave);
      const auto bytes = static_cast<std::uint64_t>(std::llround(exact / static_cast<double>(step))) * step;
      if (bytes > most) return all;
      const Shape shape{.access_bytes = c.space == Space::global ? 8u : 4u, .bytes = bytes, .one_block_per_sm = 1};
      if (all.empty() || all.back().bytes != bytes) all.push_back(shape);
    }
  }
  std::unique_ptr<Runner<Probes>> open(const ProbeCase& c, std::uint64_t max_bytes) const override {
    if (const auto why = refuses(c)) throw Error(inventory().empty() ? ErrorKind::nothing : ErrorKind::usage, *why);
    return std::make_unique<LatencyKernel>(c, max_bytes);
  }
};

}  // namespace

}  // namespace npgpu::cuda

NPGPU_PROBE(npgpu::cuda::LatencyProbe)
