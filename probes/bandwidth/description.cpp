#include <fmt/format.h>

#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> bandwidth_description(
    {.name = "bandwidth",
     .summary = "memory, read and written",
     .question = ProbeQuestion::memory_bandwidth,
     .has_corners = true,
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.form != Form::streaming) return {};
       return {{fmt::format("{}bandwidth {} {}", where_of(c), name(c.operation), name(c.type)), Among::fastest,
                FigureUnit::bytes_per_s, c.space == Space::global}};
     }});

}  // namespace npgpu
