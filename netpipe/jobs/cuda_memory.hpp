// The memory of jobs on one GPU: what a run finds there, and what it must leave.
#pragma once

#include <fmt/format.h>

#include <bit>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/jobs/layout.hpp"
#include "netpipe/jobs/workload_kernels.hpp"

namespace npgpu::cuda {

constexpr std::uint64_t word_bytes = sizeof(Word);

inline Word* words(std::byte* bytes) { return reinterpret_cast<Word*>(bytes); }
inline std::uint32_t count(std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes / word_bytes); }
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

struct BufferSizes {
  std::uint64_t in = 0, out = 0;          // of pinned host memory
  std::uint64_t device = 0, scratch = 0;  // of device memory; scratch is the memory workload's
};
// That serve each of these jobs.
inline BufferSizes sizes_for(int ordinal, std::span<const JobStep> steps) {
  BufferSizes sizes;
  for (const auto& [question, job] : steps) {
    sizes.in = std::max(sizes.in, job.bytes_in);
    sizes.out = std::max(sizes.out, job.bytes_out);
    sizes.device = std::max(sizes.device, layout_of(question.order, job).device_bytes);
    if (question.workload == Workload::memory) sizes.scratch = scratch_bytes(ordinal);
  }
  return sizes;
}

class JobMemory {
 public:
  // On the current device; its own work goes through `stream`, which must outlive it.
  JobMemory(const BufferSizes& sizes, cudaStream_t stream)
      : stream_(stream),
        sizes_(sizes),
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
    const auto& [question, job] = step;
    JobLayout layout = layout_of(question.order, job);
    if (job.bytes_in > sizes_.in || job.bytes_out > sizes_.out || layout.device_bytes > sizes_.device ||
        (question.workload == Workload::memory && !sizes_.scratch))
      throw Error(ErrorKind::usage, title(question) + ": the runner was opened for smaller jobs");
    case_ = question;
    job_ = job;
    layout_ = std::move(layout);
    fill(words(out_.data()), job.bytes_out / word_bytes, Fill::spoiled, stream_);
    check(cudaStreamSynchronize(stream_), "spoiling the output");
  }
  // Everything as it was before the job, with this run's numbers (see words.hpp). Returns when the device is idle.
  void begin_run() {
    ++now_.number;
    now_.factor = 2 * now_.number + 1;
    now_.start += stride() * static_cast<Word>(job_.iterations);
    *reinterpret_cast<RunWords*>(host_run_.data()) = now_;
    check(cudaMemcpyAsync(run_.data(), host_run_.data(), sizeof(RunWords), cudaMemcpyHostToDevice, stream_),
          "numbering a run");
    fill(words(device_.data()), layout_.device_bytes / word_bytes, Fill::device, stream_, now_.number);
    for (const ChunkPlaces& p : layout_.chunks)
      if (p.out.bytes) {
        Word* const first = words(host_output(p));
        first[0] = first[count(p.out.bytes) - 1] = spoiled;
      }
    check(cudaDeviceSynchronize(), "waiting before a job");
  }
  // Compares what the last run left: nothing if it is right, otherwise one sentence.
  std::optional<std::string> wrong_result() {
    std::vector<std::string> compared;
    const auto compare = [&](std::byte* actual, std::uint64_t bytes, const Stretch& stretch, std::string what) {
      words_.compare(words(actual), count(bytes), stretch, static_cast<std::uint32_t>(compared.size()), stream_);
      compared.push_back(std::move(what));
    };
    for (std::uint32_t c = 0; c < job_.chunks; ++c) {
      const ChunkPlaces& p = layout_.chunks[c];
      const std::string chunk = fmt::format("chunk {} of {}", c, job_.chunks);
      const Stretch in = stretch_at(p.in_at, &p, nullptr), work = stretch_at(p.work_at, nullptr, &p),
                    all = stretch_at(p.in_at, &p, &p), none = stretch_at(p.out_at, nullptr, nullptr);
      if (case_.order == Order::independent) {
        compare(on_device(p.in_at), p.in.bytes, in, "input of " + chunk + " on the device");
        compare(on_device(p.work_at), p.work.bytes, work, "the kernel's part of " + chunk);
        compare(on_device(p.out_at), p.out.bytes, none, "output of " + chunk + " on the device");
        compare(host_output(p), p.out.bytes, none, "output of " + chunk + " on the host");
      } else {
        compare(on_device(p.in_at), std::max({p.in.bytes, p.work.bytes, p.out.bytes}), all, chunk + " on the device");
        compare(host_output(p), p.out.bytes, all, "output of " + chunk + " on the host");
      }
    }
    const auto wrong = words_.first_wrong(stream_);
    if (!wrong) return std::nullopt;
    return fmt::format("{}: word {} is not what the job leaves", compared.at(wrong->label), wrong->word);
  }
  const ChunkPlaces& chunk(std::uint32_t number) const { return layout_.chunks[number]; }
  std::byte* host_input(const ChunkPlaces& p) const { return in_.data() + p.in.first; }
  std::byte* host_output(const ChunkPlaces& p) const { return out_.data() + p.out.first; }
  std::byte* on_device(std::uint64_t byte) const { return device_.data() + byte; }
  Launch launch_of(const ChunkPlaces& p) const {
    return {.words = words(on_device(p.work_at)),
            .count = count(p.work.bytes),
            .first = count(p.work.first),
            .iterations = static_cast<std::uint32_t>(job_.iterations),
            .run = reinterpret_cast<const RunWords*>(run_.data()),
            .scratch = words(scratch_.data()),
            .scratch_words = count(sizes_.scratch),
            .stride = stride()};
  }

 private:
  // All words that an iteration of the whole job reads of the scratch buffer, in whole lines.
  std::uint32_t stride() const { return count(padded(job_.kernel_bytes, 128)); }
  // With the input of one chunk and the kernel of one, where they go there.
  Stretch stretch_at(std::uint64_t at, const ChunkPlaces* in, const ChunkPlaces* work) const {
    Stretch s;
    s.device_first = count(at);
    s.workload = case_.workload;
    s.run = now_;
    if (in) {
      s.in_words = count(in->in.bytes);
      s.in_first = count(in->in.first);
    }
    if (work) s.launch = launch_of(*work);
    return s;
  }

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
