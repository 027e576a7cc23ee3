// The memory of jobs on one GPU: what a run finds there, and what it must leave.
#pragma once

#include <fmt/format.h>

#include <bit>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/jobs/layout.hpp"
#include "netpipe/jobs/workload_kernels.hpp"

namespace npgpu::cuda {

inline Word* words(std::byte* bytes) { return reinterpret_cast<Word*>(bytes); }
inline Buffer buffer(Memory kind, std::uint64_t bytes) { return bytes ? Buffer(kind, bytes) : Buffer(); }

// A power of two, so that a walk wraps with a mask. Blocks that run together walk through a part of it only, so that it
// has to be far larger than the cache: where it was 8 caches, an H200 read it at 5.5 TB/s, which is more than its
// memory gives.
inline std::uint64_t scratch_bytes(int ordinal) {
  constexpr std::uint64_t caches = 64, least = 64 * MiB, most = 8 * GiB;
  return std::clamp(
      std::min(std::bit_ceil(caches * l2_bytes(ordinal)), std::bit_floor(info_of(ordinal).memory_bytes / 8)), least,
      most);
}

inline BufferSizes sizes_for(int ordinal, std::span<const JobStep> steps) {
  return npgpu::sizes_for(steps, [=] { return scratch_bytes(ordinal); });
}

class JobMemory : public LaidOutJob {
 public:
  // On the current device; its own work goes through `stream`, which must outlive it.
  JobMemory(const BufferSizes& sizes, cudaStream_t stream)
      : LaidOutJob(sizes),
        stream_(stream),
        in_(buffer(Memory::pinned, sizes.in)),
        out_(buffer(Memory::pinned, sizes.out)),
        device_(buffer(Memory::device, sizes.device)),
        scratch_(buffer(Memory::device, sizes.scratch)),
        run_(Memory::device, sizeof(RunWords)),
        host_run_(Memory::pinned, sizeof(RunWords)) {
    fill(words(in_.data()), sizes.in / word_bytes, Fill::input, stream_);
    fill(words(scratch_.data()), sizes.scratch / word_bytes, Fill::scratch, stream_);
    check(cudaStreamSynchronize(stream_), "filling the memory of jobs");
  }
  // Every following run is of this job. Throws Error(usage) where the buffers are too small.
  void lay_out(const JobStep& step) {
    take(step);
    fill(words(out_.data()), job_.bytes_out / word_bytes, Fill::spoiled, stream_);
    check(cudaStreamSynchronize(stream_), "spoiling the output");
  }
  // Everything as it was before the job, with this run's numbers (see workload_kernels.hpp). Returns when the device is
  // idle.
  void begin_run() {
    *reinterpret_cast<RunWords*>(host_run_.data()) = next_run();
    check(cudaMemcpyAsync(run_.data(), host_run_.data(), sizeof(RunWords), cudaMemcpyHostToDevice, stream_),
          "numbering a run");
    fill(words(device_.data()), layout_.device_bytes / word_bytes, Fill::device, stream_, now_.number);
    spoil_ends([this](const ChunkPlaces& p) { return words(host_output(p)); });
    check(cudaDeviceSynchronize(), "waiting before a job");
  }
  // Compares what the last run left: nothing if it is right, otherwise one sentence.
  std::optional<std::string> wrong_result() {
    const std::vector<Left> all = left();
    for (std::uint32_t label = 0; label < all.size(); ++label) {
      const Left& one = all[label];
      words_.compare(words((one.on_host ? out_ : device_).data() + one.at), words_of(one.bytes), stretch_of(one), label,
                     stream_);
    }
    const auto wrong = words_.first_wrong(stream_);
    if (!wrong) return std::nullopt;
    return wrong_text(all.at(wrong->label), wrong->word);
  }
  std::byte* host_input(const ChunkPlaces& p) const { return in_.data() + p.in.first; }
  std::byte* host_output(const ChunkPlaces& p) const { return out_.data() + p.out.first; }
  std::byte* on_device(std::uint64_t byte) const { return device_.data() + byte; }
  Launch launch_of(const ChunkPlaces& p) const {
    return {.words = words(on_device(p.work_at)),
            .count = words_of(p.work.bytes),
            .first = words_of(p.work.first),
            .iterations = static_cast<std::uint32_t>(job_.iterations),
            .run = reinterpret_cast<const RunWords*>(run_.data()),
            .scratch = words(scratch_.data()),
            .scratch_words = words_of(sizes_.scratch),
            .stride = stride()};
  }

 private:
  Stretch stretch_of(const Left& one) const {
    Stretch s;
    s.device_first = words_of(one.device_first);
    s.workload = case_.workload;
    s.run = now_;
    if (one.in) {
      s.in_words = words_of(one.in->in.bytes);
      s.in_first = words_of(one.in->in.first);
    }
    if (one.work) s.launch = launch_of(*one.work);
    return s;
  }

  cudaStream_t stream_;
  Buffer in_, out_, device_, scratch_;
  Buffer run_, host_run_;  // the run's numbers, where kernels read them and where the host writes them
  JobWords words_;
};

}  // namespace npgpu::cuda
