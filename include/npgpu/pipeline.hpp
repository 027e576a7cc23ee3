// Jobs as pipelines, described by data: the stages that every chunk goes through one after the other, and the work of
// the host between two parts of the job. A job of simulate.hpp, which copies in, runs a kernel and copies out, is the
// pipeline with one part and three stages.
//
// Within a part a chunk's stages follow each other in its stream, and chunks do not wait for each other. A part ends
// when all of its chunks have ended; then the host works, and then the next part begins.
//
// Example:
//   const npgpu::StreamCosts costs =
//       npgpu::simulated_costs(npgpu::devices::find("sim:h200"), npgpu::Memory::pinned);
//   const npgpu::PipelineStage in{.stage = npgpu::Stage::h2d, .name = "field", .bytes = 64 * npgpu::MiB};
//   const npgpu::PipelineStage work{
//       .stage = npgpu::Stage::kernel, .name = "step", .kernel = {.time = npgpu::Seconds{1e-3}}};
//   const npgpu::PipelineStage out{.stage = npgpu::Stage::d2h, .name = "sums", .bytes = npgpu::MiB};
//   const npgpu::Pipeline all{{.stages = {in, work, out}, .host_work = "adds", .host = npgpu::Seconds{1e-4}},
//                             {.stages = {work, out}}};
//   const auto best = npgpu::choose_streams(all, costs, npgpu::Order::breadth_first, npgpu::stream_counts(64));
//   std::cout << best.streams << " streams: " << npgpu::microseconds(best.time) << " us\n";
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npgpu/simulate.hpp"

namespace npgpu {

// How a kernel divides; see the members of Job.
struct PipelineKernel {
  Seconds time{0};  // of the whole, alone on the device
  Curve of_fraction{};
  std::uint64_t blocks = 0, slots = 0;  // only where it is the only kernel of its part
  Curve block_time{};
  double last_block = 1, warp = 0;
  std::uint64_t multiprocessors = 0, active_blocks_per_sm = 0;
};

struct PipelineStage {
  Stage stage = Stage::h2d;
  std::string name{};       // of the buffer that is copied, or of the kernel
  std::uint64_t bytes = 0;  // of a copy, all chunks together; never 0
  PipelineKernel kernel{};  // of a kernel, where its time is known
};

struct PipelinePart {
  std::vector<PipelineStage> stages{};  // of every chunk, in order
  std::string host_work{};              // the host's work after the part; empty: none
  Seconds host{0};                      // its time, where it is known
};

using Pipeline = std::vector<PipelinePart>;

// The job's stages that are not empty, in one part.
Pipeline pipeline_of(const Job&);

// As simulate_total() for a job. Each part is simulated by itself, because all chunks of one end before the next
// begins. Streams are created once. `breadth_first` issues the copies in of all chunks before the kernel of the first,
// and so on; consecutive copies of one chunk stay together. `independent` is for jobs only. Throws Error(usage) as
// simulate() does, and where a part has no stage.
StreamRun simulate_total(const Pipeline&, std::uint32_t n, const StreamCosts&, Order, std::uint32_t streams = 0);

// Simulates every candidate; 1 is added if it is not among them. `bound` is that of all parts together, without the
// host's work between parts.
Prediction choose_streams(const Pipeline&, const StreamCosts&, Order, std::span<const std::uint32_t> candidates);

}  // namespace npgpu
