// The channel of every OpenCL copy: buffers, payload, timing and checks.
//
// Choices:
// - Each channel has a queue of its own, in order; queues of one device share its context, so that both directions can
//   run at once. Only where events time it has the queue profiling, which costs each command something: a copy of 4 B
//   to an H100 took 9 us there, and 3 us in a queue without it; on an H200 8 us, whether it left an event or not.
// - Pinned memory is a buffer of CL_MEM_ALLOC_HOST_PTR that stays mapped; copies are given its address. That is what
//   makes drivers copy it without a staging buffer.
// - With the executor cpu the device's buffer is mapped for each copy, the processor moves the bytes, and it is
// unmapped.
// - Device memory is filled and checked through the host, by blocking copies of the same API outside the timed region.
// - back() needs a case with the pattern pingpong: only then there is a landing buffer, of the source's kind.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "netpipe/devices/opencl/bench.hpp"
#include "netpipe/devices/opencl/handles.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::opencl {

// The memory of one end.
class Area {
 public:
  Area() = default;
  Area(const Context&, const Queue&, const host::End&, std::uint64_t bytes);
  bool on_device() const { return kind_ == Memory::device; }
  explicit operator bool() const { return first_ != nullptr; }
  // Slot 0's payload where the host sees it: the memory itself, or the host's image of what is on the device.
  std::byte* first() const { return first_; }
  cl_mem buffer() const { return buffer_.get(); }
  std::uint64_t offset() const { return offset_; }  // of slot 0's payload in the buffer

 private:
  Memory kind_ = Memory::device;
  host::PageableBuffer pageable_;
  Buffer buffer_;
  Mapping mapping_;
  std::byte* first_ = nullptr;
  std::uint64_t offset_ = 0;
};

class CopyChannel final : public Timed<CopyChannel> {
 public:
  static constexpr Seconds usual_time_out{10};

  CopyChannel(const TransferCase&, std::uint64_t max_bytes, Seconds gate_time_out = usual_time_out);

  void prepare(std::uint64_t bytes) override;
  void forward() override {
    move(target_, source_, next_);
    last_ = next_;
    next_ += stride_;
    if (next_ == wrap_) next_ = 0;
    ++forwards_;
  }
  void back() override { move(landing_, target_, last_); }
  void settle() override { queue_.finish(); }
  std::optional<std::string> intact(bool went_back) override;
  bool find_quiet_core() override;
  const Clock& clock() const override { return steady_clock(); }
  DeviceTimer* timer() override { return timer_ ? &*timer_ : nullptr; }
  bool enqueues() const override { return enqueues_; }
  Telemetry telemetry() override { return devices::telemetry(context_->id); }
  std::string binding() const override { return binding_.text() + (quiet_ ? "; host times: " + quiet_->text() : ""); }

 private:
  void move(const Area& to, const Area& from, std::uint64_t at) {
    if (by_cpu_) return move_by_cpu(to, from, at);
    if (timer_ && timer_->records()) enqueue(to, from, at, timer_->next().into());
    else enqueue(to, from, at, nullptr);
  }
  void enqueue(const Area& to, const Area& from, std::uint64_t at, cl_event*) const;
  void move_by_cpu(const Area& to, const Area& from, std::uint64_t at) const;
  // All of an area with its guards: the host's image to the device, and back.
  void upload(const Area&) const;
  void download(const Area&) const;
  payload::Slots slots_in(const Area& area, std::uint64_t count) const {
    return {area.first(), bytes_, stride_, count, seed_};
  }
  void run_once();
  std::optional<std::string> verdict(const Area&, std::uint64_t count) const;

  const TransferCase case_;
  const std::uint64_t max_bytes_;
  const bool enqueues_, by_cpu_;
  const std::shared_ptr<const Context> context_;
  const host::Binding binding_;  // before the buffers, which are allocated under it
  const Queue queue_;
  std::optional<host::QuietCore> quiet_;  // of those that the binding leaves
  const std::uint64_t area_;
  const std::uint64_t seed_ = payload::fresh_seed();
  Area source_, target_, landing_;
  std::optional<QueueTimer> timer_;
  std::uint64_t bytes_ = 0, stride_ = 0, wrap_ = 0, count_ = 1, next_ = 0, last_ = 0, forwards_ = 0;
};

// Payloads lie in slots at one distance, as in CUDA's copies: one where the cache is warm; where it is cold, as many as
// span four times the device's or the host's last cache, or an eighth of what is free.
std::uint64_t stride_bytes(const TransferCase&, std::uint64_t bytes);
std::uint64_t area_bytes(const TransferCase&, std::uint64_t max_bytes);

}  // namespace npgpu::opencl
