#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

template <std::uint64_t kib, bool all> bool of_code(const ProbeCase&, const Shape& s) {
  return s.bytes == kib * KiB && (s.blocks > 1) == all;
}
// Of a warp: one instruction of 32 lanes.
double one_of_code(const ProbeCase&, const Shape&) { return 32; }

}  // namespace

const Joined<ProbeDescription> code_description(
    {.name = "code",
     .summary = "multiply-adds in a straight line of growing length: the reach of the caches of instructions",
     .is_usual = false,
     .counted = Counted{"instructions", "instructions of all threads"},
     .unit_rates = {{.name = "code cycles, 16 KiB",
                     .meaning = "one warp's multiply-add in a loop of 16 KiB",
                     .of = of_code<16, false>,
                     .step = one_of_code},
                    {.name = "code cycles, 256 KiB",
                     .meaning = "one warp's multiply-add in a loop of 256 KiB",
                     .of = of_code<256, false>,
                     .step = one_of_code},
                    {.name = "code rate, 16 KiB",
                     .meaning = "lanes' multiply-adds of a unit in loops of 16 KiB",
                     .of = of_code<16, true>},
                    {.name = "code rate, 256 KiB",
                     .meaning = "lanes' multiply-adds of a unit in loops of 256 KiB",
                     .of = of_code<256, true>}},
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> { return {}; }});

}  // namespace npgpu
