#include "netpipe/devices/cuda/peers.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/clearing.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/payload.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/engine/message_memory.hpp"

namespace npgpu::cuda {

bool can_see(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), fmt::format("asking whether cuda:{} can see cuda:{}", from, to));
  return can != 0;
}

namespace {

// Pairs that see each other, from and to: asked for twice, the driver would report an error.
std::set<std::pair<int, int>>& sights() {
  static std::set<std::pair<int, int>> all;
  return all;
}

void give_sight(int from, int to) {
  if (sights().contains({from, to})) return;
  make_current(from);
  const cudaError_t result = cudaDeviceEnablePeerAccess(to, 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled) (void)cudaGetLastError();  // NCCL was here before
  else check(result, fmt::format("giving cuda:{} sight of cuda:{}'s memory", from, to));
  sights().emplace(from, to);
}

void take_sight(int from, int to) {
  if (!can_see(from, to)) return;
  give_sight(from, to);  // so that there is one to take, whoever gave it
  make_current(from);
  check(cudaDeviceDisablePeerAccess(to), fmt::format("taking sight of cuda:{}'s memory from cuda:{}", to, from));
  sights().erase({from, to});
}

}  // namespace

std::optional<std::string> why_no_access(const TransferCase& c) {
  if (c.access == Access::staged) return std::nullopt;
  const int source = ordinal_or_throw(c.source), target = ordinal_or_throw(c.target);
  const bool reads = c.access == Access::read;
  if (c.pattern == Pattern::flag && !(can_see(source, target) && can_see(target, source)))
    return fmt::format(
        "--pattern flag: {} and {} have to see each other's memory, and the driver says that they do not", c.source,
        c.target);
  if (reads ? can_see(target, source) : can_see(source, target)) return std::nullopt;
  return fmt::format(
      "--access {}: {} cannot see the memory of {}, says the driver: no NVLink joins them, and the system does not let "
      "them reach each other over PCIe: use --access staged",
      name(c.access), reads ? c.target : c.source, reads ? c.source : c.target);
}

std::optional<std::string> why_no_atomics(const TransferCase& c) {
  const int gpu = ordinal_or_throw(mover_of(c));
  int can = 1;
  if (c.direction == Direction::h2d) {
    can = attribute(cudaDevAttrHostNativeAtomicSupported, gpu);
  } else if (c.direction == Direction::peer) {
    check(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrNativeAtomicSupported, gpu, ordinal_or_throw(c.source)),
          "asking for atomic operations between two GPUs");
  }
  if (can) return std::nullopt;
  return fmt::format(
      "--pattern atomic: the link from {} to {} carries no atomic operations, says the driver: use "
      "--pattern chase or flag",
      mover_of(c), c.direction == Direction::peer ? c.source : "the host");
}

void set_access(const TransferCase& c) {
  const int source = ordinal_or_throw(c.source), target = ordinal_or_throw(c.target);
  for (const auto& [from, to] : {std::pair{source, target}, {target, source}}) {
    if (c.access == Access::staged) take_sight(from, to);
    else if (can_see(from, to)) give_sight(from, to);
  }
}

void reset(int ordinal) {
  make_current(ordinal);
  wait_until_cleared(ordinal);  // as long as there is a context
  check(cudaDeviceReset(), fmt::format("destroying the context of cuda:{}", ordinal));
  note_context_end(ordinal);
  std::erase_if(sights(), [&](const auto& sight) { return sight.first == ordinal || sight.second == ordinal; });
}

}  // namespace npgpu::cuda

namespace npgpu {

// Messages from and into a GPU's memory. Staged ones go through pinned memory: the GPU's copy engines take them there
// and back, in a stream of each memory, while the thread sends and receives.

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
