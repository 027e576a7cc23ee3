#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> divergence_description(
    {.name = "divergence",
     .summary = "a branch of several ways, taken by a warp's lanes or by whole warps",
     .axes = {.stride = true, .ways = true},
     .is_usual = false,
     .laws = {{.passes = [](const Shape& s, const Layout&) -> double { return ways_of_warp(s.stride, s.ways); },
               .rule = "a warp takes the ways of its lanes one after the other",
               .counts = "ways that a warp takes"}}});

}  // namespace npgpu
