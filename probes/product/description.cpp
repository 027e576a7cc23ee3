#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> product_description(
    {.name = "product",
     .summary = "a product of matrices, from global memory and by tiles in shared memory",
     .axes = {.rung = true},
     .is_usual = false,
     .laws = {{.passes = [](const Shape& s, const Layout&) -> double {
                 return transfers_of_tile(s.rung == 2 ? s.threads : 1);
               },
               .rule = "a tile of T * T brings an element in once for T uses, so the time falls as 1 / T",
               .counts = "transfers of an element for 32 uses",
               .among_all = true}},
     .key_figures = [](const ProbeCase&) { return std::vector<FigureChoice>{}; }});

}  // namespace npgpu
