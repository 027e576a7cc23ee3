// Copies of CUDA: where their bytes lie, which cases there are, and the channel of every one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/payload.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::cuda {

// Payloads lie in slots at one distance, the same at both ends: one slot where the cache is warm; where it is
// cold, as many as fit into the footprint, so that the copies walk through more than the caches hold. A slot
// has room for its guards.
std::uint64_t stride_bytes(const TransferCase&, std::uint64_t bytes);

// The memory one end takes, from slot 0's payload on: the largest slot, or the footprint where that is more.
std::uint64_t area_bytes(const TransferCase&, std::uint64_t max_bytes, std::uint64_t footprint_bytes);
std::uint64_t slot_count(const TransferCase&, std::uint64_t bytes, std::uint64_t area_bytes);

// Four times the larger of the device's L2 and the host's last-level cache, or an eighth of the memory that is
// free at either end where that is less; 0 for a warm case. Makes the case's device current if it is cold.
std::uint64_t footprint_bytes(const TransferCase&);

// What opening the case takes: both ends and, for a round trip, the landing buffer, which is as the source.
// Managed memory counts on both sides, because its pages may be on either.
MemoryNeed needs(const TransferCase&, std::uint64_t max_bytes, std::uint64_t footprint_bytes);

// What is free for it now: on the host, and on the device of all of its that has least. Makes another one current.
MemoryNeed available(const TransferCase&);

// Which cases a CUDA copy can be asked for: the same for the runtime's and the driver's.

// Why the case can run on no GPU, and what would make it run, in one sentence that names the options;
// nothing if it can. Asks nothing of the machine.
std::optional<std::string> why_impossible(const TransferCase&);
// Why a module whose copies `executor` does cannot do those of the case.
std::optional<std::string> why_other_executor(const TransferCase&, Executor executor);

// The same, and why it cannot run on the device it names.
std::optional<std::string> why_refused(const TransferCase&);

// What the modules of CUDA copies share: everything but the name and the call.
class Copies : public Module {
 public:
  std::string_view device_kind() const override { return "cuda"; }
  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    if (auto why = why_other_executor(c, executor())) return why;
    return why_refused(c);
  }
  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    return cuda::needs(c, max_bytes, footprint_bytes(c));
  }
  MemoryNeed available(const TransferCase& c) const override { return cuda::available(c); }
};

// The channel of every CUDA copy: buffers, payload, timing and checks. What an API adds is the call that
// copies, given as two function objects, so that forward() is that call and little more:
//
//   void operator()(void* to, const void* from, std::size_t bytes) const;   // throws Error
//
// Choices:
// - Asynchronous copies go through a stream of the channel's own that ignores the default stream; blocking
//   ones through the legacy default stream, as the API has it, and so do their events.
// - Some "blocking" copies return early (device to device, and small pageable ones from a staging buffer), so
//   settle() always waits for the stream.
// - Pinned, write-combined and device memory are filled and checked by the GPU; pageable and managed memory by
//   the CPU, which leaves managed pages on the host, where prepare() also prefetches them.
// - A source is never written again, and a smaller payload is the beginning of a larger one: warm sources
//   are filled once. A cold case has other slots at every size, so each prepare() fills them.
// - Between two GPUs the copy goes through a stream of the one that writes or reads. Each end is filled and checked by
//   the GPU whose memory it is: what the other one sees through the link is not what has to be right.
// - back() needs a case with the pattern pingpong: only then there is a landing buffer, of the source's kind.

// The memory of one end, of any kind.
class Area {
 public:
  Area() = default;
  // Device memory is that GPU's.
  Area(const host::End&, std::uint64_t bytes, int ordinal, Owner owner = Owner::this_process);
  int ordinal() const { return ordinal_; }
  std::byte* first() const { return first_; }  // slot 0's payload
  Memory kind() const { return kind_; }
  bool by_cpu() const { return kind_ == Memory::pageable || kind_ == Memory::managed; }

 private:
  Memory kind_ = Memory::device;
  int ordinal_ = -1;
  Buffer buffer_;
  host::PageableBuffer pageable_;
  std::byte* first_ = nullptr;
};

// What fills and checks memory: kernels of one GPU, in a stream of its own there.
class PayloadFiller {
 public:
  explicit PayloadFiller(int ordinal) : ordinal_(ordinal), stream_(stream_of(ordinal)) {}
  int ordinal() const { return ordinal_; }
  cudaStream_t stream() const { return stream_.get(); }
  PayloadKernels& kernels() {
    make_current(ordinal_);
    return kernels_;
  }
  void wait(const char* what) const {
    make_current(ordinal_);
    check(cudaDeviceSynchronize(), what);
  }

 private:
  int ordinal_;
  Stream stream_;  // makes the device current, before the kernels are loaded
  PayloadKernels kernels_;
};

class CopyBuffers : public Channel {
 public:
  static constexpr Seconds usual_time_out{10};

  void prepare(std::uint64_t bytes) final;
  void settle() final;
  std::optional<std::string> intact(bool went_back) final;
  bool find_quiet_core() final;
  const Clock& clock() const final { return steady_clock(); }
  DeviceTimer* timer() final { return timer_ ? &*timer_ : nullptr; }
  bool enqueues() const final { return enqueues_; }
  Telemetry telemetry() final { return gpu_.telemetry(); }
  std::string binding() const final { return gpu_.binding() + (quiet_ ? "; host times: " + quiet_->text() : ""); }

  // First payload bytes, for tests that spoil them and benchmarks that copy between them.
  std::byte* source() const { return source_.first(); }
  std::byte* target() const { return target_.first(); }
  std::uint64_t slots() const { return count_; }

 protected:
  CopyBuffers(const TransferCase&, std::uint64_t max_bytes, Seconds gate_time_out, Owner target);

  // Addresses of the next copy there, and of the copy back of what arrived last.
  void* to() const { return target_first_ + next_; }
  const void* from() const { return source_first_ + next_; }
  void* landing() const { return landing_first_ + last_; }
  const void* arrived() const { return target_first_ + last_; }
  std::size_t bytes() const { return bytes_; }
  const Gpu& gpu() const { return gpu_; }
  cudaStream_t stream() const { return stream_; }
  void went() {
    last_ = next_;
    next_ += stride_;
    if (next_ == wrap_) next_ = 0;
    ++forwards_;
  }
  bool can_return() const { return landing_first_ != nullptr; }
  [[noreturn]] void cannot_return() const;

 private:
  void lay_out(std::uint64_t bytes);
  Slots slots_in(const Area&, std::uint64_t count) const;
  void fill(const Area&);
  void arm(const Area&);
  void run_once();
  void settle_all(const char* what) const;  // of both GPUs
  bool is_peer() const { return case_.direction == Direction::peer; }
  int ordinal_of(const std::string& device) const;  // of the case's end
  PayloadFiller& keeper_of(const Area& area) { return far_ && area.ordinal() == far_->ordinal() ? *far_ : near_; }
  std::optional<std::string> verdict(const Area&, std::uint64_t count);

  const TransferCase case_;
  const std::uint64_t max_bytes_;
  const bool enqueues_;
  const Gpu gpu_;                         // before the buffers, which are allocated under its binding
  PayloadFiller near_;                    // on the GPU that moves the bytes
  std::optional<PayloadFiller> far_;      // on the other one
  const cudaStream_t stream_;             // where copies of this case are enqueued, or what they wait for if they block
  std::optional<host::QuietCore> quiet_;  // of those that the binding leaves
  const std::uint64_t area_;
  const std::uint64_t seed_;
  Area source_, target_, landing_;
  std::optional<StreamTimer> timer_;
  bool filled_ = false;

  std::byte *source_first_ = nullptr, *target_first_ = nullptr, *landing_first_ = nullptr;
  std::uint64_t bytes_ = 0, stride_ = 0, wrap_ = 0, count_ = 1, next_ = 0, last_ = 0, forwards_ = 0;
};

template <class There, class Back> class CopyChannel final : public Timed<CopyChannel<There, Back>, CopyBuffers> {
 public:
  // `make_there` and `make_back` are given the stream that the copies are to use.
  template <class MakeThere, class MakeBack>
  CopyChannel(const TransferCase& c, std::uint64_t max_bytes, MakeThere make_there, MakeBack make_back,
              Seconds gate_time_out = CopyBuffers::usual_time_out, Owner target = Owner::this_process)
      : Timed<CopyChannel, CopyBuffers>(c, max_bytes, gate_time_out, target),
        there_(make_there(this->stream())),
        back_(make_back(this->stream())) {}

  void forward() override {
    this->gpu().make_current();
    there_(this->to(), this->from(), this->bytes());
    this->went();
  }
  void back() override {
    if (!this->can_return()) [[unlikely]]
      this->cannot_return();
    this->gpu().make_current();
    back_(this->landing(), this->arrived(), this->bytes());
  }

 private:
  There there_;
  Back back_;
};

template <class MakeThere, class MakeBack, class... More>
std::unique_ptr<Channel> copy_channel(const TransferCase& c, std::uint64_t max_bytes, MakeThere make_there,
                                      MakeBack make_back, More... more) {
  using Kind = CopyChannel<std::invoke_result_t<MakeThere, cudaStream_t>, std::invoke_result_t<MakeBack, cudaStream_t>>;
  return std::make_unique<Kind>(c, max_bytes, make_there, make_back, more...);
}

}  // namespace npgpu::cuda
