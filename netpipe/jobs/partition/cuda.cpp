// The partition method in CUDA streams. The timed region holds the runtime's calls and the interface system: what to
// call, with which pointers and in which stream, is a list made before.
#include <bit>

#include "netpipe/jobs/cuda_runner.hpp"
#include "netpipe/jobs/partition/kernels.hpp"
#include "netpipe/jobs/partition/runner.hpp"

namespace npgpu::cuda {

namespace {

using partition::Addresses;
using partition::ChunkWork;

// Longer runs do not show that their core is new.
constexpr std::uint64_t short_bytes = 16 * MiB;

Call call_of(const ChunkWork& work, Precision type) {
  if (work.stage == Stage::kernel)
    return Call::launching(work.stream, stage_kernel(type, work.is_stage3), work.systems.count, stage_threads,
                           work.systems);
  return Call::copying(work.stream, work.to, work.from, work.bytes,
                       work.stage == Stage::h2d ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
}

class CudaPartitionRunner final : public CudaRunner<partition::PartitionRunner> {
 public:
  CudaPartitionRunner(const Backend<Partitions>& backend, int ordinal, std::span<const PartitionStep> steps)
      : CudaRunner(backend, ordinal, short_bytes) {
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
  std::string binding() const override { return CudaRunner::binding() + "; solutions " + lapack_.text(); }

 private:
  void set_up() override {
    gpu_.make_current();
    fill();
    bytes_ = partition::buffer_bytes(std::array{step()});
    parts_.clear();
    for (const PipelinePart& part : partition_pipeline(question().type, shape())) {
      PartCalls& own = parts_.emplace_back();
      for (const ChunkWork& work : partition::work_of(part, step(), host_, device_))
        own.calls.push_back(call_of(work, question().type));
      if (!part.host_work.empty()) own.host_work = [this] { solve_on_host(); };
    }
    streams_.prepare({}, shape().streams);
    if (question().timed == PartitionTiming::whole) return;
    // The driver may load a kernel, or set up a copy of this size, at its first call, which must not stand behind a
    // gate.
    spoil();
    (void)streams_.run(parts_);
    streams_.prepare({.gating = Gating::gated}, shape().streams);
  }
  void solve_on_host() {
    const Seconds begin = clock().now();
    solve_interface(host_);
    stage2_ = clock().now() - begin;
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
    cuda::check(cudaDeviceSynchronize(), "waiting before a run");
  }
  std::optional<PartitionSample> run_once() override {
    spoil();
    std::vector<Stages> stages;
    const bool by_stages = question().timed == PartitionTiming::stages;
    const auto run = by_stages ? streams_.run_by_stages(parts_, stages) : streams_.run(parts_);
    if (!run) return std::nullopt;
    return sample_of(from_microseconds(run->host_us), stage2_, stages);
  }

  std::optional<std::string> wrong_result() override {
    gpu_.make_current();
    auto* const bits = reinterpret_cast<unsigned long long*>(verdict_.data());
    cuda::check(cudaMemsetAsync(bits, 0, sizeof *bits, own_.get()), "preparing the check");
    find_backward_error(question().type, shape().size, host("a"), host("b"), host("c"), host("d"), host("x"), bits,
                        own_.get());
    cuda::check(cudaMemcpyAsync(readback_.data(), bits, sizeof *bits, cudaMemcpyDeviceToHost, own_.get()),
                "reading the check's verdict");
    own_.synchronize();
    return wrong_solution(std::bit_cast<double>(*reinterpret_cast<const unsigned long long*>(readback_.data())),
                          host("x"), lapack_);
  }

  std::array<Buffer, partition_buffers.size()> buffers_, device_buffers_;
  Buffer verdict_, readback_;
  Addresses host_{}, device_{};
  std::array<std::uint64_t, partition_buffers.size()> bytes_{};
  std::optional<Precision> filled_;
  std::uint64_t filled_rows_ = 0;
  Seconds stage2_{0};  // of the last run
  partition::Lapack lapack_;
};

class CudaPartitions final : public CudaBackend<Partitions, CudaPartitionRunner> {
 public:
  std::string_view name() const override { return "partition"; }
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
};

}  // namespace

}  // namespace npgpu::cuda

NPGPU_REGISTERED(Backend<npgpu::Partitions>, npgpu::cuda::CudaPartitions)
