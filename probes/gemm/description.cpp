#include <fmt/format.h>

#include "npgpu/probe_description.hpp"

namespace npgpu {

const Joined<ProbeDescription> gemm_description(
    {.name = "gemm",
     .summary = "products of matrices by cuBLAS or a BLAS of the host, over sizes, cores, types, transposed, with C "
                "read, and with copies",
     .question = ProbeQuestion::matrix_products,
     .axes = {.matrices = true},
     .is_usual = false,
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       const bool copied = c.space == Space::host && !is_host_timed(c);
       return {{fmt::format("{}gemm {}{}", where_of(c), name(c.type), copied ? ", copies included" : ""),
                Among::fastest, FigureUnit::flop_per_s}};
     }});

}  // namespace npgpu
