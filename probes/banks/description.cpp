#include <fmt/format.h>

#include <bit>

#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "probes/banks/shapes.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::banks {

namespace {

constexpr std::uint32_t block_threads = 1024;
constexpr std::uint32_t farthest = 32;

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  const auto of = [&](Operation operation) {
    return ProbeCase{"banks", device, operation, DataType::fp32, Form::dependent, Space::shared};
  };
  return {of(Operation::chase), of(Operation::read)};
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l) {
  std::vector<Shape> all;
  Shape shape{.threads = lanes, .access_bytes = word_bytes, .bytes = usual_bytes};
  if (c.operation == Operation::read) {
    shape.threads = l.max_threads_per_block ? std::min(block_threads, l.max_threads_per_block) : block_threads;
    shape.blocks = filling_blocks(l, shape.threads);
  }
  shape.rung = strided;
  for (std::uint32_t stride = 1; stride <= farthest; stride *= 2) {
    shape.stride = stride;
    all.push_back(shape);
  }
  shape.stride = 1;
  shape.rung = shuffled;
  all.push_back(shape);
  shape.rung = random;
  for (std::uint64_t bytes = least_bytes; bytes <= most_bytes; bytes *= 2) {
    shape.bytes = bytes;
    all.push_back(shape);
  }
  return all;
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& s) {
  if (s.ilp != 1 || s.access_bytes != word_bytes) return "a lane loads words of 4 bytes, one at a time";
  if (s.threads % lanes) return "only whole warps load";
  if (c.operation == Operation::chase && (s.blocks != 1 || s.threads != lanes))
    return "a load that is waited for is one warp's, of one block";
  if (s.rung < strided || s.rung > random)
    return "the rungs are 1 (words a stride apart), 2 (each bank once, in random order) and 3 (random words)";
  if (s.bytes < least_bytes || s.bytes > most_bytes || !std::has_single_bit(s.bytes))
    return fmt::format("{} bytes: a power of two from 1 to 32 KiB", s.bytes);
  if (s.rung != strided && s.stride != 1) return "only words in steps have a stride";
  if (!std::has_single_bit(s.stride) || s.stride > farthest || patterns_of(s) % s.stride)
    return fmt::format("stride {}: a power of two up to 32, and 128 bytes of the set for each word of it", s.stride);
  return std::nullopt;
}

double work(const ProbeCase& c, const Shape& s) {
  if (c.operation == Operation::chase) return loads_of_repeat;
  return static_cast<double>(loads_of_repeat) * s.blocks * s.threads * word_bytes;
}

}  // namespace npgpu::banks

namespace npgpu {

namespace {

constexpr std::uint32_t strided_words = 1, random_order = 3;
constexpr std::uint64_t pattern_bytes = 128;

double passes_of_words(const Shape& s, const Layout&) {
  if (s.rung == strided_words) return bank_passes(s.stride);
  return s.rung == random_order ? random_passes(static_cast<unsigned>(s.bytes / pattern_bytes)) : 1;
}

}  // namespace

const Joined<ProbeDescription> banks_description(
    {.name = "banks",
     .summary = "loads of shared memory by stride, without conflicts, and at random: what a conflict costs",
     .question = ProbeQuestion::bank_conflicts,
     .axes = {.stride = true, .rung = true},
     .is_usual = false,
     .laws = {{.operation = Operation::read,
               .passes = passes_of_words,
               .rule = "a warp's load takes a pass for each lane of the bank that most lanes want; of random words "
                       "these are counted",
               .counts = "passes of shared memory",
               .among_all = true}},
     .cases = banks::cases,
     .there_are =
         "probe banks has the operations chase (one warp) and read (all that fit), dependent, of fp32 words in "
         "shared memory",
     .shapes = banks::shapes,
     .refuses = banks::refuses,
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation == Operation::chase)
         return {{"latency of shared memory, all lanes", Among::smallest, FigureUnit::us_a_load}};
       return {{"loads of shared memory that wait", Among::fastest, FigureUnit::bytes_per_s}};
     }});

}  // namespace npgpu
