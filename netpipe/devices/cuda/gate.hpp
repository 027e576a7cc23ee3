// A gate in a stream: what is enqueued behind it starts only when it is opened.
//
// Why. Timed naively, a small copy's time is the time its launch takes: the device finishes each before the
// next arrives. Enqueue many behind a closed gate, mark both ends with events and open it: the device then
// runs them back to back, and the events show what the device needs, without launch costs.
//
// How. A kernel of one thread polls a number in pinned host memory. It gives up after its time-out, counted
// by the device's own global timer, so that a gate nobody opens is a lost trial and not a hung machine;
// whoever reads the times asks timed_out() first, since a gate that gave up let launch costs in.
//
// Caveats.
// - Nothing behind a closed gate may wait for the device, or it waits for the time-out. So: no allocation,
//   no blocking copy, no pageable memory (the call waits for its staging), and no kernel that is launched
//   for the first time (lazy loading waits for the device; a first launch here would deadlock). Everything
//   that runs behind a gate has to have run before: the gate passes through itself once when it is made, and
//   channels run each copy once before they hold it.
// - A limited number of operations fits: capacity(). One more and the enqueueing call blocks, until the time-out.
// - The gate occupies one multiprocessor's slot for one warp, and reads one line over the link about once a
//   microsecond; only until it is opened.
// - Opening takes effect about a microsecond later: time from an event behind the gate, not from the host.
// - CUDA_LAUNCH_BLOCKING=1 and tools that serialize launches defeat it: hold() itself waits for the time-out.
//   (compute-sanitizer's memcheck does not.)
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/measuring/runner.hpp"

namespace npgpu::cuda {

class Gate {
 public:
  explicit Gate(Seconds time_out = Seconds{10});
  ~Gate();  // opens it, and waits for the stream it was last put into, which must still live
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Closes the gate and puts it into the stream. One at a time: the last hold has been settled.
  void hold(cudaStream_t);
  // Lets everything behind it go. Harmless where nothing is held.
  void release() noexcept;
  // Whether the last hold ended by its time-out. Only after its stream has settled.
  bool timed_out() const;

  // Operations (copies, kernels, events) that one stream takes behind a closed gate. On an H200 with driver 580, 1021
  // copies fitted of every kind and size tried, and as many again in a second stream; but only 510 copies of 64 MiB
  // within the device at odd addresses, which take two entries each. tests/gpu/gate_test.cpp prints what fits.
  static constexpr std::uint64_t capacity() { return 500; }

 private:
  struct Words;  // shared with the kernel
  Words* words() const;

  Buffer shared_;
  std::uint64_t time_out_ns_;
  std::uint64_t ticket_ = 0;
  cudaStream_t stream_ = nullptr;  // of the last hold
};

// Device-side timing of what goes through one stream: the engine's DeviceTimer, from events and a gate.
class StreamTimer final : public DeviceTimer {
 public:
  // The stream must outlive it. Belongs to `ordinal`, whatever device is current in the calling thread. Without
  // a time-out there is no gate, and hold() throws. `capacity`: operations of the kind that it times.
  StreamTimer(int ordinal, cudaStream_t, std::optional<Seconds> gate_time_out,
              std::uint64_t capacity = Gate::capacity());

  void hold() override;
  void start() override;
  void stop() override;
  void release() override {
    if (gate_) gate_->release();
  }
  std::optional<Seconds> elapsed() override;
  std::uint64_t gate_capacity() const override { return capacity_; }

 private:
  int ordinal_;
  cudaStream_t stream_;
  Event begin_, end_;
  std::optional<Gate> gate_;
  std::uint64_t capacity_;
  bool held_ = false;  // this trial went through the gate
};

}  // namespace npgpu::cuda
