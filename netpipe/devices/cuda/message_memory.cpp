// Messages from and into a GPU's memory. Staged ones go through pinned memory: the GPU's copy engines take them there
// and back, in a stream of each memory, while the thread sends and receives.
#include "netpipe/engine/message_memory.hpp"

#include <vector>

#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/payload.hpp"
#include "netpipe/devices/host/memory.hpp"

namespace npgpu {

namespace {

class CudaMessageMemory final : public MessageMemory {
 public:
  CudaMessageMemory(int ordinal, std::uint64_t max_bytes, std::uint64_t offset, const StagingSlots& staging)
      : ordinal_(ordinal),
        stream_(cuda::stream_of(ordinal)),
        memory_(Memory::device, host::allocation_bytes(max_bytes, offset)),
        first_(memory_.data() + host::lead_bytes + offset),
        slot_bytes_(staging.bytes) {
    if (staging.count == 0) return;
    slots_ = cuda::Buffer(Memory::pinned, staging.count * staging.bytes);
    done_.resize(staging.count);
  }

  std::byte* data() override { return first_; }
  void fill(std::uint64_t bytes, std::uint64_t seed) override {
    cuda::make_current(ordinal_);
    kernels_.fill(payload_of(bytes, seed), stream_.get());
    stream_.synchronize();
  }
  void arm(std::uint64_t bytes, std::uint64_t seed) override {
    cuda::make_current(ordinal_);
    kernels_.poison(payload_of(bytes, seed), stream_.get());
    stream_.synchronize();
  }
  std::optional<std::string> wrong(std::uint64_t bytes, std::uint64_t seed) override {
    cuda::make_current(ordinal_);
    const auto byte = kernels_.first_wrong(payload_of(bytes, seed), stream_.get());
    if (!byte) return std::nullopt;
    return cuda::sentence(*byte, bytes);
  }

  std::byte* slot(std::uint64_t i) override { return slots_.data() + i * slot_bytes_; }
  void fetch(std::uint64_t i, std::uint64_t from, std::uint64_t bytes) override {
    copy(i, slot(i), first_ + from, bytes, cudaMemcpyDeviceToHost);
  }
  void store(std::uint64_t i, std::uint64_t to, std::uint64_t bytes) override {
    copy(i, first_ + to, slot(i), bytes, cudaMemcpyHostToDevice);
  }
  bool is_ready(std::uint64_t i) override {
    const cudaError_t state = cudaEventQuery(done_[i].get());
    if (state == cudaErrorNotReady) return false;
    cuda::check(state, "waiting for a chunk");
    return true;
  }
  bool is_asynchronous() const override { return true; }

 private:
  payload::Slots payload_of(std::uint64_t bytes, std::uint64_t seed) const {
    return {.first = first_, .bytes = bytes, .stride = padded(bytes + 2 * payload::guard_bytes, 8), .seed = seed};
  }
  void copy(std::uint64_t i, void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind kind) {
    cuda::make_current(ordinal_);
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copying a chunk");
    done_[i].record(stream_.get());
  }

  int ordinal_;
  cuda::Stream stream_;  // makes the device current, before all that follows is made on it
  cuda::PayloadKernels kernels_;
  cuda::Buffer memory_, slots_;
  std::byte* first_;
  std::uint64_t slot_bytes_;
  std::vector<cuda::Event> done_;  // by slot: what was begun on it last
};

class CudaMessageDevice final : public MessageDevice {
 public:
  CudaMessageDevice(int ordinal, bool bind) : gpu_(ordinal, bind) {}
  std::string binding() const override { return gpu_.binding(); }
  Telemetry telemetry() override { return gpu_.telemetry(); }

 private:
  cuda::Gpu gpu_;
};

class CudaMessageMemories final : public MessageMemories {
 public:
  std::string_view kind() const override { return "cuda"; }
  std::unique_ptr<MessageDevice> device(const std::string& device, bool bind) const override {
    return std::make_unique<CudaMessageDevice>(cuda::ordinal_or_throw(device), bind);
  }
  std::unique_ptr<MessageMemory> open(const std::string& device, std::uint64_t max_bytes, std::uint64_t offset,
                                      const StagingSlots& slots) const override {
    return std::make_unique<CudaMessageMemory>(cuda::ordinal_or_throw(device), max_bytes, offset, slots);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(MessageMemories, npgpu::CudaMessageMemories)
