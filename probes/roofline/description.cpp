#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> roofline_description(
    {.name = "roofline",
     .summary = "operations on what is read from memory, L2 or shared memory, by how many there are for each byte",
     .question = ProbeQuestion::roofline,
     .axes = {.intensity = true},
     .is_usual = false,
     // Its largest rates are those of compute and tensor, which stand for a device already.
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> { return {}; }});

}  // namespace npgpu
