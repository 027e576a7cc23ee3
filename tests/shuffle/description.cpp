// A probe that npgpu does not have, for a test: two files, of which this one says what it is.
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class ShuffleDescription final : public ProbeDescription {
 public:
  ShuffleDescription()
      : ProbeDescription({.name = "shuffle",
                          .summary = "words that lanes of a warp exchange",
                          .axes = {.ways = true},
                          .is_usual = false}) {}
  Counted counted(const ProbeCase&) const override { return {"shuffles", "exchanges between lanes"}; }
  std::optional<LawRule> law(const ProbeCase&) const override {
    return LawRule{.passes = [](const Shape& s, const Layout&) -> double { return s.ways; },
                   .rule = "a lane's words are exchanged one after the other",
                   .counts = "exchanges of a warp"};
  }
  std::vector<UnitRate> unit_rates(const ProbeCase&, const Layout&) const override {
    return {{"shuffle rate", "exchanges between lanes of a unit"}};
  }
  std::vector<FigureChoice> key_figures(const ProbeCase&) const override {
    return {{"shuffles of one word", Among::fastest, FigureUnit::operations_per_s}};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::ShuffleDescription)
