#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> compute_description({.name = "compute",
                                                    .summary = "multiply-adds in registers",
                                                    .question = ProbeQuestion::computing_power,
                                                    .has_corners = true});

}  // namespace npgpu
