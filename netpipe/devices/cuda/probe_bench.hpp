// What probes of GPUs share: how the driver and NVIDIA's guide describe a GPU, and launches timed by events, by the
// host's clock and by the multiprocessors' clocks. They wait behind a gate until all of them are in the stream: events
// around a launch that a busy host makes late would count its delay as the kernel's time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/nvidia.hpp"
#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::cuda {

// What a block of a launch records.
struct BlockRecord {
  std::uint64_t begin = 0;  // clock64, which all blocks of one multiprocessor share
  std::uint64_t end = 0;
  std::uint32_t unit = 0;     // %smid
  std::uint32_t written = 0;  // the launch's number, by which a block that wrote nothing is found
};

struct BlockReadback {
  // Cycles of the multiprocessor that took longest, from its first block's begin to its last one's end. One block's own
  // time is less: its schedulers serve older warps first, and younger ones begin late.
  double cycles = 0;
  std::uint32_t units = 0;               // distinct multiprocessors
  std::uint32_t max_blocks_on_unit = 0;  // blocks that one of them ran, at once or in turn
};

// Throws Error(failed) if a block did not write in this launch.
BlockReadback read_back(std::span<const BlockRecord>, std::uint32_t launch);

// The records' memory, on the device and where the host reads them. Belongs to the device that is current.
class BlockRecords {
 public:
  // For a launch of so many blocks in this stream; the pointer is the kernel's, the number what each block writes. New
  // memory is cleared in the same stream: nothing orders another stream's work before the kernel.
  BlockRecord* begin(std::uint32_t blocks, cudaStream_t);
  std::uint32_t launch() const { return launch_; }
  // After the launch, which must be the stream's last work.
  BlockReadback end(cudaStream_t);

 private:
  Buffer device_, host_;
  std::uint32_t blocks_ = 0, launch_ = 0;
};

using nvidia::arithmetic_limit, nvidia::has_reduced_fp64, nvidia::tensor_limit, nvidia::unified_cache_bytes;

int capability_of(int ordinal);  // 90 for 9.0

// Makes the device current, to see what memory is free.
Layout layout_of(int ordinal);
Limit arithmetic_limit(DataType, int ordinal);
Limit tensor_limit(DataType, int ordinal);

// Dynamic shared memory of which two blocks do not fit one multiprocessor.
std::uint32_t shared_bytes_to_be_alone(int ordinal);

// Why no launch has this grid: no block or no thread, or more of them than a launch takes.
std::optional<std::string> refuses_grid(const Shape&);

class ProbeBench {
 public:
  // Binds the thread near the device and makes it current.
  explicit ProbeBench(int ordinal);

  const Gpu& gpu() const { return gpu_; }
  cudaStream_t stream() const { return stream_.get(); }
  // Where so many blocks leave their records.
  BlockRecord* record(std::uint32_t blocks) { return records_.begin(blocks, stream_.get()); }
  std::uint32_t launch() const { return records_.launch(); }

  // Both wait for what they time. Host times begin when the gate opens, and before the launch where there is no gate.
  // A kernel for which record() was called. Without a repeat it goes without the gate: at its first launch the driver
  // loads a kernel, which waits for the device.
  ProbeSample time_kernel(std::uint64_t repeats, const std::function<void()>& launch);
  // So many launches of kernels that have run before. More than the gate takes go without it, as does what may wait for
  // the device: 0.
  ProbeSample time_launches(std::uint64_t launches, const std::function<void()>& enqueue);

  // Whether the last run's gate timed out, so that its times are void. The next runs go without it: tools that let one
  // kernel end before they launch another keep it closed.
  bool timed_out() const { return timed_out_; }

 private:
  ProbeSample time(bool gated, const std::function<void()>& enqueue);

  Gpu gpu_;
  Stream stream_;
  StreamTimer timer_;
  BlockRecords records_;
  bool gate_works_ = true, timed_out_ = false;
};

}  // namespace npgpu::cuda
