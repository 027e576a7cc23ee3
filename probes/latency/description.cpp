#include <fmt/format.h>

#include "npgpu/vocabulary/questions.hpp"

namespace npgpu {

const Joined<ProbeDescription> latency_description(
    {.name = "latency",
     .summary = "loads that wait for each other, over growing sets",
     .question = ProbeQuestion::memory_latency,
     .counted = Counted{"loads", "time of a load", "load"},
     .cases =
         [](const std::string& device) {
           const auto of = [&](Operation operation, DataType type, Space space) {
             return ProbeCase{"latency", device, operation, type, Form::dependent, space};
           };
           return std::vector{of(Operation::chase, DataType::fp64, Space::global),
                              of(Operation::rmw, DataType::fp64, Space::global),
                              of(Operation::chase, DataType::fp32, Space::shared),
                              of(Operation::chase, DataType::fp32, Space::constant)};
         },
     .there_are = "probe latency chases through memory by loads, and by atomics, which are asked for as rmw",
     .no_limit = "none: a latency has no peak",
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       if (c.operation != Operation::chase) return {};
       const auto figure = [&](std::string_view of, Among among) {
         return FigureChoice{fmt::format("{}latency{}", where_of(c), of), among, FigureUnit::us_a_load};
       };
       if (c.space == Space::global || c.space == Space::host)
         return {figure(" of memory", Among::largest), figure(" of the first cache", Among::smallest)};
       return {figure(fmt::format(", {}", name(c.space)), Among::smallest)};
     }});

}  // namespace npgpu
