#include <fmt/format.h>

#include "npgpu/vocabulary/questions.hpp"
#include "probes/shapes.hpp"

namespace npgpu {

const Joined<ProbeDescription> bandwidth_description(
    {.name = "bandwidth",
     .summary = "memory, read and written",
     .question = ProbeQuestion::memory_bandwidth,
     .has_corners = true,
     .cases =
         [](const std::string& device) {
           return bandwidth_cases(device, DataType::fp32, Space::global, {Operation::rmw, Operation::read});
         },
     .there_are = "probe bandwidth moves fp32 words of global memory",
     .shapes = [](const ProbeCase& c, const Layout& l) { return bandwidth_shapes(l, c.form); },
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.form != Form::streaming) return {};
       return {{fmt::format("{}bandwidth {} {}", where_of(c), name(c.operation), name(c.type)), Among::fastest,
                FigureUnit::bytes_per_s, c.space == Space::global}};
     }});

}  // namespace npgpu
