// What the probes of GPUs share. Device code, too.
#pragma once

#include <algorithm>

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "probes/runner.hpp"

namespace npgpu::cuda {

class CudaProbe : public Probe {
 public:
  std::string_view device_kind() const override { return "cuda"; }
  std::string_view summary() const override { return summary_of(name()); }
  std::optional<std::string> refuses_case(const ProbeCase& c) const final {
    if (auto why = why_not_there(c.device)) return why;
    return refuses_question(c);
  }
  std::vector<ProbeCase> cases(const std::string& device) const final {
    auto all = questions(device);
    std::erase_if(all, [&](const ProbeCase& c) { return refuses_case(c).has_value(); });
    return all;
  }
  ProbeContext context(const ProbeCase& c) const final {
    const int ordinal = ordinal_or_throw(c.device);
    return {layout_of(ordinal), limit(c, ordinal), library(c)};
  }
  MemoryNeed needs(std::span<const ProbeStep> steps) const override { return {0, max_bytes_of(steps)}; }
  MemoryNeed available(const ProbeCase& c) const final {
    return {host::free_host_memory(), free_memory(ordinal_or_throw(c.device))};
  }

 protected:
  virtual std::vector<ProbeCase> questions(const std::string& device) const = 0;
  bool knows(const ProbeCase& c) const {  // as one of questions()
    const auto all = questions(c.device);
    return std::ranges::find(all, c) != all.end();
  }
  virtual std::optional<std::string> refuses_question(const ProbeCase&) const = 0;
  virtual Limit limit(const ProbeCase&, int ordinal) const = 0;
  virtual std::string library(const ProbeCase&) const { return {}; }  // see ProbeContext
};

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
