// A job in n chunks, in seconds on each server: what the simulator and the closed forms are fed with.
#pragma once

#include <cstdint>
#include <vector>

#include "npgpu/model/simulate.hpp"

namespace npgpu::model {

struct Chunks {
  // Times of one chunk on its server, without gap, both directions alone.
  double h2d = 0, kernel = 0, d2h = 0;
  bool has_h2d = false, has_kernel = false, has_d2h = false;
  // Part of the device that a chunk's kernel takes while it runs alone: (whole/n) / kernel, at most 1.
  double share = 1;
  // In blocks, where the job says them: those of the first chunks, which get what does not divide, and how long each
  // stays in its slot.
  std::uint64_t blocks = 0, slots = 0;
  double block = 0;
  const Curve* block_time = nullptr;  // see Job; null: none
  double own_blocks = 0;              // where blocks have a time: of one chunk, in threads of whole blocks
  std::uint64_t multiprocessors = 0, active_blocks_per_sm = 0;  // see Job
  Stages issue{};                                               // the host's times for its calls
};

// Throws Error(usage) as simulate() does.
Chunks chunks_of(const Job&, std::uint32_t n, const StreamCosts&);

// A stage of one chunk: its time on its server, without gap, both directions alone; the host's time for its call; of a
// kernel, its share of the device (see Chunks).
struct ChunkStage {
  Stage stage = Stage::h2d;
  double time = 0, issue = 0, share = 1;
};
// The stages that a chunk has, in order.
std::vector<ChunkStage> stages_of(const Chunks&);
// The same of one part of a pipeline; `chunks` gets what describes its kernel. Throws Error(usage) as simulate() does.
std::vector<ChunkStage> stages_of(const PipelinePart&, std::uint32_t n, const StreamCosts&, Chunks& chunks);

}  // namespace npgpu::model
