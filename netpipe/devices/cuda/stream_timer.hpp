// Device-side timing of what goes through one stream: the engine's DeviceTimer, from events and a gate.
#pragma once

#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/channel.hpp"

namespace npgpu::cuda {

class StreamTimer final : public DeviceTimer {
 public:
  // The stream must outlive it. Belongs to `ordinal`, whatever device is current in the calling thread. Without
  // a time-out there is no gate, and hold() throws.
  StreamTimer(int ordinal, cudaStream_t, std::optional<Seconds> gate_time_out);

  void hold() override;
  void start() override;
  void stop() override;
  void release() override;
  std::optional<Seconds> elapsed() override;
  std::uint64_t gate_capacity() const override;

 private:
  int ordinal_;
  cudaStream_t stream_;
  Event begin_;
  Event end_;
  std::optional<Gate> gate_;
  bool held_ = false;  // this trial went through the gate
};

}  // namespace npgpu::cuda
