#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> reduction_description(
    {.name = "reduction",
     .summary = "the ladder of sums, from the simplest kernel to the best",
     .question = ProbeQuestion::ladder,
     .axes = {.rung = true},
     .is_usual = false});

}  // namespace npgpu
