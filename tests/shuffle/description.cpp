// A probe that npgpu does not have, for a test: two files, of which this one says what it is.
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> shuffle_description(
    {.name = "shuffle",
     .summary = "words that lanes of a warp exchange",
     .axes = {.ways = true},
     .is_usual = false,
     .counted = Counted{"shuffles", "exchanges between lanes"},
     .laws = {{.passes = [](const Shape& s, const Layout&) -> double { return s.ways; },
               .rule = "a lane's words are exchanged one after the other",
               .counts = "exchanges of a warp"}},
     .unit_rates = {{{}, "shuffle rate", "exchanges between lanes of a unit"}},
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> {
       return {{"shuffles of one word", Among::fastest, FigureUnit::operations_per_s}};
     }});

}  // namespace npgpu
