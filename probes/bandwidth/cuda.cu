// A GPU's memory, read and written by a grid that walks through a working set (probes/walks.hpp). Each array
// is as large as the shape says: copy has two, triad three.
//
// Loads bypass the multiprocessors' own caches (ld.cg), which would otherwise answer for a small set. In one step a
// thread makes its `ilp` loads, then its stores; consecutive threads touch consecutive elements.
//
// In one launch a grid that is resident all at once walks as many steps as are asked for. A larger one makes at most
// one pass per launch, and its blocks leave no records: in a second pass its first blocks would walk their part again
// from the cache before the last have begun.

#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/shapes.hpp"
#include "probes/walks.hpp"

namespace npgpu::cuda {

namespace {

using Word = std::uint32_t;
constexpr Word pattern_step = 0x9E3779B1;  // odd: 2^32 words in a row differ
constexpr Word written_mark = 0x6E706770;
constexpr Word poison = 0xFFA5A5A5;

// ---- what memory holds -----------------------------------------------------------------------------

// The i-th word that is read or copied, and with `mark` that is written: by its place, the same everywhere, or without
// a pattern.
struct Content {
  Word factor = pattern_step, offset = 0, mark = written_mark;
  bool is_scattered = false;

  __device__ Word at(std::uint64_t i) const {
    const Word word = factor * static_cast<Word>(i) + offset;
    if (!is_scattered) return word;
    const Word mixed = (word ^ (word >> 16)) * 0x7feb352du;
    return (mixed ^ (mixed >> 15)) * 0x846ca68bu;
  }
};

Content content_of(Operands operands) {
  switch (operands) {
    case Operands::zeros: return {0, 0, 0};
    case Operands::pattern: return {0, 0x5AA5C33C, 0};
    case Operands::random: return {pattern_step, 0x6A09E667, 0, true};
    default: return {};
  }
}

// Before anything ran. Floats are small integers, so that all sums are exact.
__device__ Word start_word(Operation op, unsigned array, std::uint64_t i, const Content& content) {
  if (op == Operation::write || (op == Operation::triad && array == 2)) return poison;
  if (op == Operation::rmw || op == Operation::triad)
    return __float_as_uint(static_cast<float>(i & (array == 0 ? 1023 : 511)));
  return array == 1 ? poison : content.at(i);
}

// The word of the array that the operation leaves its results in, after so many visits.
__device__ Word end_word(Operation op, unsigned array, std::uint64_t i, std::uint64_t visits, const Content& content) {
  if (op == Operation::rmw) return __float_as_uint(static_cast<float>((i & 1023) + visits));
  if (op == Operation::read || !visits) return start_word(op, array, i, content);
  if (op == Operation::triad) return __float_as_uint(static_cast<float>((i & 1023) + 2 * (i & 511)));
  return content.at(i) + (op == Operation::write ? content.mark : 0);
}

__global__ void fill_words(Word* words, std::uint64_t count, Operation op, unsigned array, Content content) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    words[i] = start_word(op, array, i, content);
}

struct Wrong {
  unsigned long long first_word;  // all ones: none
  unsigned long long wrong_sums;  // threads whose sum was not that of what they read
};

// What threads read of words without a pattern, summed by blocks; and what these words sum to, as often as each was
// read.
constexpr unsigned sum_slots = 4096;
struct Sums {
  Word read[sum_slots];
  Word right;
};

// `shift`: words of an access, as a power of two.
__global__ void check_words(const Word* words, Walk walk, unsigned shift, std::uint64_t steps, Operation op,
                            unsigned array, Content content, Wrong* wrong, Sums* sums) {
  Word right = 0;
  const std::uint64_t whole = steps / walk.rows, part = steps % walk.rows;
  const std::uint64_t row_words = walk.row_accesses << shift;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < walk.rows * row_words;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t row = i / row_words;
    const std::uint64_t visits = whole + (part && row * walk.inverse % walk.rows < part);
    const Word word = words[i];
    right += word * static_cast<Word>(visits);
    if (word != end_word(op, array, i, visits, content))
      atomicMin(&wrong->first_word, static_cast<unsigned long long>(i));
  }
  if (sums) atomicAdd(&sums->right, right);
}

// ---- the pass --------------------------------------------------------------------------------------

template <int words> using Access = std::conditional_t<words == 1, Word, uint4>;

template <int words> union Value {
  Access<words> vector;
  Word word[words];
};

struct Pass {
  void* arrays[3];
  std::uint64_t all;    // accesses in all rows
  std::uint64_t jump;   // accesses from one step's row to the next one's
  std::uint64_t first;  // access at which the first step's row begins
  std::uint64_t steps;
  Word zero;      // 0, which only the host knows: what was loaded, masked with it, is added to an address
  float one;      // rmw's c
  float two;      // triad's s
  Word sum_rest;  // read: the part of a step's sum that does not depend on the place
  BlockRecord* records;
  std::uint32_t launch;
  Wrong* wrong;
  Word sum_factor;      // read: of a step's place
  Word factor, offset;  // write
  Sums* sums;           // read of words without a pattern; else null
};

template <Operation op, int words, int ilp, bool dependent> __global__ void __launch_bounds__(1024) pass(Pass p) {
  using Vector = Access<words>;
  auto* const a = static_cast<Vector*>(p.arrays[0]);
  auto* const b = static_cast<Vector*>(p.arrays[1]);
  auto* const c = static_cast<Vector*>(p.arrays[2]);
  const std::uint64_t own = blockIdx.x * std::uint64_t{blockDim.x * ilp} + threadIdx.x;
  std::uint64_t place = own + p.first;
  Word sum = 0, right_sum = 0;

  const BlockClock clock(p.records != nullptr);
#pragma unroll 1
  for (std::uint64_t step = 0; step < p.steps; ++step) {
    Value<words> x[ilp], y[ilp];
    if constexpr (op != Operation::write) {
#pragma unroll
      for (int k = 0; k < ilp; ++k) x[k].vector = __ldcg(a + place + k * blockDim.x);
    }
    if constexpr (op == Operation::triad) {
#pragma unroll
      for (int k = 0; k < ilp; ++k) y[k].vector = __ldcg(b + place + k * blockDim.x);
    }
    if constexpr (op == Operation::read)  // the sum of the step's words
      right_sum += p.sum_factor * static_cast<Word>(place) + p.sum_rest;
#pragma unroll
    for (int k = 0; k < ilp; ++k) {
      const std::uint64_t at = place + k * blockDim.x;
#pragma unroll
      for (int w = 0; w < words; ++w) {
        Word& word = x[k].word[w];
        if constexpr (op == Operation::rmw) word = __float_as_uint(__uint_as_float(word) + p.one);
        if constexpr (op == Operation::read) sum += word;
        if constexpr (op == Operation::write) word = p.factor * static_cast<Word>(at * words + w) + p.offset;
        if constexpr (op == Operation::triad)
          word = __float_as_uint(__uint_as_float(word) + p.two * __uint_as_float(y[k].word[w]));
      }
      if constexpr (op == Operation::rmw || op == Operation::write) a[at] = x[k].vector;
      if constexpr (op == Operation::copy) b[at] = x[k].vector;
      if constexpr (op == Operation::triad) c[at] = x[k].vector;
    }
    place += p.jump;
    if (place >= p.all) place -= p.all;
    if constexpr (dependent) place += x[ilp - 1].word[words - 1] & p.zero;
  }
  clock.write(p.records, p.launch);
  if constexpr (op == Operation::read) {
    if (p.sums) atomicAdd(&p.sums->read[blockIdx.x % sum_slots], sum);
    else if (sum != right_sum) atomicAdd(&p.wrong->wrong_sums, 1ull);
  }
}

using Kernels = void (*)(Pass);

// Null where there is no such kernel: 1, 2 or 4 accesses in flight of 4 or 16 bytes each.
template <Operation op, int words, bool dependent> Kernels by_ilp(unsigned ilp) {
  if (ilp == 1) return pass<op, words, 1, dependent>;
  if (ilp == 2) return pass<op, words, 2, dependent>;
  if (ilp == 4) return pass<op, words, 4, dependent>;
  return nullptr;
}

template <Operation op, bool dependent> Kernels by_access(const Shape& s) {
  if (s.access_bytes == 4) return by_ilp<op, 1, dependent>(s.ilp);
  if (s.access_bytes == 16) return by_ilp<op, 4, dependent>(s.ilp);
  return nullptr;
}

Kernels kernel_for(const ProbeCase& c, const Shape& s) {
  const bool dependent = c.form == Form::dependent;
  if (c.operation == Operation::write) return by_access<Operation::write, false>(s);
  if (c.operation == Operation::copy) return by_access<Operation::copy, false>(s);
  if (c.operation == Operation::triad) return by_access<Operation::triad, false>(s);
  if (c.operation == Operation::read)
    return dependent ? by_access<Operation::read, true>(s) : by_access<Operation::read, false>(s);
  return dependent ? by_access<Operation::rmw, true>(s) : by_access<Operation::rmw, false>(s);
}

// Where steps wait for each other, the next goes past the lines that memory and cache may bring along.
constexpr std::uint64_t apart_bytes = 4096;
std::uint64_t apart_bytes_of(const ProbeCase& c) { return c.form == Form::dependent ? apart_bytes : 0; }
constexpr std::uint64_t max_visits = std::uint64_t{1} << 23;  // rmw counts exactly in a float

class BandwidthRunner final : public CudaProbeRunner {
 public:
  BandwidthRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps),
        wrong_(Memory::device, sizeof(Wrong)),
        sums_(Memory::device, sizeof(Sums)),
        units_(layout_of(bench().gpu().ordinal()).units) {
    for (unsigned i = 0; i < max_arrays_of(steps); ++i) arrays_[i] = Buffer(Memory::device, max_bytes());
  }
  double work() const override {
    return static_cast<double>(walk_.row_accesses * shape().access_bytes) * crossings(question().operation);
  }

 private:
  static constexpr unsigned grid = 4096, block = 256;
  void set_up() override {
    bench().gpu().make_current();
    kernel_ = kernel_for(question(), shape());
    content_ = content_of(shape().operands);
    walk_ = walk_of(shape(), apart_bytes_of(question()));
    int of_unit = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_unit, kernel_, static_cast<int>(shape().threads), 0),
                "asking how many blocks a multiprocessor holds");
    resident_ = shape().blocks <= std::uint64_t{units_} * static_cast<unsigned>(of_unit);
    fill();
    // Without a step: the driver loads a kernel at its first launch, which no trial should wait for.
    bench().time_launches(0, [&] { kernel_<<<1, shape().threads, 0, stream()>>>(described()); });
  }
  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    if ((steps_ + repeats) / walk_.rows >= max_visits) fill();
    Pass p = described();
    if (resident_) {
      p.records = bench().record(shape().blocks);
      p.launch = bench().launch();
    }
    const auto all = [&] { enqueue(p, repeats); };
    if (resident_) return bench().time_kernel(repeats, all);
    return bench().time_launches((repeats + walk_.rows - 1) / walk_.rows, all);
  }
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    const unsigned last = arrays_of(question().operation) - 1;
    cuda::check(cudaMemsetAsync(&sums()->right, 0, sizeof(Word), stream()), "preparing the check");
    check_words<<<grid, block, 0, stream()>>>(words(last), walk_, shift(), steps_, question().operation, last, content_,
                                              verdict(), sums());
    cuda::check(cudaGetLastError(), "checking the working set");
    const auto wrong = read<Wrong>(verdict());
    if (sums_up()) {
      const Sums found = read<Sums>(sums());
      Word all = 0;
      for (const Word one : found.read) all += one;
      if (all != found.right) return "what all threads read does not sum to what memory holds";
    }
    if (wrong.wrong_sums) return std::to_string(wrong.wrong_sums) + " threads read what was not in memory";
    if (wrong.first_word == ~0ull) return std::nullopt;
    return "word " + std::to_string(wrong.first_word) + " of " + std::to_string(all_words()) + " is " +
           std::to_string(read<Word>(words(last) + wrong.first_word)) + ", which is not what " +
           std::to_string(steps_) + " steps leave";
  }

  template <class T> T read(const T* from) const {
    T value;
    cuda::check(cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, stream()),
                "reading the check's verdict");
    cuda::check(cudaStreamSynchronize(stream()), "checking the working set");
    return value;
  }
  Word* words(unsigned array) const { return reinterpret_cast<Word*>(arrays_[array].data()); }
  Sums* sums() const { return reinterpret_cast<Sums*>(sums_.data()); }
  bool sums_up() const { return content_.is_scattered && question().operation == Operation::read; }
  Wrong* verdict() const { return reinterpret_cast<Wrong*>(wrong_.data()); }
  unsigned shift() const { return shape().access_bytes == 16 ? 2 : 0; }
  std::uint64_t all_words() const { return walk_.rows * walk_.row_accesses << shift(); }
  void fill() {
    for (unsigned i = 0; i < arrays_of(question().operation); ++i)
      fill_words<<<grid, block, 0, stream()>>>(words(i), all_words(), question().operation, i, content_);
    cuda::check(cudaGetLastError(), "filling the working set");
    static_assert(sizeof(Wrong) == 16);
    cuda::check(cudaMemsetAsync(&verdict()->first_word, 0xff, 8, stream()), "preparing the check");
    cuda::check(cudaMemsetAsync(&verdict()->wrong_sums, 0, 8, stream()), "preparing the check");
    cuda::check(cudaMemsetAsync(sums(), 0, sizeof(Sums), stream()), "preparing the check");
    steps_ = 0;
  }
  Pass described() const {
    Pass p{};
    for (unsigned i = 0; i < arrays_of(question().operation); ++i) p.arrays[i] = arrays_[i].data();
    p.all = walk_.rows * walk_.row_accesses;
    p.jump = walk_.jump * walk_.row_accesses;
    p.one = 1;
    p.two = 2;
    const Word n = 1u << shift();
    p.sum_factor = content_.factor * n * n * shape().ilp;
    for (Word k = 0; k < shape().ilp; ++k)
      for (Word w = 0; w < n; ++w) p.sum_rest += content_.factor * (k * shape().threads * n + w) + content_.offset;
    p.factor = content_.factor;
    p.offset = content_.offset + content_.mark;
    p.sums = sums_up() ? sums() : nullptr;
    p.wrong = verdict();
    return p;
  }
  // Goes on where the last run ended: what was touched last is touched again last.
  void enqueue(Pass p, std::uint64_t repeats) {
    while (repeats) {
      p.steps = resident_ ? repeats : std::min(repeats, walk_.rows);
      p.first = walk_.row_of(steps_) * walk_.row_accesses;
      kernel_<<<shape().blocks, shape().threads, 0, stream()>>>(p);
      steps_ += p.steps;
      repeats -= p.steps;
    }
  }

  Buffer wrong_, sums_;
  Buffer arrays_[3];
  Content content_;
  std::uint32_t units_ = 0;
  Kernels kernel_ = nullptr;
  Walk walk_;
  bool resident_ = false;
  std::uint64_t steps_ = 0;  // since the arrays were filled
};

bool takes_of_bandwidth(const ProbeCase& c, Operands operands) {
  const bool is_written = c.operation == Operation::write;
  return operands == Operands::usual || (is_written && operands != Operands::random) ||
         ((c.operation == Operation::read || c.operation == Operation::copy) && c.form == Form::streaming);
}

std::optional<std::string> refuses_bandwidth(const ProbeCase& c, const Shape& shape) {
  if (shape.one_block_per_sm) return "probe bandwidth has no shape with one block per SM";
  if (!kernel_for(c, shape))
    return std::to_string(shape.ilp) + " accesses of " + std::to_string(shape.access_bytes) +
           " bytes in flight of one thread: it takes 1, 2 or 4 of 4 or 16 bytes";
  return refuses_walk(shape);
}

const Cuda bandwidth_probe({{.name = "bandwidth",
                             .open = runs<BandwidthRunner>,
                             .refuses_case = refuses_gpu_bandwidth,
                             .refuses = refuses_bandwidth,
                             .limit = limit_of_memory,
                             .takes = takes_of_bandwidth,
                             .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
                               return {0, max_arrays_of(steps) * max_bytes_of(steps)};
                             }}});

}  // namespace
}  // namespace npgpu::cuda
