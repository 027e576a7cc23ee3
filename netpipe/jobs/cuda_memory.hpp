// The memory of jobs on one GPU: what a run finds there, and what it must leave.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/jobs/layout.hpp"
#include "netpipe/jobs/words.hpp"

namespace npgpu::cuda {

struct BufferSizes {
  std::uint64_t in = 0, out = 0;          // of pinned host memory
  std::uint64_t device = 0, scratch = 0;  // of device memory; scratch is the memory workload's
};
// That serve each of these jobs.
BufferSizes sizes_for(int ordinal, std::span<const JobStep>);

class JobMemory {
 public:
  // On the current device; its own work goes through `stream`, which must outlive it.
  JobMemory(const BufferSizes&, cudaStream_t stream);

  // Every following run is of this job. Throws Error(usage) where the buffers are too small.
  void lay_out(const JobStep&);
  // Everything as it was before the job, with this run's numbers (see words.hpp). Returns when the device is idle.
  void begin_run();
  // Compares what the last run left: nothing if it is right, otherwise one sentence.
  std::optional<std::string> wrong_result();

  std::uint32_t chunks() const { return job_.chunks; }
  const ChunkPlaces& chunk(std::uint32_t number) const { return layout_.chunks[number]; }
  std::byte* host_input(const ChunkPlaces& p) const { return in_.data() + p.in.first; }
  std::byte* host_output(const ChunkPlaces& p) const { return out_.data() + p.out.first; }
  std::byte* on_device(std::uint64_t byte) const { return device_.data() + byte; }
  Launch launch_of(const ChunkPlaces&) const;

 private:
  Stretch stretch_at(std::uint64_t at, const ChunkPlaces* in, const ChunkPlaces* work) const;
  std::uint32_t stride() const;

  cudaStream_t stream_;
  BufferSizes sizes_;
  Buffer in_, out_, device_, scratch_;
  Buffer run_, host_run_;  // the run's numbers, where kernels read them and where the host writes them
  JobWords words_;
  JobCase case_;
  JobShape job_;
  JobLayout layout_;
  RunWords now_;
};

}  // namespace npgpu::cuda
