#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

bool of_one_chain(const ProbeCase&, const Shape& s) { return s.blocks == 1 && s.threads == 32 && s.ilp == 1; }
// A warp's step of one chain, in what the rate counts: an instruction, or two of them, by 32 lanes.
double one_instruction(const ProbeCase&, const Shape&) { return 32; }

}  // namespace

const Joined<ProbeDescription> instructions_description(
    {.name = "instructions",
     .summary = "special functions, fp64, int64, conversions, popc, shuffles and DPX: latency and rate of each",
     .is_usual = false,
     .counted = Counted{"instructions", "instructions of all threads"},
     .unit_rates = {{.name = "{1} {0} latency",
                     .meaning = "cycles from one to the next that needs its result; of two in turn the mean",
                     .of = of_one_chain,
                     .step = one_instruction},
                    {.name = "{1} {0} rate", .meaning = "lanes' instructions that a unit completes in a cycle"}},
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> { return {}; }});

}  // namespace npgpu
