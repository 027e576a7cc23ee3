#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

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
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation == Operation::chase)
         return {{"latency of shared memory, all lanes", Among::smallest, FigureUnit::us_a_load}};
       return {{"loads of shared memory that wait", Among::fastest, FigureUnit::bytes_per_s}};
     }});

}  // namespace npgpu
