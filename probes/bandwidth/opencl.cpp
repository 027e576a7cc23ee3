// An OpenCL device's memory, read and written by a grid that walks through a working set (probes/walks.hpp),
// as on CUDA: in one step a thread makes its `ilp` loads, then its stores; consecutive threads touch consecutive
// elements.
//
// OpenCL has no load that passes the first cache by, so all sets lie far beyond the caches. A grid that is resident all
// at once walks as many steps in one launch as are asked for; a larger one makes at most one pass per launch. How many
// blocks of a kernel a unit holds OpenCL does not say: that many are taken as its slots and threads allow.
//
// On a CPU a block is one work-item, whose access is a vector of 64 bytes, or a word where the shape has one thread. It
// walks through a part of the set of its own, as the host's own probe does: where two cores took turns in one part,
// each fetched the other's lines ahead, and both together were hardly faster than one.
#include "probes/opencl.hpp"

#include <fmt/format.h>

#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "probes/host/probe.hpp"
#include "probes/patterns/patterns.hpp"
#include "probes/shapes.hpp"
#include "probes/walks.hpp"

namespace npgpu::opencl {

namespace {

// OP is rmw 0, read 1, write 2, copy 3 or triad 4; WORDS those of an access, 1, 4 or 16; ILP accesses in flight;
// DEPENDENT 0 or 1.
constexpr const char* walk_source = R"cl(
#if WORDS == 1
typedef uint Access;
typedef float Floats;
#define as_access as_uint
#define as_floats as_float
#define LAST(x) (x)
#define PLACES 0u
#elif WORDS == 4
typedef uint4 Access;
typedef float4 Floats;
#define as_access as_uint4
#define as_floats as_float4
#define LAST(x) (x).s3
#define PLACES (uint4)(0, 1, 2, 3)
#else
typedef uint16 Access;
typedef float16 Floats;
#define as_access as_uint16
#define as_floats as_float16
#define LAST(x) (x).sf
#define PLACES (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#endif
#define RMW 0
#define READ 1
#define WRITE 2
#define COPY 3
#define TRIAD 4
#define FACTOR 0x9E3779B1u  // odd: 2^32 words in a row differ
#define MARK 0x6E706770u
#define POISON 0xFFA5A5A5u

// Before anything ran. Floats are small integers, so that all sums are exact.
uint start_word(uint array, ulong i) {
  if (OP == WRITE || (OP == TRIAD && array == 2)) return POISON;
  if (OP == RMW || OP == TRIAD) return as_uint((float)(uint)(i & (array == 0 ? 1023 : 511)));
  return array == 1 ? POISON : FACTOR * (uint)i;
}

// The word of the array that the operation leaves its results in, after so many visits.
uint end_word(uint array, ulong i, ulong visits) {
  if (OP == RMW) return as_uint((float)((uint)(i & 1023) + (uint)visits));
  if (OP == READ || visits == 0) return start_word(array, i);
  if (OP == TRIAD) return as_uint((float)((uint)(i & 1023) + 2 * (uint)(i & 511)));
  return FACTOR * (uint)i + (OP == WRITE ? MARK : 0);
}

__kernel void fill_words(__global uint* words, ulong count, uint array) {
  FOR_EACH(i, count) words[i] = start_word(array, i);
}

// row_words: of those that lie together.
__kernel void check_words(__global const uint* words, ulong count, ulong rows, ulong row_words, ulong inverse,
                          ulong steps, uint array, volatile __global uint* first_wrong) {
  const ulong whole = steps / rows, part = steps % rows;
  ulong row_end = 0, turn = 0, visits = 0;  // turn: of the steps of a pass, the one that touches the row
  FOR_EACH(i, count) {
    if (i >= row_end) {
      if (CPU && row_end != 0) {
        row_end += row_words;
        turn += inverse;
        if (turn >= rows) turn -= rows;
      } else {
        row_end = (i / row_words + 1) * row_words;
        turn = i / row_words % rows * inverse % rows;
      }
      visits = whole + (turn < part);
    }
    if (words[i] != end_word(array, i, visits)) atomic_min(first_wrong, (uint)i);
  }
}

// `zero`, `one` and `two` are what they say, which only the host knows: what was loaded, masked with zero, is added to
// an address.
__kernel void pass(__global Access* a, __global Access* b, __global Access* c, ulong all, ulong jump, ulong first,
                   ulong steps, uint zero, float one, float two, uint sum_factor, uint sum_rest,
                   volatile __global uint* wrong_sums) {
  const ulong threads = get_local_size(0);
#if CPU
  all /= get_num_groups(0);
  jump /= get_num_groups(0);
  const ulong begin = get_group_id(0) * all;
  a += begin;
  b += begin;
  c += begin;
  ulong place = first / get_num_groups(0);
#else
  const ulong begin = 0;
  ulong place = first + get_group_id(0) * threads * ILP + get_local_id(0);
#endif
  Access sum = 0;
  uint right_sum = 0;
  for (ulong step = 0; step < steps; ++step) {
    Access x[ILP];
#if OP != WRITE
#pragma unroll
    for (int k = 0; k < ILP; ++k) x[k] = a[place + k * threads];
#endif
#if OP == TRIAD
    Access y[ILP];
#pragma unroll
    for (int k = 0; k < ILP; ++k) y[k] = b[place + k * threads];
#endif
#if OP == READ
    right_sum += sum_factor * (uint)(begin + place) + sum_rest;
#endif
#pragma unroll
    for (int k = 0; k < ILP; ++k) {
      const ulong at = place + k * threads;
#if OP == RMW
      a[at] = x[k] = as_access(as_floats(x[k]) + one);
#elif OP == READ
      sum += x[k];
#elif OP == WRITE
      a[at] = FACTOR * ((uint)((begin + at) * WORDS) + PLACES) + MARK;
#elif OP == COPY
      b[at] = x[k];
#else
      c[at] = as_access(as_floats(x[k]) + two * as_floats(y[k]));
#endif
    }
    place += jump;
    if (place >= all) place -= all;
#if DEPENDENT
    place += LAST(x[ILP - 1]) & zero;
#endif
  }
#if OP == READ
#if WORDS == 1
  const uint found = sum;
#else
  uint words[WORDS];
#if WORDS == 4
  vstore4(sum, 0, words);
#else
  vstore16(sum, 0, words);
#endif
  uint found = 0;
  for (int w = 0; w < WORDS; ++w) found += words[w];
#endif
  if (found != right_sum) atomic_inc(wrong_sums);
#endif
}
)cl";

constexpr std::uint32_t factor = 0x9E3779B1;
constexpr std::uint32_t vector_ilps[] = {1, 4, 16};
constexpr std::uint64_t beyond_cache = 2;        // a CPU's set; each array is as large
constexpr std::uint64_t vector_bytes = 64;       // of a CPU's access
constexpr std::uint64_t max_set = 16 * GiB - 4;  // a check numbers words in 32 bits
constexpr std::uint64_t max_visits = 1u << 23;   // rmw counts exactly in a float
constexpr std::uint64_t apart_bytes = 4096;      // where steps wait for each other: past the lines that come along

int number_of(Operation op) { return static_cast<int>(op) - static_cast<int>(Operation::rmw); }

// As the kernel sees it: a CPU's block is one work-item.
Shape of_items(Shape shape, bool cpu) {
  if (cpu) shape.threads = 1;
  return shape;
}

class OpenclBandwidthRunner final : public OpenclProbeRunner {
 public:
  OpenclBandwidthRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : OpenclProbeRunner(probe, steps), verdict_(bench().buffer(2 * sizeof(std::uint32_t))) {
    for (unsigned i = 0; i < max_arrays_of(steps); ++i) arrays_[i] = bench().buffer(max_bytes());
  }
  double work() const override {
    return static_cast<double>(walk_.row_accesses * shape().access_bytes) * crossings(question().operation);
  }

 private:
  std::uint32_t words_of_access() const { return shape().access_bytes / 4; }
  std::uint64_t all_words() const { return walk_.rows * walk_.row_accesses * words_of_access(); }
  std::uint64_t row_words() const {
    return (is_cpu() ? shape().ilp : walk_.row_accesses) * std::uint64_t{words_of_access()};
  }
  unsigned last_array() const { return arrays_of(question().operation) - 1; }

  void set_up() override {
    const std::string options =
        fmt::format("-DOP={} -DWORDS={} -DILP={} -DDEPENDENT={:d}", number_of(question().operation), words_of_access(),
                    shape().ilp, question().form == Form::dependent);
    const std::string source = fmt::format("{}{}", loop_source, walk_source);
    pass_.emplace(kernel(source, options, "pass"));
    fill_.emplace(kernel(source, options, "fill_words"));
    check_.emplace(kernel(source, options, "check_words"));
    items_ = of_items(shape(), is_cpu());
    walk_ = walk_of(items_, question().form != Form::dependent ? 0
                            : is_cpu()                         ? apart_bytes * shape().blocks
                                                               : apart_bytes);
    resident_ = is_cpu() || shape().blocks <= filling_blocks(layout(), shape().threads);
    fill();
    set_pass(0);  // a driver may finish a kernel at its first launch
    enqueue(*pass_, {.groups = 1, .items = items_.threads});
  }
  ProbeSample launch(std::uint64_t repeats) override {
    if ((steps_ + repeats) / walk_.rows >= max_visits) fill();
    return time([&] {
      for (std::uint64_t left = repeats; left;) {
        const std::uint64_t steps = resident_ ? left : std::min(left, walk_.rows);
        set_pass(steps);
        enqueue(*pass_, {.groups = shape().blocks, .items = items_.threads});
        steps_ += steps;
        left -= steps;
      }
    });
  }
  // Goes on where the last run ended: what was touched last is touched again last.
  void set_pass(std::uint64_t steps) {
    const std::uint32_t n = words_of_access();
    std::uint32_t sum_rest = 0;
    for (std::uint32_t k = 0; k < shape().ilp; ++k)
      for (std::uint32_t w = 0; w < n; ++w) sum_rest += factor * (k * items_.threads * n + w);
    pass_->set(arrays_[0], arrays_[last_array() ? 1 : 0], arrays_[last_array()],
               cl_ulong{walk_.rows * walk_.row_accesses}, cl_ulong{walk_.jump * walk_.row_accesses},
               cl_ulong{walk_.row_of(steps_) * walk_.row_accesses}, cl_ulong{steps}, cl_uint{0}, cl_float{1},
               cl_float{2}, cl_uint{factor * n * n * shape().ilp}, cl_uint{sum_rest}, verdict_);
  }
  std::optional<std::string> wrong_result() override {
    const std::uint32_t none[2] = {0, UINT32_MAX};
    const auto sums = read<std::uint32_t>(verdict_, 1).front();
    bench().write(verdict_, none, sizeof none);
    first_wrong_ = bench().buffer(sizeof(std::uint32_t));
    bench().write(first_wrong_, &none[1], sizeof none[1]);
    check_->set(arrays_[last_array()], cl_ulong{all_words()}, cl_ulong{walk_.rows}, cl_ulong{row_words()},
                cl_ulong{walk_.inverse}, cl_ulong{steps_}, cl_uint{last_array()}, first_wrong_);
    enqueue_over(*check_);
    const auto wrong = read<std::uint32_t>(first_wrong_, 1).front();
    if (sums) return fmt::format("{} threads read what was not in memory", sums);
    if (wrong == UINT32_MAX) return std::nullopt;
    return fmt::format("word {} of {} is not what {} steps leave", wrong, all_words(), steps_);
  }
  void fill() {
    // Arrays that are only read stay as they are.
    const bool anew = !filled_ || *filled_ != question();
    filled_ = question();
    const unsigned first = anew ? 0 : question().operation == Operation::read ? 1 : last_array();
    for (unsigned i = first; i <= last_array(); ++i) {
      fill_->set(arrays_[i], cl_ulong{arrays_[i].bytes() / 4}, cl_uint{i});
      enqueue_over(*fill_);
      bench().queue().finish();  // before the next set of arguments
    }
    bench().fill(verdict_, 0);
    steps_ = 0;
  }

  Buffer verdict_;  // threads whose sum was not that of what they read
  Buffer first_wrong_;
  Buffer arrays_[3];
  std::optional<Kernel> pass_, fill_, check_;
  Shape items_;
  Walk walk_;
  bool resident_ = false;
  std::optional<ProbeCase> filled_;
  std::uint64_t steps_ = 0;  // since the arrays were filled
};

std::optional<std::string> refuses_accesses(const ProbeCase& c, const Shape& shape) {
  if (shape.bytes > max_set) return "a set of more than 16 GiB is more than a check can number";
  if (opencl::is_cpu(c.device)) {
    const bool alone = shape.threads == 1 && shape.access_bytes == 4 && shape.ilp == 1;
    const bool wide = shape.access_bytes == vector_bytes && shape.threads == vector_bytes / 4 &&
                      std::ranges::find(vector_ilps, shape.ilp) != std::end(vector_ilps);
    if (!alone && !wide)
      return "a CPU's core has one access of 4 bytes, or 16 lanes with 1, 4 or 16 accesses of 64 bytes";
  } else if ((shape.ilp != 1 && shape.ilp != 2 && shape.ilp != 4) ||
             (shape.access_bytes != 4 && shape.access_bytes != 16)) {
    return fmt::format("{} accesses of {} bytes in flight of one thread: it takes 1, 2 or 4 of 4 or 16 bytes",
                       shape.ilp, shape.access_bytes);
  }
  return refuses_walk(of_items(shape, opencl::is_cpu(c.device)));
}
// One core and all, a word and a vector, beyond the caches; then the cores one by one.
std::vector<Shape> cpu_shapes(const ProbeCase& c, const Layout& l) {
  const std::uint64_t bytes = std::min(beyond_cache * l.cache_bytes, l.memory_bytes / 8) / MiB * MiB;
  std::vector<Shape> all;
  const auto add = [&](std::uint32_t blocks, bool wide, std::uint32_t ilp) {
    const Shape shape{.blocks = blocks,
                      .threads = wide ? static_cast<std::uint32_t>(vector_bytes / 4) : 1,
                      .ilp = ilp,
                      .access_bytes = wide ? static_cast<std::uint32_t>(vector_bytes) : 4,
                      .bytes = bytes};
    all.push_back(shape);
  };
  for (const std::uint32_t blocks : {1u, l.units}) {
    add(blocks, false, 1);
    add(blocks, true, 1);
    if (c.form == Form::dependent) continue;
    add(blocks, true, 4);
    add(blocks, true, 16);
  }
  if (c.form == Form::streaming)
    for (const std::uint32_t blocks : cores_one_by_one(l.units)) add(blocks, true, 16);
  return each_once(std::move(all));
}
std::vector<Shape> shapes_of_bandwidth(const ProbeCase& c, const Layout& l) {
  if (opencl::is_cpu(c.device)) return cpu_shapes(c, l);
  auto all = bandwidth_shapes(l, c.form);
  std::uint64_t largest = 0;
  for (const Shape& shape : all) largest = std::max(largest, shape.bytes);
  std::erase_if(all, [&](const Shape& s) { return s.bytes < largest; });
  return all;
}

const OpenCl bandwidth_by_opencl(
    {{.name = "bandwidth",
      .open = runs<OpenclBandwidthRunner>,
      .shapes = shapes_of_bandwidth,
      .refuses_case = refuses_gpu_bandwidth,
      .refuses = refuses_accesses,
      .limit = [](const ProbeCase& c, const Layout&) { return find_or_throw(c.device).info.memory; },
      .needs = [](std::span<const ProbeStep> steps) { return needs_of(steps, max_arrays_of(steps)); }}});

}  // namespace
}  // namespace npgpu::opencl
