#include <fmt/format.h>

#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class OnchipDescription final : public ProbeDescription {
 public:
  OnchipDescription()
      : ProbeDescription(
            {.name = "onchip",
             .summary = "reads of shared memory by stride (bank conflicts), of L1, of L2, and of constants",
             .axes = {.stride = true}}) {}
  std::optional<LawRule> law(const ProbeCase& c) const override {
    if (c.space == Space::shared)
      return LawRule{.passes = [](const Shape& s, const Layout&) -> double { return bank_passes(s.stride); },
                     .rule = "a warp's access takes gcd(stride, 32) passes, and one where all lanes read one word",
                     .counts = "passes of shared memory",
                     .shows_banks = true};
    if (c.space == Space::constant)
      return LawRule{.passes = [](const Shape& s, const Layout&) -> double { return constant_passes(s.stride); },
                     .rule = "a warp's access takes a pass for each different word",
                     .counts = "passes of the cache of constants"};
    return std::nullopt;
  }
  std::vector<UnitRate> unit_rates(const ProbeCase& c, const Layout& l) const override {
    switch (c.space) {
      case Space::shared: return {{"shared bandwidth", "reads of shared memory, 4 bytes a lane, without conflicts"}};
      case Space::l1: return {{"L1 bandwidth", "reads that L1 answers, 16 bytes a lane"}};
      case Space::constant: return {{"constant bandwidth", "one word for a whole warp, 4 bytes counted for each lane"}};
      default: break;
    }
    std::vector<UnitRate> rates{
        {"L2 bandwidth", "reads that L2 answers, 16 bytes a lane; all units read all of the set"}};
    if (const auto l2 = static_cast<double>(l.cache_bytes); l2 > 0)
      rates.push_back(
          {"L2 bandwidth of a large set",
           "the same in sets of 55 to 80 % of L2, of which a partition that is half of it cannot keep copies of all",
           0.55 * l2, 0.8 * l2});
    return rates;
  }
  std::vector<FigureChoice> key_figures(const ProbeCase& c) const override {
    return {{fmt::format("bandwidth of {}", npgpu::name(c.space)), Among::fastest, FigureUnit::bytes_per_s}};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::OnchipDescription)
