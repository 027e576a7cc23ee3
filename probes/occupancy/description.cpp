#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> occupancy_description(
    {.name = "occupancy",
     .summary = "loads that wait for each other, by the blocks that registers and shared memory allow",
     .axes = {.resources = true},
     .is_usual = false,
     .laws = {{.passes = waves_of,
               .rule = "a unit holds as many blocks as its threads, registers and shared memory allow, and work that "
                       "waits for L2 goes as fast as there are blocks",
               .counts = "waves of blocks"}}});

}  // namespace npgpu
