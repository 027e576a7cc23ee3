// What probes of GPUs share: how the driver describes a GPU, and one launch timed by events, by the host's clock and by
// the multiprocessors' clocks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/block_records.hpp"
#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/nvml.hpp"
#include "netpipe/devices/cuda/stream_timer.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "npgpu/probe.hpp"

namespace npgpu::cuda {

int capability_of(int ordinal);  // 90 for 9.0

// Makes the device current, to see what memory is free.
Layout layout_of(int ordinal);
Limit arithmetic_limit(DataType, int ordinal);

// Dynamic shared memory of which two blocks do not fit one multiprocessor.
std::uint32_t shared_bytes_to_be_alone(int ordinal);

// Why no launch has this grid: no block or no thread, or more of them than a launch takes.
std::optional<std::string> refuses_grid(const Shape&);

class ProbeBench {
 public:
  // Binds the thread near the device and makes it current.
  explicit ProbeBench(int ordinal);

  void make_current() const { cuda::make_current(ordinal_); }
  int ordinal() const { return ordinal_; }
  cudaStream_t stream() const { return stream_.get(); }
  // Where so many blocks leave their records.
  BlockRecord* record(std::uint32_t blocks) { return records_.begin(blocks, stream_.get()); }
  std::uint32_t launch() const { return records_.launch(); }

  // Times what `enqueue` puts into the stream, and waits for it. `recorded`: record() was called for it.
  ProbeSample time(const std::function<void()>& enqueue, bool recorded);

  Telemetry telemetry() const { return nvml_ ? nvml_->read() : Telemetry{}; }
  const std::string& binding() const { return binding_.text(); }

 private:
  int ordinal_;
  host::Binding binding_;
  Stream stream_;
  StreamTimer timer_;
  BlockRecords records_;
  std::optional<NvmlDevice> nvml_;
};

}  // namespace npgpu::cuda
