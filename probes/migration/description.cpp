#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> migration_description(
    {.name = "migration",
     .summary = "managed memory that moves page by page between host and GPU, and memory of the host that a GPU reads",
     .question = ProbeQuestion::migration,
     .axes = {.stride = true, .pages = true},
     .is_usual = false});

}  // namespace npgpu
