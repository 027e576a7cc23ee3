// A probe that npgpu does not have, for a test: two files, of which this one says what it is and asks.
#include "npgpu/vocabulary/questions.hpp"

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
     .cases =
         [](const std::string& device) {
           return std::vector<ProbeCase>{
               {.probe = "shuffle", .device = device, .operation = Operation::sum, .type = DataType::int32}};
         },
     .there_are = "probe shuffle exchanges int32 words in registers",
     .shapes =
         [](const ProbeCase&, const Layout& l) {
           std::vector<Shape> all;
           for (const std::uint32_t ways : {1, 2, 4, 8})
             all.push_back({.blocks = l.units, .threads = 1024, .ways = ways});
           return all;
         },
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> {
       return {{"shuffles of one word", Among::fastest, FigureUnit::operations_per_s}};
     }});

}  // namespace npgpu
