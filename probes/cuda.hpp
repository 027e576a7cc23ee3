// What the probes of GPUs share. Device code, too.
#pragma once

#include <limits>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "probes/runner.hpp"
#include "probes/walks.hpp"

namespace npgpu::cuda {

// One probe on GPUs: const Cuda access_probe({{.name = "access", .open = runs<AccessRunner>}});
class CudaProbe final : public DescribedProbe {
 public:
  CudaProbe(const ProbeParts& parts) : DescribedProbe(parts) {}
  std::string_view device_kind() const override { return "cuda"; }
  MemoryNeed available(const ProbeCase& c) const override {
    return {host::free_host_memory(), free_memory(ordinal_or_throw(c.device))};
  }

 private:
  std::optional<std::string> why_not_there(const std::string& device) const override {
    return cuda::why_not_there(device);
  }
  Layout layout(const ProbeCase& c) const override { return layout_of(ordinal_or_throw(c.device)); }
  std::optional<std::string> why_no_grid(const ProbeCase&, const Shape& s) const override { return refuses_grid(s); }
};
using Cuda = Joined<Probe, CudaProbe>;

// For ProbeParts::limit.
inline Limit limit_of_memory(const ProbeCase& c, const Layout&) { return devices::find(c.device).memory; }
inline Limit limit_of_arithmetic(const ProbeCase& c, const Layout&) {
  return arithmetic_limit(c.type, ordinal_or_throw(c.device));
}
inline Limit limit_of_tensor_cores(const ProbeCase& c, const Layout&) {
  return tensor_limit(c.type, ordinal_or_throw(c.device));
}
inline int capability_of(const ProbeCase& c) { return capability_of(ordinal_or_throw(c.device)); }

class CudaProbeRunner : public ProbeRunner {
 public:
  CudaProbeRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : ProbeRunner(probe, steps), bench_(ordinal_or_throw(question().device)) {}
  Telemetry telemetry() override { return bench_.gpu().telemetry(); }
  std::string binding() const override { return bench_.gpu().binding(); }

 protected:
  ProbeBench& bench() { return bench_; }
  const ProbeBench& bench() const { return bench_; }
  bool timed_out() const final { return bench_.timed_out(); }
  cudaStream_t stream() const { return bench_.stream(); }

 private:
  ProbeBench bench_;
};

// For probes whose threads each leave one word, which the host can compute.
class SumsRunner : public CudaProbeRunner {
 public:
  using CudaProbeRunner::CudaProbeRunner;

 protected:
  // A run of so many repeats; also none, because the driver loads a kernel at its first launch, which no trial should
  // wait for.
  virtual ProbeSample timed(std::uint32_t repeats) = 0;
  // The word of this thread after a run of so many repeats.
  virtual std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const = 0;

  void set_up() override {
    bench().gpu().make_current();
    make_ready();
  }
  // At the end of set_up().
  void make_ready() {
    if (results_.bytes() < result_bytes()) results_ = Buffer(Memory::device, result_bytes());
    timed(0);
  }
  std::uint32_t* results() const { return reinterpret_cast<std::uint32_t*>(results_.data()); }
  std::uint64_t threads() const { return std::uint64_t{shape().blocks} * shape().threads; }

  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    return wrong_word(read<std::uint32_t>(results_.data(), threads()), shape(), repeats_,
                      [&](std::uint32_t block, std::uint32_t thread) { return expected(block, thread, repeats_); });
  }
  template <class T> std::vector<T> read(const void* from, std::uint64_t count) const {
    std::vector<T> here(count);
    cuda::check(cudaMemcpyAsync(here.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream()),
                "reading results");
    cuda::check(cudaStreamSynchronize(stream()), "reading results");
    return here;
  }

 private:
  ProbeSample launch(std::uint64_t repeats) final {
    if (repeats > std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorKind::usage, "a run of this probe has at most 2^32 - 1 repeats");
    bench().gpu().make_current();
    cuda::check(cudaMemsetAsync(results_.data(), 0xA5, result_bytes(), stream()), "poisoning the results");
    repeats_ = repeats;
    return timed(static_cast<std::uint32_t>(repeats));
  }
  std::uint64_t result_bytes() const { return threads() * sizeof(std::uint32_t); }

  Buffer results_;
  std::uint64_t repeats_ = 0;
};

__global__ inline void fill_pattern(std::uint32_t* words, std::uint64_t count, std::uint32_t factor = pattern_word(1)) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    words[i] = factor * static_cast<std::uint32_t>(i);
}

// A block's own record of its run: from when the block's first warp is there to when all have ended; nothing where no
// record is asked for. The clock is read before the first barrier: after it, other warps may run long before this one's
// turn to read comes.
class BlockClock {
 public:
  __device__ explicit BlockClock(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    begin_ = clock64();
    __syncthreads();
  }
  // Each warp reads its own end: a barrier may let its first warps read the clock before the last have come.
  __device__ void write(BlockRecord* records, std::uint32_t launch) const {
    if (!wanted_) return;
    __shared__ unsigned long long last;
    const auto end = static_cast<unsigned long long>(clock64());
    if (threadIdx.x == 0) last = 0;
    __syncthreads();
    if (threadIdx.x % warpSize == 0) atomicMax(&last, end);
    __syncthreads();
    if (threadIdx.x != 0) return;
    std::uint32_t unit;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    records[blockIdx.x] = {static_cast<std::uint64_t>(begin_), last, unit, launch};
  }

 private:
  bool wanted_;
  long long begin_ = 0;
};

}  // namespace npgpu::cuda
