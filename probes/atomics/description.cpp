#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class AtomicsDescription final : public ProbeDescription {
 public:
  AtomicsDescription()
      : ProbeDescription({.name = "atomics",
                          .summary = "additions to one word or many, in global and shared memory",
                          .axes = {.stride = true},
                          .is_usual = false}) {}
  Counted counted(const ProbeCase&) const override { return {"atomics", "atomic additions"}; }
  std::optional<LawRule> law(const ProbeCase& c) const override {
    if (c.space != Space::shared) return std::nullopt;
    return LawRule{.passes = [](const Shape& s, const Layout&) -> double { return atomic_passes(s.stride); },
                   .rule = "a warp's additions to one word take a pass for each lane",
                   .counts = "passes of shared memory"};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::AtomicsDescription)
