// The calls of a job, and the streams that take them: pooled or fresh, open or behind a gate, timed as the case asks.
#pragma once

#include <optional>
#include <vector>

#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/jobs/words.hpp"
#include "npgpu/job.hpp"

namespace npgpu::cuda {

// One asynchronous call of a job with all that it needs: the timed loop makes it, and decides nothing.
struct Call {
  cudaError_t (*make)(Call&, cudaStream_t) = nullptr;
  const char* what = "";
  std::uint32_t stream = 0;
  // of a copy
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  // of a launch
  const void* kernel = nullptr;
  dim3 blocks{}, threads{};
  Launch launch{};

  static Call copying(std::uint32_t stream, void* to, const void* from, std::size_t bytes, cudaMemcpyKind);
  static Call launching(std::uint32_t stream, Workload, std::uint32_t threads, const Launch&);
};

class JobStreams {
 public:
  // How many calls one stream takes behind a gate.
  static std::uint64_t max_calls_behind_gate();

  // So many streams for runs of this case, those of a pool made where they are missing.
  void prepare(const JobCase&, std::uint32_t streams);
  // Makes the calls and waits for the device, which is idle before; nothing if a gate timed out. Sets the times alone.
  std::optional<JobSample> run(std::vector<Call>&);

 private:
  JobSample pooled(std::vector<Call>&);
  JobSample fresh(std::vector<Call>&);
  std::optional<JobSample> gated(std::vector<Call>&);
  std::optional<JobSample> last_stream_free(std::vector<Call>&);
  void issue(std::vector<Call>&);
  void hold(std::size_t end);

  JobCase case_;
  std::vector<Stream> pool_;
  std::vector<Stream> fresh_;
  std::vector<cudaStream_t> handles_;  // that the calls of this job go to
  std::vector<Event> ends_;            // of each stream
  Event opened_;
  std::optional<Gate> gate_;  // after the pool, in whose first stream it stands
};

}  // namespace npgpu::cuda
