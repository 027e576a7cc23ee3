#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

constexpr unsigned sector_bytes = 32, line_bytes = 128;

class AccessDescription final : public ProbeDescription {
 public:
  AccessDescription()
      : ProbeDescription({.name = "access",
                          .summary = "a warp's loads by stride and offset (coalescing)",
                          .axes = {.stride = true, .offset = true},
                          .is_usual = false}) {}
  std::optional<LawRule> law(const ProbeCase& c) const override {
    if (c.space == Space::l2)
      return LawRule{
          .passes = [](const Shape& s, const Layout&) -> double {
            return pieces_touched(s.stride, s.offset_bytes, sector_bytes);
          },
          .rule = "a warp's access costs as many sectors of 32 bytes as it touches",
          .counts = "sectors of a warp's access",
          .where_not =
              "counters of an H200 find as many sectors as the law does. Sectors that warps ask for at the same time "
              "leave L2 once, so large strides cost less; strides of 32 and more use one sector of a line, and cost "
              "more",
          .size = HardwareSize{"sector size", "what L2 sends for a word that is asked for", sector_bytes}};
    if (c.space == Space::l1)
      return LawRule{.passes = [](const Shape& s, const Layout&) -> double {
                       return pieces_touched(s.stride, s.offset_bytes, line_bytes);
                     },
                     .rule = "a warp's access costs as many lines of 128 bytes as it touches",
                     .counts = "lines of a warp's access",
                     .where_not =
                         "counters of an H200 find gcd(stride, 32) wavefronts of an access, by its banks as in shared "
                         "memory; lines are looked up four in a cycle",
                     .size = HardwareSize{"line size", "what a pass of L1 can serve of a warp's access", line_bytes}};
    return std::nullopt;
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::AccessDescription)
