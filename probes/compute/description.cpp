#include "npgpu/vocabulary/questions.hpp"
#include "probes/shapes.hpp"

namespace npgpu {

const Joined<ProbeDescription> compute_description(
    {.name = "compute",
     .summary = "multiply-adds in registers",
     .question = ProbeQuestion::computing_power,
     .has_corners = true,
     .cases =
         [](const std::string& device) {
           std::vector<ProbeCase> all;
           for (const DataType type : {DataType::fp32, DataType::fp64, DataType::int32, DataType::fp16, DataType::bf16})
             all.push_back({.probe = "compute", .device = device, .type = type});
           return all;
         },
     .there_are = "probe compute has the operation fma on fp32, fp64, int32, fp16 and bf16",
     .shapes = [](const ProbeCase&, const Layout& l) { return compute_shapes(l); }});

}  // namespace npgpu
