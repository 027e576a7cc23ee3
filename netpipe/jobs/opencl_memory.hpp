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

inline BufferSizes sizes_for(const std::string& id, std::span<const JobStep> steps) {
  return npgpu::sizes_for(steps, [&] { return scratch_bytes(id); });
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

class JobMemory : public LaidOutJob {
 public:
  // Its own work goes through `queue`, which outlives it, as the context does.
  JobMemory(const Context& context, const Queue& queue, const BufferSizes& sizes)
      : LaidOutJob(sizes),
        context_(context),
        queue_(queue),
        program_(context, job_kernels),
        filling_(program_.kernel("fill_words")),
        comparing_(program_.kernel("compare_words")),
        in_(context, queue, sizes.in),
        out_(context, queue, sizes.out),
        device_(context, std::max(sizes.device, word_bytes)),
        scratch_(context, std::max(sizes.scratch, word_bytes)),
        run_(context, sizeof(RunWords)) {
    fill(scratch_, sizes.scratch, 1);
    // The input is made where it is fast, and copied to the host.
    const Buffer input(context, std::max(sizes.in, word_bytes));
    fill(input, sizes.in, 0);
    if (sizes.in) read(input, 0, sizes.in, in_.words());
    queue_.finish();
  }

  // Every following run is of this job. Throws Error(usage) where the buffers are too small.
  void lay_out(const JobStep& step) {
    take(step);
    std::fill_n(out_.words(), words_of(job_.bytes_out), spoiled);
  }

  // Everything as it was before the job, with this run's numbers. Returns when the device is idle.
  void begin_run() {
    write(run_, sizeof(RunWords), &next_run());
    fill(device_, layout_.device_bytes, 2);
    spoil_ends([this](const ChunkPlaces& p) { return host_output(p); });
    queue_.finish();
  }

  // Compares what the last run left: nothing if it is right, otherwise one sentence.
  std::optional<std::string> wrong_result() {
    // What came to the host is compared on the device, where a word is computed as fast as there is need.
    const Buffer arrived(context_, std::max(job_.bytes_out, word_bytes));
    if (job_.bytes_out) write(arrived, job_.bytes_out, out_.words());
    std::vector<Left> all = left();
    std::erase_if(all, [](const Left& one) { return one.bytes == 0; });
    std::vector<cl_uint> said(1 + 2 * all.size(), ~cl_uint{0});
    const Buffer answer(context_, said.size() * word_bytes);
    write(answer, said.size() * word_bytes, said.data());
    for (std::size_t label = 0; label < all.size(); ++label) {
      Stretch stretch = stretch_of(all[label]);
      stretch.label = static_cast<cl_uint>(label);
      stretch.labels = static_cast<cl_uint>(all.size());
      comparing_.set(all[label].on_host ? arrived : device_, stretch, answer);
      launch_over(comparing_, stretch.count);
    }
    read(answer, 0, said.size() * word_bytes, said.data());
    for (std::size_t label = 0; label < all.size(); ++label)
      if (said[1 + all.size() + label] != now_.number)
        return all[label].what + ": the kernel that compares it did not run";
    if (said[0] == ~cl_uint{0}) return std::nullopt;
    return wrong_text(all.at(said[0]), said[1 + said[0]]);
  }

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
  struct Stretch {  // as the kernel has it
    cl_uint at = 0, count = 0, device_first = 0, in_words = 0, in_first = 0, work_count = 0, work_first = 0,
            iterations = 0, workload = 0, run = 0, factor = 0, start = 0, mask = 0, stride = 0, label = 0, labels = 0;
  };
  Stretch stretch_of(const Left& one) const {
    Stretch s;
    s.at = words_of(one.at);
    s.count = words_of(one.bytes);
    s.device_first = words_of(one.device_first);
    s.workload = static_cast<cl_uint>(case_.workload);
    s.run = now_.number;
    s.factor = now_.factor;
    s.start = now_.start;
    s.mask = mask();
    s.stride = stride();
    s.iterations = static_cast<cl_uint>(job_.iterations);
    if (one.in) {
      s.in_words = words_of(one.in->in.bytes);
      s.in_first = words_of(one.in->in.first);
    }
    if (one.work && case_.workload != Workload::none) {
      s.work_count = words_of(one.work->work.bytes);
      s.work_first = words_of(one.work->work.first);
    }
    return s;
  }
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
    filling_.set(buffer, cl_ulong{bytes / word_bytes}, what, now_.number);
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
  Program program_;
  Kernel filling_, comparing_;
  HostWords in_, out_;
  Buffer device_, scratch_, run_;
};

}  // namespace npgpu::opencl
