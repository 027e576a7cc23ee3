// What all jobs on a GPU of CUDA share, whatever their memory holds and however many parts they have.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/jobs/cuda_streams.hpp"
#include "npgpu/measuring/runner.hpp"

namespace npgpu::cuda {

// Base: JobRunner or PartitionRunner.
template <class Base> class CudaRunner : public Base {
 public:
  // On another core a job took 20 to 30 us longer the first time. So one that moves at most `short_bytes` runs a few
  // times where its thread has moved to another core.
  CudaRunner(const auto& backend, int ordinal, std::uint64_t short_bytes = UINT64_MAX)
      : Base(backend), gpu_(ordinal), own_(stream_of(ordinal)), short_bytes_(short_bytes) {}
  void warm_up(Seconds duration) override {
    const Seconds begin = this->clock().now();
    while (this->clock().now() - begin < duration) launch();
  }
  Telemetry telemetry() override { return gpu_.telemetry(); }
  std::string binding() const override { return gpu_.binding() + "; host times: " + quiet_.text(); }

 protected:
  using Sample = typename Base::Sample;
  // Everything as it was before a job, and then one; nothing if its gate timed out.
  virtual std::optional<Sample> run_once() = 0;
  std::optional<Sample> launch() final {
    gpu_.make_current();
    constexpr int moves = 4;
    if (is_host_timed(this->question())) {
      for (int i = 0; i < moves && quiet_.settle() && this->bytes() <= short_bytes_; ++i) run_once();
      if (quiet_.is_shared()) this->disturbed_by(Cause::core_shared);
    }
    return run_once();
  }

  Gpu gpu_;                // before the buffers, which are allocated under its binding
  host::QuietCore quiet_;  // of those that the binding leaves
  Stream own_;             // of everything but the jobs themselves
  JobStreams streams_;
  std::vector<PartCalls> parts_;

 private:
  std::uint64_t short_bytes_;
};

template <class K, class OwnRunner> class CudaBackend : public Backend<K> {
 public:
  std::string_view device_kind() const final { return "cuda"; }
  MemoryNeed available(const typename K::Case& c) const final {
    return {host::free_host_memory(), free_memory(ordinal_or_throw(c.device))};
  }
  std::unique_ptr<Runner<K>> open(std::span<const Step<K>> steps) const final {
    const int ordinal = ordinal_or_throw(steps.front().question.device);
    cuda::make_current(ordinal);
    return std::make_unique<OwnRunner>(*this, ordinal, steps);
  }
};

}  // namespace npgpu::cuda
