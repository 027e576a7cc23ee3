#include "npgpu/laws.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

constexpr double law_tolerance = 0.05;

// Shapes that differ in the pattern alone are compared with each other.
bool same_but_pattern(const Shape& a, const Shape& b) { return without_pattern(a) == without_pattern(b); }

bool is_plain(const Shape& s) { return pattern_of(s) == pattern_of(Shape{}); }

Agreement judged(double law, const Estimate& e) {
  if (!std::isfinite(e.value)) return Agreement::undecided;
  if (std::abs(e.value / law - 1) <= law_tolerance) return Agreement::agrees;
  const bool outside = e.low > law * (1 + law_tolerance) || e.high < law * (1 - law_tolerance);
  return outside ? Agreement::disagrees : Agreement::undecided;
}

}  // namespace

std::optional<Law> law_of(const ProbeSeries& series) {
  const LawRule* const rule = rule_of(series.question);
  if (!rule) return std::nullopt;
  Law law{rule->rule, rule->counts, rule->where_not, {}};
  const auto rates = model::rates_of(series);
  std::vector<double> all_passes;
  for (const ProbeResult& r : rates) all_passes.push_back(rule->passes(r.axes, series.layout));
  const auto passes = [&](const ProbeResult& r) { return all_passes[static_cast<std::size_t>(&r - rates.data())]; };
  for (const ProbeResult& r : rates) {
    const ProbeResult* base = nullptr;
    for (const ProbeResult& other : rates) {
      if (!rule->among_all && !same_but_pattern(other.axes, r.axes)) continue;
      const bool better = !base || passes(other) < passes(*base) ||
                          (passes(other) == passes(*base) && is_plain(other.axes) && !is_plain(base->axes));
      if (better) base = &other;
    }
    LawPoint& p = law.points.emplace_back();
    p.shape = r.axes;
    p.passes = passes(r);
    p.law = p.passes / passes(*base);
    const bool by_cycles = base->cycle_rate.value > 0 && r.cycle_rate.value > 0;
    p.measured = by_cycles ? model::quotient({base->cycle_rate}, {r.cycle_rate}, "1", "cycles over the base's")
                           : model::quotient({base->rate}, {r.rate}, "1", "time over the base's");
    if (base == &r) p.measured.value = p.measured.low = p.measured.high = 1;
    p.verdict = judged(p.law, p.measured);
  }
  return law;
}

}  // namespace npgpu
