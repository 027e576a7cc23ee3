#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

template <bool permuted> bool of_banks(const ProbeCase&, const Shape& s) { return (s.rung > 0) == permuted; }

}  // namespace

const Joined<ProbeDescription> banks_description(
    {.name = "banks",
     .summary = "words of shared memory in order, and under permutations: conflicts of banks by chance",
     .axes = {.rung = true},
     .is_usual = false,
     .unit_rates = {{.name = "shared bandwidth in order", .meaning = "words side by side", .of = of_banks<false>},
                    {.name = "shared bandwidth permuted",
                     .meaning = "words under the permutation that meets in banks least",
                     .of = of_banks<true>}},
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> { return {}; }});

}  // namespace npgpu
