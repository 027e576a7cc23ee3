#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> slices_description(
    {.name = "slices",
     .summary = "one line of L2 from each multiprocessor, many lines from one: which are near, and which far",
     .question = ProbeQuestion::l2_slices,
     .axes = {.offset = true, .sm = true},
     .is_usual = false,
     .counted = Counted{"loads", "time of a load", "load"},
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation != Operation::chase) return {};
       return {{"latency of a line of L2", Among::smallest, FigureUnit::us_a_load}};
     }});

}  // namespace npgpu
