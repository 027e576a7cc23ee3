// Latency of an OpenCL device's memories: one work-item chases pointers through a set in random order, over growing
// sets, as on CUDA and the host (probes/latency/cuda.cu says why by lines of 128 bytes, and why by atomics).
//
// OpenCL has no timer that a kernel could read, so a trial is two launches of one kernel: with the loads and without.
// Both begin with the same walk that brings the set into the caches; what is written down is the difference of their
// times. The launch itself is in neither.
//
// The links are addresses, which the device writes itself. OpenCL allows a driver to move a buffer between two
// launches; the kernel sees it by its first link, and then leaves instead of following addresses that are no longer
// right.
#include "probes/opencl.hpp"

#include <fmt/format.h>

#include "netpipe/devices/opencl/inventory.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "probes/host/probe.hpp"
#include "probes/latency/chase.hpp"
#include "probes/shapes.hpp"
#include "probes/walks.hpp"

namespace npgpu::opencl {

namespace {

constexpr const char* chase_source = R"cl(
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#if ATOMIC
#define STEP p = (__global uchar*)atom_add((volatile __global ulong*)p, zero);
#else
#define STEP p = *(__global uchar* __global*)p;
#endif
#define STEPS16 STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP

// Where the chase is after so many loads: as the host wrote it down, or as class Permutation has it.
#if CPU
#define AT(place) order[place]
#else
#define AT(place) permuted(place, count, half_bits)
#endif
ulong permuted(ulong place, uint count, uint half_bits) {
  const uint mask = (uint)((1ul << half_bits) - 1);
  do {
    uint left = (uint)(place >> half_bits), right = (uint)place & mask;
    for (uint round = 1; round <= 4; ++round) {
      uint mixed = (right + round * 0x9E3779B9u) * 0x85EBCA6Bu;
      mixed = (mixed ^ (mixed >> 15)) * 0xC2B2AE35u;
      const uint next = left ^ ((mixed >> 11) & mask);
      left = right;
      right = next;
    }
    place = ((ulong)left << half_bits) | right;
  } while (place >= count);
  return place;
}

__kernel void link_lines(__global uchar* memory, __global const uint* order, uint count, uint half_bits,
                         uint line_bytes) {
  FOR_EACH(i, count) {
    const ulong next = AT(i + 1 < count ? i + 1 : 0);
    *(__global uchar* __global*)(memory + (ulong)AT(i) * line_bytes) = memory + next * line_bytes;
  }
}

// In the order of the chase, by one group, and by atomics where they chase: loads would leave copies in a nearer part
// of the cache. The sum is used, so that the loads are.
__kernel void touch_lines(__global uchar* memory, __global const uint* order, uint count, uint half_bits,
                          uint line_bytes, ulong zero, __global ulong* found) {
  ulong sum = 0;
  for (ulong i = get_local_id(0); i < count; i += get_local_size(0)) {
    __global ulong* const line = (__global ulong*)(memory + (ulong)AT(i) * line_bytes);
#if ATOMIC
    sum += atom_add((volatile __global ulong*)line, zero);
#else
    sum += *line;
#endif
  }
  if (sum == 1) found[1] = sum;
}

// `begin`, `warm_begin` and where it ends are places in memory; `second` is what the first link leads to.
__kernel void chase(__global uchar* memory, ulong warm_begin, ulong begin, ulong warm_loads, ulong loads, ulong first,
                    ulong second, ulong zero, __global ulong* found) {
  found[0] = ~0ul;
  if (*(__global ulong*)(memory + first) != (ulong)(memory + second)) return;
  __global uchar* p = memory + warm_begin;
  for (ulong left = warm_loads / 16; left; --left) { STEPS16 }
  for (ulong left = warm_loads % 16; left; --left) { STEP }
  if (p != memory + begin) return;
  for (ulong left = loads / 16; left; --left) { STEPS16 }
  found[0] = p - memory;
}
)cl";

// Words of local memory, of which there are WORDS; each work-item of the group copies some of them. Local memory that
// the kernel declares itself is at a place that the compiler knows, so that a load needs no sum: an argument's added
// five cycles to each of an H200's.
constexpr const char* local_source = R"cl(
#define STEP p = *(__local uint*)((__local uchar*)words + p);
#define STEPS16 STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP

__kernel void chase(__global const uint* links, uint count, uint begin, ulong loads, __global ulong* found) {
  __local uint words[WORDS];
  for (uint i = get_local_id(0); i < count; i += get_local_size(0)) words[i] = links[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) != 0) return;
  uint p = begin;
  for (ulong left = loads / 16; left; --left) { STEPS16 }
  found[0] = p;
}
)cl";

constexpr std::uint64_t gpu_line = 128, word_bytes = 4;
constexpr std::uint64_t min_bytes = 4 * KiB, max_bytes_of_chase = GiB, max_local = 32 * KiB, large_bytes = 16 * MiB;
constexpr std::uint64_t gpu_loads = 512, cpu_loads = 32768;  // of a repeat
constexpr std::uint64_t max_warm_loads = 4096;               // beyond any first cache: 512 KiB of lines
constexpr std::uint64_t cpu_window = 128 * KiB, seed = 1;    // as the host's own chase

std::uint64_t line_of(bool cpu) { return cpu ? chase::line_bytes : gpu_line; }
std::uint32_t access_of(Space space) { return space == Space::global ? 8 : 4; }

std::uint64_t most_local_bytes(const std::string& device) {
  return std::min<std::uint64_t>(max_local, layout_of(device, DataType::fp32).shared_bytes_per_block);
}

class OpenclLatencyRunner final : public OpenclProbeRunner {
 public:
  OpenclLatencyRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : OpenclProbeRunner(probe, steps),
        memory_(bench().buffer(max_bytes())),
        found_(bench().buffer(2 * sizeof(cl_ulong))) {}
  double work() const override { return static_cast<double>(loads_of_repeat()); }

 private:
  bool local() const { return question().space == Space::shared; }
  bool atomic() const { return question().operation == Operation::rmw; }
  std::uint64_t step() const { return local() ? word_bytes : line_of(is_cpu()); }
  std::uint64_t loads_of_repeat() const { return is_cpu() ? cpu_loads : gpu_loads; }
  // Where the chase is after so many loads.
  std::uint64_t place(std::uint64_t loads) const {
    const std::uint64_t nth = loads % count_;
    return (order_.empty() ? permutation_.at(nth) : order_[nth]) * step();
  }

  void set_up() override {
    count_ = shape().bytes / step();
    permutation_ = Permutation(count_);
    order_.clear();
    if (is_cpu()) order_ = chase::random_order(count_, cpu_window / step(), seed);
    walked_ = 0;
    if (local()) lay_out_words();
    else lay_out_lines();
    timed(0);  // a driver may finish a kernel at its first launch
  }
  void lay_out_words() {
    std::vector<std::uint32_t> words(count_);
    for (std::uint64_t i = 0; i < count_; ++i) words[place(i) / word_bytes] = static_cast<std::uint32_t>(place(i + 1));
    bench().write(memory_, words.data(), count_ * word_bytes);
    chase_.emplace(kernel(local_source, fmt::format("-DWORDS={}", max_words_), "chase"));
  }
  void lay_out_lines() {
    const std::string source = fmt::format("{}{}", loop_source, chase_source),
                      options = fmt::format("-DATOMIC={:d}", atomic());
    const Buffer order = bench().buffer(std::max<std::uint64_t>(order_.size(), 1) * sizeof(std::uint32_t));
    if (!order_.empty()) bench().write(order, order_.data(), order_.size() * sizeof(std::uint32_t));
    const auto count = static_cast<cl_uint>(count_), line = static_cast<cl_uint>(step());
    const cl_uint half_bits = permutation_.half_bits();
    Kernel link = kernel(source, options, "link_lines"), touch = kernel(source, options, "touch_lines");
    link.set(memory_, order, count, half_bits, line);
    enqueue_over(link);
    touch.set(memory_, order, count, half_bits, line, cl_ulong{0}, found_);
    bench().launch(touch, {.groups = 1, .items = is_cpu() ? 1 : std::min(256u, layout().max_threads_per_block)});
    bench().queue().finish();  // before `order` goes
    chase_.emplace(kernel(source, options, "chase"));
  }
  // Goes on where the last run ended: a set larger than one run's loads is visited in all its parts.
  ProbeSample launch(std::uint64_t repeats) override {
    const ProbeSample without = timed(0);
    ProbeSample sample = timed(repeats * loads_of_repeat());
    walked_ += repeats * loads_of_repeat();
    sample.device_us = std::max(sample.device_us - without.device_us, 0.0);
    return sample;
  }
  ProbeSample timed(std::uint64_t loads) {
    const std::uint64_t warm = atomic() || is_cpu() ? 0 : std::min(count_, max_warm_loads);
    if (local()) {
      chase_->set(memory_, static_cast<cl_uint>(count_), static_cast<cl_uint>(place(walked_)), cl_ulong{loads}, found_);
      return time([&] { enqueue(*chase_, {.groups = 1, .items = std::min(256u, layout().max_threads_per_block)}); });
    }
    chase_->set(memory_, cl_ulong{place(walked_ + count_ - warm)}, cl_ulong{place(walked_)}, cl_ulong{warm},
                cl_ulong{loads}, cl_ulong{place(0)}, cl_ulong{place(1)}, cl_ulong{0}, found_);
    return time([&] { enqueue(*chase_, {.groups = 1, .items = 1}); });
  }
  std::optional<std::string> wrong_result() override {
    if (read<cl_ulong>(found_, 1).front() == place(walked_)) return std::nullopt;
    return fmt::format("after {} loads the chase is not at element {}, where its order leads", walked_,
                       place(walked_) / step());
  }

  Buffer memory_, found_;
  std::uint64_t max_words_ = most_local_bytes(question().device) / word_bytes;
  Permutation permutation_{1};
  std::vector<std::uint32_t> order_;  // of a CPU's chase
  std::uint64_t count_ = 1;
  std::optional<Kernel> chase_;
  std::uint64_t walked_ = 0;  // since the set was laid out
};

std::optional<std::string> refuses_chase(const ProbeCase& c) {
  const auto all = description_of(c).cases(c.device);
  if (c.space == Space::constant || std::ranges::find(all, c) == all.end())
    return "probe latency chases by loads through global memory (8 bytes, as fp64) and shared memory (4 bytes, as "
           "fp32), and by atomics (rmw) through global memory";
  if (find_or_throw(c.device).info.facts.empty() ||
      number_fact(find_or_throw(c.device).info.facts, "address_bits") != 64)
    return c.device + " has no addresses of 64 bits";
  if (c.space == Space::shared) return why_no_local_memory(c.device);
  if (c.operation != Operation::rmw) return std::nullopt;
  if (opencl::is_cpu(c.device)) return "a CPU's core works on atomics in its own cache: they pass no level by";
  if (!has_extension(find_or_throw(c.device).device, "cl_khr_int64_base_atomics"))
    return c.device + " has no atomics of 64 bits by OpenCL: its driver lacks cl_khr_int64_base_atomics";
  return std::nullopt;
}
std::optional<std::string> refuses_shape_of_chase(const ProbeCase& c, const Shape& shape) {
  const std::uint64_t least = c.space == Space::shared ? word_bytes : 2 * line_of(opencl::is_cpu(c.device));
  const std::uint64_t most = c.space == Space::shared ? most_local_bytes(c.device) : 64 * GiB;
  return refuses_chase_shape(shape, access_of(c.space), least, most);
}
std::vector<Shape> shapes_of_chase(const ProbeCase& c, const Layout& l) {
  const bool cpu = opencl::is_cpu(c.device);
  std::vector<Shape> all;
  if (c.space == Space::shared) {
    all = chase_shapes(word_bytes, word_bytes, KiB, most_local_bytes(c.device), 1);
  } else if (cpu) {
    const std::uint64_t most = std::max(std::min(l.cache_bytes * far_beyond, l.memory_bytes / 8), min_bytes);
    all = chase_shapes(8, line_of(cpu), min_bytes, most, 8, large_bytes);
  } else {
    const std::uint64_t most = std::min(max_bytes_of_chase, l.memory_bytes / 8);
    all = chase_shapes(8, line_of(cpu), min_bytes, most, c.operation == Operation::rmw ? 4 : 8);
  }
  for (Shape& shape : all) shape.one_block_per_sm = false;
  return all;
}

const OpenCl latency_by_opencl({{.name = "latency",
                                 .open = runs<OpenclLatencyRunner>,
                                 .shapes = shapes_of_chase,
                                 .refuses_case = refuses_chase,
                                 .refuses = refuses_shape_of_chase,
                                 .any_grid = true}});

}  // namespace
}  // namespace npgpu::opencl
