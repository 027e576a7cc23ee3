// Where the parts of a split job lie in the device's memory and the host's.
#pragma once

#include <algorithm>

#include "npgpu/job.hpp"

namespace npgpu {

struct ChunkPlaces {
  Piece in, work, out;  // of the job's own bytes: where in the host's buffers, which of the kernel's
  std::uint64_t in_at = 0, work_at = 0, out_at = 0;  // byte on the device
};

struct JobLayout {
  std::vector<ChunkPlaces> chunks;
  std::uint64_t device_bytes = 0;
};

// A chunk has one region, as long as the longest of its parts, at whose beginning input arrives, the kernel works and
// output leaves; regions follow each other. In independent order each part has memory of its own instead.
inline JobLayout layout_of(Order order, const JobShape& job) {
  constexpr std::uint64_t line = 128;
  const auto up = [](std::uint64_t bytes) { return padded(bytes, line); };
  JobLayout layout;
  for (std::uint32_t c = 0; c < job.chunks; ++c) {
    ChunkPlaces p;
    p.in = piece_of(job.bytes_in, job.chunks, c);
    p.work = piece_of(job.kernel_bytes, job.chunks, c);
    p.out = piece_of(job.bytes_out, job.chunks, c);
    if (order == Order::independent) {
      p.in_at = p.in.first;
      p.work_at = up(job.bytes_in) + p.work.first;
      p.out_at = up(job.bytes_in) + up(job.kernel_bytes) + p.out.first;
    } else {
      p.in_at = p.work_at = p.out_at = layout.device_bytes;
      layout.device_bytes += up(std::max({p.in.bytes, p.work.bytes, p.out.bytes}));
    }
    layout.chunks.push_back(p);
  }
  if (order == Order::independent) layout.device_bytes = up(job.bytes_in) + up(job.kernel_bytes) + up(job.bytes_out);
  return layout;
}

}  // namespace npgpu
