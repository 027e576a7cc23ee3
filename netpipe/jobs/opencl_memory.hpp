// The memory of jobs on one device of OpenCL: what a run finds there, and what it must leave.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "netpipe/devices/opencl/handles.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/jobs/layout.hpp"
#include "netpipe/jobs/opencl_kernels.hpp"

namespace npgpu::opencl {

constexpr std::uint64_t word_bytes = sizeof(cl_uint);
inline cl_uint words_of(std::uint64_t bytes) { return static_cast<cl_uint>(bytes / word_bytes); }

struct BufferSizes {
  std::uint64_t in = 0, out = 0;          // of pinned host memory
  std::uint64_t device = 0, scratch = 0;  // of device memory; scratch is the memory workload's
};

// A power of two, far larger than the cache, as one buffer can be.
inline std::uint64_t scratch_bytes(const std::string& id) {
  constexpr std::uint64_t caches = 64, least = 64 * MiB, most = 8 * GiB;
  const DeviceInfo& info = find_or_throw(id).info;
  const double largest = number_fact(info.facts, "max_allocation_bytes");
  const std::uint64_t wanted = std::bit_ceil(caches * std::max(last_cache_bytes(info), MiB));
  return std::clamp(std::min({wanted, std::bit_floor(info.memory_bytes / 8),
                              largest > 0 ? std::bit_floor(static_cast<std::uint64_t>(largest)) : most}),
                    least, most);
}

// That serve each of these jobs.
inline BufferSizes sizes_for(const std::string& id, std::span<const JobStep> steps) {
  BufferSizes sizes;
  for (const auto& [question, job] : steps) {
    sizes.in = std::max(sizes.in, job.bytes_in);
    sizes.out = std::max(sizes.out, job.bytes_out);
    sizes.device = std::max(sizes.device, layout_of(question.order, job).device_bytes);
    if (question.workload == Workload::memory) sizes.scratch = scratch_bytes(id);
  }
  return sizes;
}

// Pinned memory that the host sees.
struct HostWords {
  Buffer buffer;
  Mapping mapping;
  HostWords(const Context& context, const Queue& queue, std::uint64_t bytes)
      : buffer(context, std::max(bytes, word_bytes), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR),
        mapping(queue, buffer) {}
  cl_uint* words(std::uint64_t byte = 0) const { return reinterpret_cast<cl_uint*>(mapping.data() + byte); }
};

class JobMemory {
 public:
  // Its own work goes through `queue`, which outlives it, as the context does.
  JobMemory(const Context& context, const Queue& queue, const BufferSizes& sizes)
      : context_(context),
        queue_(queue),
        sizes_(sizes),
        program_(context, job_kernels),
        filling_(program_.kernel("fill_words")),
        comparing_(program_.kernel("compare_words")),
        in_(context, queue, sizes.in),
        out_(context, queue, sizes.out),
        device_(context, std::max(sizes.device, word_bytes)),
        scratch_(context, std::max(sizes.scratch, word_bytes)),
        run_(context, 3 * word_bytes) {
    fill(scratch_, sizes.scratch, 1);
    // The input is made where it is fast, and copied to the host.
    const Buffer input(context, std::max(sizes.in, word_bytes));
    fill(input, sizes.in, 0);
    if (sizes.in) read(input, 0, sizes.in, in_.words());
    queue_.finish();
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
    std::fill_n(out_.words(), words_of(job.bytes_out), spoiled);
  }

  // Everything as it was before the job, with this run's numbers. Returns when the device is idle.
  void begin_run() {
    ++number_;
    factor_ = 2 * number_ + 1;
    start_ += stride() * static_cast<cl_uint>(job_.iterations);
    const cl_uint words[] = {number_, factor_, start_};
    check(
        library().clEnqueueWriteBuffer(queue_.get(), run_.get(), CL_TRUE, 0, sizeof words, words, 0, nullptr, nullptr),
        "numbering a run");
    fill(device_, layout_.device_bytes, 2);
    for (const ChunkPlaces& p : layout_.chunks)
      if (p.out.bytes) {
        cl_uint* const first = host_output(p);
        first[0] = first[words_of(p.out.bytes) - 1] = spoiled;
      }
    queue_.finish();
  }

  // Compares what the last run left: nothing if it is right, otherwise one sentence.
  std::optional<std::string> wrong_result() {
    // What came to the host is compared on the device, where a word is computed as fast as there is need.
    const Buffer arrived(context_, std::max(job_.bytes_out, word_bytes));
    if (job_.bytes_out) write(arrived, job_.bytes_out, out_.words());
    std::vector<std::string> compared;
    const cl_uint labels = 4 * job_.chunks;
    std::vector<cl_uint> said(1 + 2 * std::size_t{labels}, ~cl_uint{0});
    const Buffer answer(context_, said.size() * word_bytes);
    write(answer, said.size() * word_bytes, said.data());
    const auto compare = [&](const Buffer& actual, std::uint64_t at, std::uint64_t bytes, Stretch stretch,
                             std::string what) {
      stretch.at = words_of(at);
      stretch.count = words_of(bytes);
      if (!bytes) return;
      stretch.label = static_cast<cl_uint>(compared.size());
      stretch.labels = labels;
      compared.push_back(std::move(what));
      comparing_.set(actual, stretch, answer);
      launch_over(comparing_, stretch.count);
    };
    for (std::uint32_t c = 0; c < job_.chunks; ++c) {
      const ChunkPlaces& p = layout_.chunks[c];
      const std::string chunk = fmt::format("chunk {} of {}", c, job_.chunks);
      const Stretch in = stretch_at(p.in_at, &p, nullptr), work = stretch_at(p.work_at, nullptr, &p),
                    all = stretch_at(p.in_at, &p, &p), out = stretch_at(p.out_at, nullptr, nullptr);
      if (case_.order == Order::independent) {
        compare(device_, p.in_at, p.in.bytes, in, "input of " + chunk + " on the device");
        compare(device_, p.work_at, p.work.bytes, work, "the kernel's part of " + chunk);
        compare(device_, p.out_at, p.out.bytes, out, "output of " + chunk + " on the device");
        compare(arrived, p.out.first, p.out.bytes, out, "output of " + chunk + " on the host");
      } else {
        compare(device_, p.in_at, std::max({p.in.bytes, p.work.bytes, p.out.bytes}), all, chunk + " on the device");
        compare(arrived, p.out.first, p.out.bytes, all, "output of " + chunk + " on the host");
      }
    }
    read(answer, 0, said.size() * word_bytes, said.data());
    for (std::size_t label = 0; label < compared.size(); ++label)
      if (said[1 + labels + label] != number_) return compared[label] + ": the kernel that compares it did not run";
    if (said[0] == ~cl_uint{0}) return std::nullopt;
    return fmt::format("{}: word {} is not what the job leaves", compared.at(said[0]), said[1 + said[0]]);
  }

  const ChunkPlaces& chunk(std::uint32_t number) const { return layout_.chunks[number]; }
  cl_uint* host_input(const ChunkPlaces& p) const { return in_.words(p.in.first); }
  cl_uint* host_output(const ChunkPlaces& p) const { return out_.words(p.out.first); }
  const Buffer& device() const { return device_; }
  // The kernel of a chunk, with its arguments.
  Kernel kernel_of(const ChunkPlaces& p) const {
    Kernel kernel = program_.kernel(std::string(name(case_.workload)).c_str());
    kernel.set(device_, words_of(p.work_at), words_of(p.work.bytes), words_of(p.work.first),
               static_cast<cl_uint>(job_.iterations), run_, scratch_, mask(), stride());
    return kernel;
  }

 private:
  static constexpr cl_uint spoiled = 0x5A5A5A5A;

  struct Stretch {  // as the kernel has it
    cl_uint at = 0, count = 0, device_first = 0, in_words = 0, in_first = 0, work_count = 0, work_first = 0,
            iterations = 0, workload = 0, run = 0, factor = 0, start = 0, mask = 0, stride = 0, label = 0, labels = 0;
  };
  // With the input of one chunk and the kernel of one, where they go there.
  Stretch stretch_at(std::uint64_t at, const ChunkPlaces* in, const ChunkPlaces* work) const {
    Stretch s;
    s.device_first = words_of(at);
    s.workload = static_cast<cl_uint>(case_.workload);
    s.run = number_;
    s.factor = factor_;
    s.start = start_;
    s.mask = mask();
    s.stride = stride();
    s.iterations = static_cast<cl_uint>(job_.iterations);
    if (in) {
      s.in_words = words_of(in->in.bytes);
      s.in_first = words_of(in->in.first);
    }
    if (work && case_.workload != Workload::none) {
      s.work_count = words_of(work->work.bytes);
      s.work_first = words_of(work->work.first);
    }
    return s;
  }
  // All words that an iteration of the whole job reads of the scratch buffer, in whole lines.
  cl_uint stride() const { return words_of(padded(job_.kernel_bytes, 128)); }
  cl_uint mask() const { return words_of(std::max(sizes_.scratch, word_bytes)) - 1; }

  void launch_over(const Kernel& kernel, std::uint64_t words) const {
    constexpr std::size_t items = 64, most = 4096 * items;
    const std::size_t local = items, global = std::min<std::size_t>(padded(words, items), most);
    check(
        library().clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 1, nullptr, &global, &local, 0, nullptr, nullptr),
        "launching a kernel over memory of a job");
  }
  void fill(const Buffer& buffer, std::uint64_t bytes, cl_uint what) {
    if (!bytes) return;
    filling_.set(buffer, cl_ulong{bytes / word_bytes}, what, number_);
    launch_over(filling_, bytes / word_bytes);
  }
  void read(const Buffer& from, std::uint64_t at, std::uint64_t bytes, void* to) const {
    check(library().clEnqueueReadBuffer(queue_.get(), from.get(), CL_TRUE, at, bytes, to, 0, nullptr, nullptr),
          "reading memory of a job");
  }
  void write(const Buffer& to, std::uint64_t bytes, const void* from) const {
    check(library().clEnqueueWriteBuffer(queue_.get(), to.get(), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr),
          "writing memory of a job");
  }

  const Context& context_;
  const Queue& queue_;
  BufferSizes sizes_;
  Program program_;
  Kernel filling_, comparing_;
  HostWords in_, out_;
  Buffer device_, scratch_, run_;
  JobCase case_;
  JobShape job_;
  JobLayout layout_;
  cl_uint number_ = 0, factor_ = 0, start_ = 0;
};

}  // namespace npgpu::opencl
