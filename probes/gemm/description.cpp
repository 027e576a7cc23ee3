#include <fmt/format.h>

#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class GemmDescription final : public ProbeDescription {
 public:
  GemmDescription()
      : ProbeDescription(
            {.name = "gemm",
             .summary = "products of matrices by cuBLAS or a BLAS of the host, over sizes, cores, and with copies",
             .question = ProbeQuestion::matrix_products,
             .axes = {.matrices = true},
             .is_usual = false}) {}
  std::vector<FigureChoice> key_figures(const ProbeCase& c) const override {
    const bool copied = c.space == Space::host && !is_host_timed(c);
    return {{fmt::format("{}gemm {}{}", where_of(c), npgpu::name(c.type), copied ? ", copies included" : ""),
             Among::fastest, FigureUnit::flop_per_s}};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::GemmDescription)
