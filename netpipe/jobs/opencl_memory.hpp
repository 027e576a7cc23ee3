// The memory of jobs on one device of OpenCL, and what jobs do to its words, in OpenCL C: the same kernels, and the
// same words before and after them, as workload_kernels.cu has for CUDA. Every word follows from its place; nothing a
// run leaves passes for the next one's result.
#pragma once

#include <bit>

#include "netpipe/devices/opencl/handles.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/jobs/runner.hpp"

namespace npgpu::opencl {

// Number, factor and start of a run lie in a buffer, so that the arguments of a launch are the same in every run.
inline constexpr const char* job_kernels = R"(
uint mixed(uint x) {
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  return x ^ (x >> 16);
}
uint input_word(uint number) { return mixed(number + 0x10000001u); }
uint device_word(uint number, uint run) { return mixed(number ^ mixed(run + 0x20000003u)); }
uint scratch_word(uint number) { return number * 2654435761u + 7; }

// Arguments of all three: the job's words, where the chunk's begin and how many it has, the number of the first among
// all, iterations, the run, the scratch words less one, and the words from one iteration to the next.
#define LAUNCH global uint* words, uint at, uint count, uint first, uint iterations, global const uint* run, \
               global const uint* scratch, uint mask, uint stride

// Factor and word may be the same memory for all the compiler knows: both are accessed in each iteration.
kernel void increment(LAUNCH) {
  const uint i = get_global_id(0);
  if (i >= count) return;
  global uint* const word = words + at + i;
  global const uint* const factor = run + 1;
#pragma unroll 4
  for (uint k = 0; k < iterations; ++k) *word += *factor;
}

kernel void memory(LAUNCH) {
  const uint i = get_global_id(0);
  if (i >= count) return;
  uint sum = words[at + i] + run[1];
  uint place = run[2] + first + i;
#pragma unroll 8
  for (uint k = 0; k < iterations; ++k, place += stride) sum += scratch[place & mask];
  words[at + i] = sum;
}

// Multiply-adds of ones: a chain counts its steps, exactly as long as it stays under 2^24.
kernel void compute(LAUNCH) {
  const uint i = get_global_id(0);
  if (i >= count) return;
  const uint word = words[at + i];
  const float one = run[1] ? 1.0f : 0.0f;  // the factor is never 0, which the compiler does not know
  float x0 = (float)(word & 0xffffu), x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3;
#pragma unroll 1
  for (uint k = 0; k < iterations; ++k) {
#pragma unroll
    for (uint step = 0; step < 8; ++step) {
      x0 = fma(x0, one, one);
      x1 = fma(x1, one, one);
      x2 = fma(x2, one, one);
      x3 = fma(x3, one, one);
    }
  }
  words[at + i] = word + run[1] + (uint)x0 + (uint)x1 + (uint)x2 + (uint)x3;
}

// What words hold before a run: 0 the host's input, 1 the scratch, 2 the device's words of this run.
kernel void fill_words(global uint* words, ulong count, uint what, uint run) {
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
    const uint number = (uint)i;
    words[i] = what == 0 ? input_word(number) : what == 1 ? scratch_word(number) : device_word(number, run);
  }
}

// What a stretch of words must be: input over the first of them, then the kernel over the first of them.
struct stretch {
  uint at, count;                            // of what is compared
  uint device_first, in_words, in_first;     // the number on the device of the first; how many came from the host
  uint work_count, work_first, iterations;   // of the kernel; 0: none
  uint workload, run, factor, start, mask, stride, label, labels;
};
// The answer's first word is the lowest label that is wrong. Then comes each label's first wrong word; then the run,
// which shows that a label was compared.
kernel void compare_words(global const uint* actual, struct stretch s, global uint* answer) {
  if (get_global_id(0) == 0) answer[1 + s.labels + s.label] = s.run;
  for (uint i = get_global_id(0); i < s.count; i += get_global_size(0)) {
    uint word = i < s.in_words ? input_word(s.in_first + i) : device_word(s.device_first + i, s.run);
    if (i < s.work_count && s.workload == 1) word += s.iterations * s.factor;
    if (i < s.work_count && s.workload == 2) {
      word += s.factor;
      for (uint k = 0; k < s.iterations; ++k)
        word += scratch_word((s.start + s.work_first + i + k * s.stride) & s.mask);
    }
    if (i < s.work_count && s.workload == 3) word += s.factor + 4 * ((word & 0xffffu) + 8 * s.iterations) + 6;
    if (actual[s.at + i] != word) {
      atomic_min(answer, s.label);
      atomic_min(answer + 1 + s.label, i);
    }
  }
}
)";

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
