// One multiprocessor's loads, or atomics that change nothing, of one line; see shapes.hpp. Every multiprocessor gets a
// block, and the one that is asked works: no launch can choose where a block runs. Loads go past L1.

#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/slices/shapes.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned unrolled_steps = 16;
// Blocks wait so long for the others; a device that has other work to do may let some come later.
constexpr std::uint64_t patience_ns = 20'000'000;

struct LineReadback {
  std::uint64_t at = 0;  // the address that the last load brought
  std::uint64_t ns = 0;  // by the device's own timer: events would count the waiting for each other
};

struct LineChase {
  std::uint64_t line;  // address of a word that holds it
  std::uint32_t unit;  // from 1 on
  std::uint32_t loads;
  std::uint32_t* arrived;
  LineReadback* readback;
  BlockRecord* records;
  std::uint32_t launch;
};

template <bool atomic> __device__ void walk_line(std::uint64_t& p, std::uint32_t loads) {
#pragma unroll 1
  for (; loads >= unrolled_steps; loads -= unrolled_steps) {
#pragma unroll
    for (unsigned i = 0; i < unrolled_steps; ++i)
      if constexpr (atomic) asm volatile("atom.global.or.b64 %0, [%0], %1;" : "+l"(p) : "l"(0ull) : "memory");
      else asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
  }
}

__device__ std::uint64_t line_timer_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

// A block that ended before the last one began would leave its multiprocessor to that one.
__device__ void wait_for_all(std::uint32_t* arrived) {
  const std::uint64_t begin = line_timer_ns();
  atomicAdd(arrived, 1u);
  while (atomicAdd(arrived, 0u) < gridDim.x && line_timer_ns() - begin < patience_ns) {
  }
}

template <bool atomic> __global__ void chase_line(LineChase c) {
  std::uint32_t unit;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
  wait_for_all(c.arrived);
  const bool is_asked = unit + 1 == c.unit;
  std::uint64_t p = c.line;
  if (is_asked) {
    walk_line<atomic>(p, unrolled_steps);
    if (p == 0) __trap();  // waits for the last of them
  }
  const BlockClock clock(true);
  if (is_asked) {
    const std::uint64_t begin = line_timer_ns();
    walk_line<atomic>(p, c.loads);
    if (p == 0) __trap();
    *c.readback = {p, line_timer_ns() - begin};
  }
  clock.write(c.records, c.launch);
}

class SlicesRunner final : public CudaProbeRunner {
 public:
  SlicesRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps),
        memory_(Memory::device, std::max(max_bytes(), slices::line_bytes)),
        counter_(Memory::device, sizeof(std::uint32_t)),
        readback_(Memory::device, sizeof(LineReadback)),
        alone_(shared_bytes_to_be_alone(ordinal_or_throw(question().device))) {
    for (const auto kernel : {chase_line<true>, chase_line<false>})
      cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(alone_)),
                  "giving a block its multiprocessor");
  }
  double work() const override { return slices::loads_of_repeat; }

 private:
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_.data()) + shape().offset_bytes; }
  void set_up() override {
    bench().gpu().make_current();
    const std::uint64_t line = address();
    cuda::check(
        cudaMemcpyAsync(memory_.data() + shape().offset_bytes, &line, sizeof line, cudaMemcpyHostToDevice, stream()),
        "writing the line");
    cuda::check(cudaStreamSynchronize(stream()), "writing the line");
    timed(0);  // the driver loads a kernel at its first launch, which no trial should wait for
  }
  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    ProbeSample sample = timed(repeats);
    cuda::check(cudaMemcpyAsync(&end_, readback_.data(), sizeof end_, cudaMemcpyDeviceToHost, stream()),
                "reading what the last load brought");
    cuda::check(cudaStreamSynchronize(stream()), "reading what the last load brought");
    sample.device_us = static_cast<double>(end_.ns) * 1e-3;
    return sample;
  }
  ProbeSample timed(std::uint64_t repeats) {
    const std::uint64_t loads = repeats * slices::loads_of_repeat;
    if (loads > UINT32_MAX) throw Error(ErrorKind::usage, "probe slices: at most 2^32 - 1 loads of a run");
    cuda::check(cudaMemsetAsync(counter_.data(), 0, counter_.bytes(), stream()), "clearing the counter of blocks");
    cuda::check(cudaMemsetAsync(readback_.data(), 0, readback_.bytes(), stream()), "poisoning the result");
    const LineChase chase{.line = address(),
                          .unit = shape().sm,
                          .loads = static_cast<std::uint32_t>(loads),
                          .arrived = reinterpret_cast<std::uint32_t*>(counter_.data()),
                          .readback = reinterpret_cast<LineReadback*>(readback_.data()),
                          .records = bench().record(shape().blocks),
                          .launch = bench().launch()};
    const auto kernel = question().operation == Operation::rmw ? chase_line<true> : chase_line<false>;
    return bench().time_kernel(repeats, [&] { kernel<<<shape().blocks, 1, alone_, stream()>>>(chase); });
  }
  std::optional<std::string> wrong_result() override {
    if (end_.at == address()) return std::nullopt;
    if (end_.at == 0) return "no block ran on multiprocessor " + std::to_string(shape().sm);
    return "the last load did not bring the line's address";
  }

  Buffer memory_, counter_, readback_;
  std::uint32_t alone_;
  LineReadback end_{};  // of the last run
};

class SlicesProbe final : public ProbeOf<CudaProbe, SlicesRunner> {
 public:
  std::string_view name() const override { return "slices"; }
  std::optional<std::string> refuses_shape(const ProbeCase& c, const Shape& shape) const override {
    if (auto why = refuses_grid(shape)) return why;
    if (const auto units = context(c).layout.units; shape.blocks != units)
      return "a grid has a block for each of the " + std::to_string(units) + " multiprocessors";
    return slices::refuses(shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return slices::shapes(c, context(c).layout); }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override { return slices::cases(device); }
  std::optional<std::string> refuses_question(const ProbeCase& c) const override {
    if (knows(c)) return std::nullopt;
    return "probe slices has the operations chase, and rmw, which is a chase by atomics; both dependent, of addresses "
           "(fp64) in L2";
  }
  Limit limit(const ProbeCase&, int) const override { return {not_measured, "none: a latency has no peak"}; }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Probe, npgpu::cuda::SlicesProbe)
