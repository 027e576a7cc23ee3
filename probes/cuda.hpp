// What the probes of GPUs share.
#pragma once

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "probes/runner.hpp"

namespace npgpu::cuda {

class CudaProbe : public Probe {
 public:
  std::string_view device_kind() const override { return "cuda"; }
  std::optional<std::string> refuses_case(const ProbeCase& c) const final {
    if (auto why = why_not_there(c.device)) return why;
    return refuses_question(c);
  }
  ProbeContext context(const ProbeCase& c) const final {
    const int ordinal = ordinal_or_throw(c.device);
    return {layout_of(ordinal), limit(c, ordinal)};
  }
  MemoryNeed available(const ProbeCase& c) const final {
    return {host::free_host_memory(), free_memory(ordinal_or_throw(c.device))};
  }

 protected:
  virtual std::optional<std::string> refuses_question(const ProbeCase&) const = 0;
  virtual Limit limit(const ProbeCase&, int ordinal) const = 0;
};

class CudaProbeRunner : public ProbeRunner {
 public:
  CudaProbeRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : ProbeRunner(probe, steps), bench_(ordinal_or_throw(question().device)) {}
  Telemetry telemetry() override { return bench_.telemetry(); }
  std::string binding() const override { return bench_.binding(); }

 protected:
  ProbeBench& bench() { return bench_; }
  const ProbeBench& bench() const { return bench_; }
  cudaStream_t stream() const { return bench_.stream(); }

 private:
  ProbeBench bench_;
};

}  // namespace npgpu::cuda
