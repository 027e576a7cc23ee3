#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> atomics_description(
    {.name = "atomics",
     .summary = "additions to one word or many, in global and shared memory",
     .axes = {.stride = true},
     .is_usual = false,
     .counted = Counted{"atomics", "atomic additions"},
     .laws = {{.space = Space::shared,
               .passes = [](const Shape& s, const Layout&) -> double { return atomic_passes(s.stride); },
               .rule = "a warp's additions to one word take a pass for each lane",
               .counts = "passes of shared memory"}}});

}  // namespace npgpu
