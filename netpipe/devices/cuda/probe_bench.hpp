// What probes of GPUs share: what a GPU says of its build, and one launch timed by events, by the host's clock and by
// the multiprocessors' own.
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

// The ordinal of a device that is there. Throws Error: usage for one that is not, nothing where there is none.
int ordinal_or_throw(const std::string& device);
int capability_of(int ordinal);  // 90 for 9.0

// Makes the device current, to see what memory is free.
Layout layout_of(int ordinal);
Limit arithmetic_peak(DataType, int ordinal);
Limit memory_peak(int ordinal);

// Dynamic shared memory of which two blocks do not fit one multiprocessor.
std::uint32_t shared_bytes_to_be_alone(int ordinal);

// Throws Error(usage) where the shape has no block or no thread, or more of them than a launch takes.
void check_grid(const Shape&, std::string_view probe);

class ProbeBench {
 public:
  // Binds the thread near the device and makes it current.
  explicit ProbeBench(int ordinal);

  void make_current() const { cuda::make_current(ordinal_); }
  int ordinal() const { return ordinal_; }
  cudaStream_t stream() const { return stream_.get(); }
  // Enough for blocks that leave records; what the pointer holds is a kernel's to fill.
  BlockRecord* record(std::uint32_t blocks) { return records_.begin(blocks); }
  std::uint32_t launch() const { return records_.launch(); }

  // Times what `enqueue` puts into the stream, and waits for it. `recorded`: record() was called for it.
  RunTimes time(const std::function<void()>& enqueue, bool recorded);

  const Clock& clock() const { return steady_clock(); }
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
