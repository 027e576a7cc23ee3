#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> access_description(
    {.name = "access",
     .summary = "a warp's loads by stride and offset (coalescing)",
     .axes = {.stride = true, .offset = true},
     .is_usual = false,
     .laws = {{.space = Space::l2,
               .passes = [](const Shape& s, const Layout&) -> double {
                 return pieces_touched(s.stride, s.offset_bytes, 32);
               },
               .rule = "a warp's access costs as many sectors of 32 bytes as it touches",
               .counts = "sectors of a warp's access",
               .where_not = "counters of an H200 find as many sectors as the law does. Sectors that warps ask for at "
                            "the same time leave L2 once, so large strides cost less; strides of 32 and more use one "
                            "sector of a line, and cost more",
               .size = HardwareSize{"sector size", "what L2 sends for a word that is asked for", 32}},
              {.space = Space::l1,
               .passes = [](const Shape& s, const Layout&) -> double {
                 return pieces_touched(s.stride, s.offset_bytes, 128);
               },
               .rule = "a warp's access costs as many lines of 128 bytes as it touches",
               .counts = "lines of a warp's access",
               .where_not = "counters of an H200 find gcd(stride, 32) wavefronts of an access, by its banks as in "
                            "shared memory; lines are looked up four in a cycle",
               .size = HardwareSize{"line size", "what a pass of L1 can serve of a warp's access", 128}}}});

}  // namespace npgpu
