// The partition method in CUDA streams. The timed region holds the runtime's calls and the interface system: what to
// call, with which pointers and in which stream, is a list made before.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/jobs/partition/interface.hpp"
#include "netpipe/jobs/partition/kernels.hpp"
#include "netpipe/jobs/partition/lapack.hpp"
#include "netpipe/jobs/partition/runner.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cuda {

namespace {

using partition::Addresses;
using partition::ChunkWork;

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// One asynchronous call with all that it needs: the timed loop makes it, and decides nothing.
struct PartitionCall {
  cudaError_t (*make)(PartitionCall&, cudaStream_t) = nullptr;
  Stage stage = Stage::h2d;
  std::uint32_t stream = 0;
  // of a copy
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  // of a launch
  const void* kernel = nullptr;
  unsigned blocks = 0;
  partition::SubSystems systems{};

  static cudaError_t make_copy(PartitionCall& c, cudaStream_t stream) {
    return cudaMemcpyAsync(c.to, c.from, c.bytes, c.kind, stream);
  }
  static cudaError_t make_launch(PartitionCall& c, cudaStream_t stream) {
    void* arguments[] = {&c.systems};
    return cudaLaunchKernel(c.kernel, dim3(c.blocks), dim3(stage_threads), arguments, 0, stream);
  }
};

PartitionCall call_of(const ChunkWork& work, Precision type) {
  if (work.stage == Stage::kernel)
    return {.make = PartitionCall::make_launch,
            .stage = work.stage,
            .stream = work.stream,
            .kernel = stage_kernel(type, work.is_stage3),
            .blocks = stage_blocks(work.systems.count),
            .systems = work.systems};
  return {.make = PartitionCall::make_copy,
          .stage = work.stage,
          .stream = work.stream,
          .to = work.to,
          .from = work.from,
          .bytes = work.bytes,
          .kind = work.stage == Stage::h2d ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost};
}

class CudaPartitionRunner final : public partition::PartitionRunner {
 public:
  CudaPartitionRunner(const Backend<Partitions>& backend, int ordinal, std::span<const PartitionStep> steps)
      : PartitionRunner(backend), gpu_(ordinal), own_(stream_of(ordinal)) {
    const auto bytes = partition::buffer_bytes(steps);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      buffers_[i] = Buffer(Memory::pinned, bytes[i]);
      device_buffers_[i] = Buffer(Memory::device, bytes[i]);
      host_[i] = buffers_[i].data();
      device_[i] = device_buffers_[i].data();
    }
    verdict_ = Buffer(Memory::device, sizeof(unsigned long long));
    readback_ = Buffer(Memory::pinned, sizeof(unsigned long long));
  }
  void warm_up(Seconds duration) override {
    const Seconds begin = clock().now();
    while (clock().now() - begin < duration) launch();
  }
  Telemetry telemetry() override { return gpu_.telemetry(); }
  std::string binding() const override {
    return gpu_.binding() + "; host times: " + quiet_.text() + "; solutions " + lapack_.text();
  }

 private:
  void set_up() override {
    gpu_.make_current();
    fill();
    const PartitionStep step{question(), shape()};
    bytes_ = partition::buffer_bytes(std::array{step});
    while (streams_.size() < shape().streams) streams_.emplace_back();
    parts_.clear();
    for (const PipelinePart& part : partition_pipeline(question().type, shape())) {
      std::vector<PartitionCall>& calls = parts_.emplace_back();
      for (const ChunkWork& work : partition::work_of(part, step, host_, device_))
        calls.push_back(call_of(work, question().type));
    }
    if (question().timed == PartitionTiming::whole) return;
    if (!gate_) gate_.emplace();
    // The driver may load a kernel, or set up a copy of this size, at its first call, which must not stand behind a
    // gate.
    spoil();
    (void)whole();
  }
  // The same rows for all sizes; a longer system has more of them.
  void fill() {
    if (filled_ && *filled_ == question().type && filled_rows_ >= shape().size) return;
    filled_.reset();
    fill_rows(question().type, shape().size, host("a"), host("b"), host("c"), host("d"), own_.get());
    own_.synchronize();
    filled_ = question().type;
    filled_rows_ = shape().size;
  }
  std::byte* host(const char* buffer) const { return host_[buffer_named(buffer)]; }

  // All that a run has to write is no number before it. Returns when the device is idle.
  void spoil() {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      poison(device_[i], bytes_[i], own_.get());
      if (i >= buffer_named("interface")) poison(host_[i], bytes_[i], own_.get());
    }
    check_device("waiting before a run");
  }
  static constexpr std::uint64_t short_bytes = 16 * MiB;
  static void check_device(const char* what) { cuda::check(cudaDeviceSynchronize(), what); }

  std::optional<PartitionSample> launch() override {
    gpu_.make_current();
    spoil();
    if (question().timed == PartitionTiming::stages) return by_stages();
    // On another core a short run takes 20 to 30 us longer the first time.
    constexpr int moves = 4;
    for (int i = 0; i < moves && quiet_.settle() && bytes() <= short_bytes; ++i) {
      (void)whole();
      spoil();
    }
    if (quiet_.is_shared()) disturbed_by(Cause::core_shared);
    return whole();
  }
  void issue(std::vector<PartitionCall>& calls) {
    for (PartitionCall& call : calls)
      cuda::check(call.make(call, streams_[call.stream].get()), "issuing a stage of the partition method");
  }
  void solve_on_host() {
    void *const rows = host("interface"), *const ends = host("ends");
    const std::uint64_t systems = sub_systems_of(shape());
    if (question().type == Precision::fp64)
      partition::solve_interface(static_cast<double*>(rows), static_cast<double*>(ends), systems);
    else partition::solve_interface(static_cast<float*>(rows), static_cast<float*>(ends), systems);
  }
  PartitionSample whole() {
    const Seconds begin = now();
    issue(parts_[0]);
    check_device("waiting for stage 1");
    const Seconds stage1_end = now();
    solve_on_host();
    const Seconds stage2_end = now();
    issue(parts_[1]);
    check_device("waiting for stage 3");
    PartitionSample sample;
    sample.host_us = microseconds(now() - begin);
    sample.stage2_us = microseconds(stage2_end - stage1_end);
    return sample;
  }

  // Behind a closed gate nothing may fail and leave it closed.
  struct OpenAtLast {
    Gate& gate;
    ~OpenAtLast() { gate.release(); }
  };
  // One part in one stream behind a gate, an event wherever one sort of stage follows another. The host's time for the
  // calls is before the gate opens.
  std::optional<Stages> gated(std::vector<PartitionCall>& calls) {
    const OpenAtLast release{*gate_};
    cudaStream_t const stream = streams_[0].get();
    while (events_.size() < 3 * shape().chunks + 1) events_.emplace_back();
    gate_->hold(stream);
    std::vector<Stage> stages;  // that end with event 1, 2, ...
    events_[0].record(stream);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      cuda::check(calls[i].make(calls[i], stream), "issuing a stage of the partition method");
      if (i + 1 < calls.size() && calls[i + 1].stage == calls[i].stage) continue;
      stages.push_back(calls[i].stage);
      events_.at(stages.size()).record(stream);
    }
    gate_->release();
    check_device("waiting for stages");
    if (gate_->timed_out()) return std::nullopt;
    Stages sum;
    for (std::size_t i = 0; i < stages.size(); ++i)
      (stages[i] == Stage::h2d      ? sum.h2d
       : stages[i] == Stage::kernel ? sum.kernel
                                    : sum.d2h) += Event::between(events_[i], events_[i + 1]);
    return sum;
  }
  std::optional<PartitionSample> by_stages() {
    const Seconds begin = now();
    const auto first = gated(parts_[0]);
    const Seconds stage1_end = now();
    solve_on_host();
    const Seconds stage2_end = now();
    const auto third = gated(parts_[1]);
    if (!first || !third) return std::nullopt;
    PartitionSample sample;
    sample.host_us = microseconds(now() - begin);
    sample.stage2_us = microseconds(stage2_end - stage1_end);
    sample.stage1_in_us = microseconds(first->h2d);
    sample.stage1_kernel_us = microseconds(first->kernel);
    sample.stage1_out_us = microseconds(first->d2h);
    sample.stage3_in_us = microseconds(third->h2d);
    sample.stage3_kernel_us = microseconds(third->kernel);
    sample.stage3_out_us = microseconds(third->d2h);
    return sample;
  }

  std::optional<std::string> wrong_result(double& residual) override {
    gpu_.make_current();
    auto* const bits = reinterpret_cast<unsigned long long*>(verdict_.data());
    cuda::check(cudaMemsetAsync(bits, 0, sizeof *bits, own_.get()), "preparing the check");
    find_backward_error(question().type, shape().size, host("a"), host("b"), host("c"), host("d"), host("x"), bits,
                        own_.get());
    cuda::check(cudaMemcpyAsync(readback_.data(), bits, sizeof *bits, cudaMemcpyDeviceToHost, own_.get()),
                "reading the check's verdict");
    own_.synchronize();
    residual = std::bit_cast<double>(*reinterpret_cast<const unsigned long long*>(readback_.data()));
    const bool is_fp64 = question().type == Precision::fp64;
    const double allowed = is_fp64 ? partition::max_backward_error<double>() : partition::max_backward_error<float>();
    if (auto why = partition::judge_residual(residual, allowed)) return why;
    return is_fp64 ? lapack_.differs(reinterpret_cast<const double*>(host("x")), shape().size)
                   : lapack_.differs(reinterpret_cast<const float*>(host("x")), shape().size);
  }

  Gpu gpu_;                // before the buffers, which are allocated under its binding
  host::QuietCore quiet_;  // of those that the binding leaves
  Stream own_;             // of everything but the runs themselves
  std::array<Buffer, partition_buffers.size()> buffers_, device_buffers_;
  Buffer verdict_, readback_;
  Addresses host_{}, device_{};
  std::array<std::uint64_t, partition_buffers.size()> bytes_{};
  std::optional<Precision> filled_;
  std::uint64_t filled_rows_ = 0;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::optional<Gate> gate_;  // after the streams, in whose first one it stands
  std::vector<std::vector<PartitionCall>> parts_;
  partition::Lapack lapack_;
};

class CudaPartitions final : public Backend<Partitions> {
 public:
  std::string_view name() const override { return "partition"; }
  std::string_view device_kind() const override { return "cuda"; }
  std::string_view summary() const override { return "tridiagonal partition method in CUDA streams"; }
  std::optional<std::string> refuses(const PartitionStep& step) const override {
    if (auto why = npgpu::refuses(step)) return why;
    return why_not_there(step.question.device);
  }
  MemoryNeed needs(std::span<const PartitionStep> steps) const override {
    MemoryNeed need;
    for (const std::uint64_t bytes : partition::buffer_bytes(steps)) need.host_bytes += bytes;
    need.device_bytes = need.host_bytes;
    return need;
  }
  MemoryNeed available(const PartitionCase& c) const override {
    return {host::free_host_memory(), free_memory(ordinal_or_throw(c.device))};
  }
  std::unique_ptr<Runner<Partitions>> open(std::span<const PartitionStep> steps) const override {
    if (steps.empty()) throw Error(ErrorKind::usage, "no run of the partition method");
    const int ordinal = ordinal_or_throw(steps.front().question.device);
    cuda::make_current(ordinal);
    return std::make_unique<CudaPartitionRunner>(*this, ordinal, steps);
  }
};

}  // namespace

}  // namespace npgpu::cuda

NPGPU_REGISTERED(Backend<npgpu::Partitions>, npgpu::cuda::CudaPartitions)
