// Straight lines of code; see shapes.hpp. There is one line of 256 KiB, with a way back to its begin after each KiB; a
// shape takes the one that its length asks for. Each part of the line is 64 FFMAs of four chains, and three
// instructions that find out whether to go back.

#include <algorithm>
#include <bit>
#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/code/shapes.hpp"
#include "probes/cuda_sums.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned most_parts = code::most_bytes / code::part_bytes;

struct Line {
  std::uint32_t parts, rounds;
  float times, plus;  // 1 and 1, which the compiler does not know
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

#define NPGPU_STEP                                                                             \
  "fma.rn.f32 %0, %0, %4, %5;\n\tfma.rn.f32 %1, %1, %4, %5;\n\tfma.rn.f32 %2, %2, %4, %5;\n\t" \
  "fma.rn.f32 %3, %3, %4, %5;\n\t"
#define NPGPU_STEPS NPGPU_STEP NPGPU_STEP NPGPU_STEP NPGPU_STEP

// Written out: no compiler unrolls a loop as long as this.
#define NPGPU_PART(part)                                        \
  if ((part) >= line.parts) continue;                           \
  asm volatile(NPGPU_STEPS NPGPU_STEPS NPGPU_STEPS NPGPU_STEPS  \
               : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) \
               : "f"(line.times), "f"(line.plus));
#define NPGPU_4_PARTS(part) NPGPU_PART(part) NPGPU_PART((part) + 1) NPGPU_PART((part) + 2) NPGPU_PART((part) + 3)
#define NPGPU_16_PARTS(part) \
  NPGPU_4_PARTS(part) NPGPU_4_PARTS((part) + 4) NPGPU_4_PARTS((part) + 8) NPGPU_4_PARTS((part) + 12)
#define NPGPU_64_PARTS(part) \
  NPGPU_16_PARTS(part) NPGPU_16_PARTS((part) + 16) NPGPU_16_PARTS((part) + 32) NPGPU_16_PARTS((part) + 48)
static_assert(most_parts == 256);

__global__ void __launch_bounds__(1024) run_line(Line line) {
  float x[code::chains];
#pragma unroll
  for (unsigned k = 0; k < code::chains; ++k) x[k] = static_cast<float>(threadIdx.x % 32 + k);
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t round = 0; round < line.rounds; ++round) {
    NPGPU_64_PARTS(0)
    NPGPU_64_PARTS(64)
    NPGPU_64_PARTS(128)
    NPGPU_64_PARTS(192)
  }
  clock.write(line.records, line.launch);
  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned k = 0; k < code::chains; ++k) sum += (2 * k + 1) * static_cast<std::uint32_t>(x[k]);
  line.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
#undef NPGPU_64_PARTS
#undef NPGPU_16_PARTS
#undef NPGPU_4_PARTS
#undef NPGPU_PART
#undef NPGPU_STEPS
#undef NPGPU_STEP

class CodeRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return code::work(shape()); }

 private:
  void set_up() override {
    bench().gpu().make_current();
    make_ready();
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const std::uint64_t rounds = std::uint64_t{repeats} * code::rounds(shape());
    if (rounds > UINT32_MAX) throw Error(ErrorKind::usage, "probe code: at most 2^32 - 1 rounds of a line");
    const Line line{.parts = code::parts(shape()),
                    .rounds = static_cast<std::uint32_t>(rounds),
                    .times = 1,
                    .plus = 1,
                    .results = results(),
                    .records = bench().record(shape().blocks),
                    .launch = bench().launch()};
    return bench().time_kernel(repeats, [&] { run_line<<<shape().blocks, shape().threads, 0, stream()>>>(line); });
  }
  // Each chain counts by ones, as far as an fp32 does.
  std::uint32_t expected(std::uint32_t, std::uint32_t thread, std::uint64_t repeats) const override {
    const std::uint64_t steps = repeats * code::instructions(shape()) / code::chains;
    std::uint32_t sum = 0;
    for (std::uint32_t k = 0; k < code::chains; ++k)
      sum +=
          (2 * k + 1) * static_cast<std::uint32_t>(std::min<std::uint64_t>(thread % 32 + k + steps, code::most_whole));
    return sum;
  }
};

class CodeProbe final : public ProbeOf<CudaProbe, CodeRunner> {
 public:
  std::string_view name() const override { return "code"; }
  std::optional<std::string> refuses_shape(const ProbeCase&, const Shape& shape) const override {
    if (auto why = refuses_grid(shape)) return why;
    return code::refuses(shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return code::shapes(context(c).layout); }
  MemoryNeed needs(std::span<const ProbeStep>) const override { return {0, code::most_bytes}; }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override { return {code::only_case(device)}; }
  std::optional<std::string> refuses_question(const ProbeCase& c) const override {
    if (c == code::only_case(c.device)) return std::nullopt;
    return "probe code has the operation fma of fp32";
  }
  Limit limit(const ProbeCase&, int ordinal) const override {
    const Limit fma = arithmetic_limit(DataType::fp32, ordinal);
    return {fma.per_s / 2, fma.source + " / 2, an instruction being one"};
  }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Probe, npgpu::cuda::CodeProbe)
