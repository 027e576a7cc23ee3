#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class DivergenceDescription final : public ProbeDescription {
 public:
  DivergenceDescription()
      : ProbeDescription({.name = "divergence",
                          .summary = "a branch of several ways, taken by a warp's lanes or by whole warps",
                          .axes = {.stride = true, .ways = true},
                          .is_usual = false}) {}
  std::optional<LawRule> law(const ProbeCase&) const override {
    return LawRule{.passes = [](const Shape& s, const Layout&) -> double { return ways_of_warp(s.stride, s.ways); },
                   .rule = "a warp takes the ways of its lanes one after the other",
                   .counts = "ways that a warp takes"};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::DivergenceDescription)
