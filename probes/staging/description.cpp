#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> staging_description(
    {.name = "staging",
     .summary = "from global into shared memory by plain loads, asynchronous and bulk copies",
     .axes = {.rung = true},
     .is_usual = false});

}  // namespace npgpu
