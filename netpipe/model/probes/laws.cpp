#include "npgpu/laws.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"

namespace npgpu {

namespace {

constexpr unsigned warp_lanes = 32, banks = 32, lane_bytes = 4, sector_bytes = 32, line_bytes = 128;
constexpr double law_tolerance = 0.05;

struct Rule {
  double (*passes)(const Shape&, const Layout&);
  const char* rule;
  const char* counts;
  const char* where_not = "";
  bool among_all = false;  // shapes of other grids are held against each other, too: they do the same work
};

std::optional<Rule> rule_of(const ProbeCase& c) {
  if (c.probe == "onchip" && c.space == Space::shared)
    return Rule{[](const Shape& s, const Layout&) -> double { return bank_passes(s.stride); },
                "a warp's access takes gcd(stride, 32) passes, and one where all lanes read one word",
                "passes of shared memory"};
  if (c.probe == "onchip" && c.space == Space::constant)
    return Rule{[](const Shape& s, const Layout&) -> double { return constant_passes(s.stride); },
                "a warp's access takes a pass for each different word", "passes of the cache of constants"};
  if (c.probe == "access" && c.space == Space::l2)
    return Rule{
        [](const Shape& s, const Layout&) -> double { return pieces_touched(s.stride, s.offset_bytes, sector_bytes); },
        "a warp's access costs as many sectors of 32 bytes as it touches", "sectors of a warp's access",
        "counters of an H200 find as many sectors as the law does. Sectors that warps ask for at the same time "
        "leave L2 once, so large strides cost less; strides of 32 and more use one sector of a line, and cost "
        "more"};
  if (c.probe == "access" && c.space == Space::l1)
    return Rule{
        [](const Shape& s, const Layout&) -> double { return pieces_touched(s.stride, s.offset_bytes, line_bytes); },
        "a warp's access costs as many lines of 128 bytes as it touches", "lines of a warp's access",
        "counters of an H200 find gcd(stride, 32) wavefronts of an access, by its banks as in shared memory; lines "
        "are looked up four in a cycle"};
  if (c.probe == "atomics" && c.space == Space::shared)
    return Rule{[](const Shape& s, const Layout&) -> double { return atomic_passes(s.stride); },
                "a warp's additions to one word take a pass for each lane", "passes of shared memory"};
  if (c.probe == "divergence")
    return Rule{[](const Shape& s, const Layout&) -> double { return ways_of_warp(s.stride, s.ways); },
                "a warp takes the ways of its lanes one after the other", "ways that a warp takes"};
  if (c.probe == "product")
    return Rule{[](const Shape& s, const Layout&) -> double { return transfers_of_tile(s.rung == 2 ? s.threads : 1); },
                "a tile of T * T brings an element in once for T uses, so the time falls as 1 / T",
                "transfers of an element for 32 uses", "", true};
  if (c.probe == "occupancy")
    return Rule{
        waves_of,
        "a unit holds as many blocks as its threads, registers and shared memory allow, and work that waits for "
        "L2 goes as fast as there are blocks",
        "waves of blocks"};
  return std::nullopt;
}

// Shapes that differ in the pattern alone are held against each other.
bool same_but_pattern(const Shape& a, const Shape& b) { return without_pattern(a) == without_pattern(b); }

bool is_plain(const Shape& s) { return pattern_of(s) == pattern_of(Shape{}); }

Agreement judged(double law, const Estimate& e) {
  if (!std::isfinite(e.value)) return Agreement::undecided;
  if (std::abs(e.value / law - 1) <= law_tolerance) return Agreement::agrees;
  const bool outside = e.low > law * (1 + law_tolerance) || e.high < law * (1 - law_tolerance);
  return outside ? Agreement::disagrees : Agreement::undecided;
}

}  // namespace

unsigned bank_passes(unsigned stride) { return stride == 0 ? 1 : std::gcd(stride, banks); }

unsigned constant_passes(unsigned stride) { return stride == 0 ? 1 : warp_lanes; }

unsigned pieces_touched(unsigned stride, unsigned offset_bytes, unsigned piece_bytes) {
  std::set<std::uint64_t> pieces;
  for (std::uint64_t lane = 0; lane < warp_lanes; ++lane)
    pieces.insert((offset_bytes + lane * stride * lane_bytes) / piece_bytes);
  return static_cast<unsigned>(pieces.size());
}

unsigned atomic_passes(unsigned stride) { return stride == 0 ? warp_lanes : bank_passes(stride); }

unsigned ways_of_warp(unsigned stride, unsigned ways) {
  if (stride == 0) return 1;
  return std::min(ways, (warp_lanes + stride - 1) / stride);
}

unsigned transfers_of_tile(unsigned threads) {
  return static_cast<unsigned>(std::lround(warp_lanes / std::sqrt(static_cast<double>(threads))));
}

double waves_of(const Shape& s, const Layout& l) {
  return std::ceil(static_cast<double>(s.blocks) / l.units / resident_blocks(l, s));
}

std::optional<Law> law_of(const ProbeSeries& series) {
  const auto rule = rule_of(series.question);
  if (!rule) return std::nullopt;
  Law law{rule->rule, rule->counts, rule->where_not, {}};
  const auto rates = model::rates_of(series);
  const auto passes = [&](const ProbeResult& r) { return rule->passes(r.axes, series.layout); };
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
