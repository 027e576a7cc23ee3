// A GPU's roofline: kernels that read memory, L2 or shared memory and compute, with a chosen number of operations for
// each byte. Grids, words and what they must leave are in shapes.hpp and words.hpp, the kernels in stream.cuh, and of
// shared memory in cuda_shared.cu.
#include <cuda_fp16.h>

#include <algorithm>
#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/roofline/stream.cuh"

namespace npgpu::cuda {

namespace {

using roofline::Total, rooflines::Run;

// ---- what memory holds ----------------------------------------------------------------------------------------------

// The i-th word of 32 bits.
__device__ std::uint32_t word_of(DataType type, std::uint64_t i) {
  if (type == DataType::fp32) return __float_as_uint(static_cast<float>(roofline::sign(i)));
  if (type == DataType::fp64) {
    const double one = roofline::sign(i / 2);
    return static_cast<std::uint32_t>(i % 2 ? __double2hiint(one) : __double2loint(one));
  }
  std::uint32_t word = 0;
  for (std::uint32_t h = 0; h < 2; ++h)
    word |= std::uint32_t{__half_as_ushort(__int2half_rn(roofline::small(2 * i + h)))} << (16 * h);
  return word;
}

__global__ void fill_words(std::uint32_t* words, std::uint64_t count, DataType type) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    words[i] = word_of(type, i);
}

// What the i-th word leaves, each time that it is read.
__device__ Total left_by(DataType type, std::uint32_t operations, std::uint64_t i) {
  const roofline::Place at = roofline::place_of(i);
  Total all;
  if (type == DataType::fp16) {
    if (operations < roofline::tiles && at.access >= operations) return {0, word_of(type, i)};
    for (std::uint32_t h = 0; h < 2; ++h)
      all.weighted += roofline::term_of_tile(at.access, roofline::column_of(at.lane, at.word, h), operations,
                                             roofline::small(2 * i + h));
    return all;
  }
  const std::uint32_t of_element = type == DataType::fp64 ? 2 : 1, elements = 16 / of_element;
  const std::uint32_t e = (at.access * 4 + at.word) / of_element;
  if (e >= operations) return {0, word_of(type, i)};
  if (i % of_element == 0) all.weighted = roofline::term(e, elements, operations, roofline::sign(i / of_element));
  return all;
}

struct Taken {
  std::uint32_t turns, first, regions, region_words;
};

__global__ void sum_up(DataType type, std::uint32_t operations, Taken taken, Total* total) {
  const std::uint64_t words = std::uint64_t{taken.regions} * taken.region_words;
  Total all;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < words;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const auto region = static_cast<std::uint32_t>(i / taken.region_words);
    const std::uint32_t turn = (region + taken.regions - taken.first) % taken.regions;
    const std::uint32_t times = taken.turns / taken.regions + (turn < taken.turns % taken.regions);
    if (!times) continue;
    const Total one = left_by(type, operations, i);
    all.weighted += times * one.weighted;
    all.added += times * one.added;
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(&total->weighted), static_cast<unsigned long long>(all.weighted));
  atomicAdd(reinterpret_cast<unsigned long long*>(&total->added), static_cast<unsigned long long>(all.added));
}

// ---- the run --------------------------------------------------------------------------------------------------------

class RooflineRunner final : public CudaProbeRunner {
 public:
  RooflineRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps),
        memory_(Memory::device, max_bytes()),
        totals_(Memory::device, (rooflines::slots + 1) * sizeof(Total)),
        next_turn_(Memory::device, sizeof(std::uint32_t)) {}
  double work() const override { return roofline::work(question(), shape()); }

 private:
  bool is_tensor() const { return question().operation == Operation::mma; }
  bool is_shared() const { return question().space == Space::shared; }
  std::uint32_t operations() const { return roofline::operations_of_step(question(), shape()); }
  std::uint64_t turns_of_repeat() const {
    return std::uint64_t{shape().blocks} * (roofline::steps_of_repeat(question()) / roofline::steps_of_region);
  }
  Total* totals() const { return reinterpret_cast<Total*>(totals_.data()); }

  void set_up() override {
    bench().gpu().make_current();
    if (filled_ != question().type) {
      fill_words<<<4096, 256, 0, stream()>>>(reinterpret_cast<std::uint32_t*>(memory_.data()), max_bytes() / 4,
                                             question().type);
      cuda::check(cudaGetLastError(), "filling the working set");
      filled_ = question().type;
    }
    // Of shared memory: of one warp in one repeat, which reads as many steps as there are in its set, again and again.
    const std::uint32_t region = is_shared() ? roofline::warp_step_bytes : roofline::region_bytes(shape());
    taken_ = {.turns = is_shared() ? roofline::steps_of_repeat(question()) : 0,
              .first = 0,
              .regions = static_cast<std::uint32_t>(shape().bytes / region),
              .region_words = region / 4};
    timed(0);
  }
  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    if (const std::uint64_t most = most_repeats(); repeats > most)
      throw Error(ErrorKind::usage, "probe roofline: at most " + std::to_string(most) +
                                        " repeats of this shape, beyond which sums would be "
                                        "rounded, or turns not counted");
    if (is_shared()) return timed(repeats);
    // Goes on where the last run ended: what was read last is read again last.
    taken_.first = static_cast<std::uint32_t>((std::uint64_t{taken_.first} + taken_.turns) % taken_.regions);
    taken_.turns = static_cast<std::uint32_t>(repeats * turns_of_repeat());
    return timed(repeats);
  }
  // A chain of fp32 counts to 2^24. Where an element is taken n times, one of 64 makes it grow by n; where it is taken
  // once, each by 1, and there are two of a chain in a step at most. This is a half to a quarter of the way, because a
  // block may take more turns than others. Sums of products go up and down, and stay far below.
  // Of shared memory chains begin anew in each repeat.
  std::uint64_t most_repeats() const {
    if (is_shared()) return UINT32_MAX;
    const std::uint64_t turns = (UINT32_MAX - std::uint64_t{taken_.regions}) / turns_of_repeat() / 2;
    const std::uint64_t growth = is_tensor() ? 1 : std::max(1u, operations() / roofline::chains / 64);
    return std::min(turns, (1u << 22) / (growth * roofline::steps_of_repeat(question())));
  }
  // Without a repeat, too: the driver loads a kernel at its first launch, which no trial should wait for.
  ProbeSample timed(std::uint64_t repeats) {
    repeats_ = repeats;
    cuda::check(cudaMemsetAsync(totals_.data(), 0, totals_.bytes(), stream()), "clearing the totals");
    cuda::check(cudaMemsetAsync(next_turn_.data(), 0, next_turn_.bytes(), stream()), "clearing the turns");
    const std::uint32_t unrolled = is_tensor() ? rooflines::most_unrolled_products : rooflines::most_unrolled;
    const Run run{.memory = reinterpret_cast<const uint4*>(memory_.data()),
                  .next_turn = reinterpret_cast<std::uint32_t*>(next_turn_.data()),
                  .turns = is_shared() ? static_cast<std::uint32_t>(repeats) : taken_.turns,
                  .first = taken_.first,
                  .regions = taken_.regions,
                  .pairs = (is_shared() ? taken_.turns : roofline::steps_of_region) / 2,
                  .rounds = std::max(1u, operations() / unrolled),
                  .one = 1,
                  .totals = totals(),
                  .records = bench().record(shape().blocks),
                  .launch = bench().launch()};
    const rooflines::Kernel kernel = is_shared()   ? rooflines::shared_kernel(question().type, operations())
                                     : is_tensor() ? rooflines::product_kernel(operations())
                                                   : rooflines::multiply_kernel(question().type, operations());
    const std::uint64_t shared_bytes = is_shared() ? shape().bytes : 0;
    return bench().time_kernel(repeats,
                               [&] { kernel<<<shape().blocks, shape().threads, shared_bytes, stream()>>>(run); });
  }
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    Total* const expected = totals() + rooflines::slots;
    cuda::check(cudaMemsetAsync(expected, 0, sizeof(Total), stream()), "preparing the check");
    sum_up<<<4096, 256, 0, stream()>>>(question().type, operations(), taken_, expected);
    cuda::check(cudaGetLastError(), "summing up what memory holds");
    std::vector<Total> all(rooflines::slots + 1);
    cuda::check(cudaMemcpyAsync(all.data(), totals(), totals_.bytes(), cudaMemcpyDeviceToHost, stream()),
                "reading the totals");
    cuda::check(cudaStreamSynchronize(stream()), "reading the totals");
    Total right = all.back(), found;
    all.pop_back();
    if (is_shared()) {  // all warps read the same in each repeat
      const std::uint64_t alike = repeats_ * shape().blocks * (shape().threads / roofline::warp);
      right.weighted *= static_cast<std::int64_t>(alike);
      right.added *= alike;
    }
    right.weighted += before() * static_cast<std::int64_t>(is_shared() ? repeats_ : 1);
    for (const Total& one : all) found.weighted += one.weighted, found.added += one.added;
    if (found.weighted != right.weighted)
      return "the chains of all threads sum to " + std::to_string(found.weighted) + ", not to " +
             std::to_string(right.weighted);
    if (static_cast<std::uint32_t>(found.added) != static_cast<std::uint32_t>(right.added))
      return "the words that take part in no operation do not sum to what memory holds";
    return std::nullopt;
  }
  // What all chains sum to before the first step.
  std::int64_t before() const {
    std::int64_t of_block = 0;
    const std::uint32_t chains = is_tensor() ? roofline::tiles : roofline::chains, each = is_tensor() ? 4 : 1;
    for (std::uint32_t thread = 0; thread < shape().threads; ++thread)
      for (std::uint32_t i = 0; i < chains; ++i) of_block += each * roofline::weight(i) * roofline::first(thread, i);
    return of_block * shape().blocks;
  }

  Buffer memory_, totals_, next_turn_;
  std::optional<DataType> filled_;
  Taken taken_{};  // by the last run
  std::uint64_t repeats_ = 0;
};

class RooflineProbe final : public ProbeOf<CudaProbe, RooflineRunner> {
 public:
  std::string_view name() const override { return "roofline"; }
  std::string_view summary() const override {
    return "operations on what a GPU reads from memory, L2 or shared memory, by intensity";
  }
  std::optional<std::string> refuses_shape(const ProbeCase& c, const Shape& shape) const override {
    if (auto why = refuses_grid(shape)) return why;
    return roofline::refuses(c, shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return roofline::shapes(c, context(c).layout); }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override { return roofline::cases(device); }
  std::optional<std::string> refuses_question(const ProbeCase& c) const override {
    if (!knows(c))
      return "probe roofline has multiply-adds (fma) of fp32 and fp64, and products (mma) of fp16, in the spaces "
             "global, "
             "l2 and shared";
    if (c.operation == Operation::mma && capability_of(*ordinal_of(c.device)) < 80)
      return c.device + " has no such products, which need compute capability 8.0";
    return std::nullopt;
  }
  Limit limit(const ProbeCase& c, int ordinal) const override {
    return c.operation == Operation::mma ? tensor_limit(c.type, ordinal) : arithmetic_limit(c.type, ordinal);
  }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Probe, npgpu::cuda::RooflineProbe)
