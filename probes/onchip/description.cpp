#include <fmt/format.h>

#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> onchip_description(
    {.name = "onchip",
     .summary = "reads of shared memory by stride (bank conflicts), of L1, of L2, and of constants",
     .axes = {.stride = true},
     .laws = {{.space = Space::shared,
               .passes = [](const Shape& s, const Layout&) -> double { return bank_passes(s.stride); },
               .rule = "a warp's access takes gcd(stride, 32) passes, and one where all lanes read one word",
               .counts = "passes of shared memory",
               .shows_banks = true},
              {.space = Space::constant,
               .passes = [](const Shape& s, const Layout&) -> double { return constant_passes(s.stride); },
               .rule = "a warp's access takes a pass for each different word",
               .counts = "passes of the cache of constants"}},
     .unit_rates =
         {{Space::shared, "shared bandwidth", "reads of shared memory, 4 bytes a lane, without conflicts"},
          {Space::l1, "L1 bandwidth", "reads that L1 answers, 16 bytes a lane"},
          {Space::constant, "constant bandwidth", "one word for a whole warp, 4 bytes counted for each lane"},
          {Space::l2, "L2 bandwidth", "reads that L2 answers, 16 bytes a lane; all units read all of the set"},
          {Space::l2, "L2 bandwidth of a large set",
           "the same in sets of 55 to 80 % of L2, of which a partition that is half of it cannot keep copies of all",
           0.55, 0.8}},
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       return {{fmt::format("bandwidth of {}", name(c.space)), Among::fastest, FigureUnit::bytes_per_s}};
     }});

}  // namespace npgpu
