#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/vocabulary/questions.hpp"

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

namespace {

constexpr double clear_difference = 0.02;
constexpr double near_the_largest = 0.9;
constexpr std::size_t enough_for_an_interval = 6;

// A size among its neighbours.
struct Relative {
  Estimate relative;
  std::uint32_t n = 0;
  double rate = not_measured;
};

struct ClassGroup {
  std::uint32_t least = 1, most = 1;
  std::vector<Relative> sizes;
};

Estimate estimate_of(const std::vector<Relative>& sizes) {
  std::vector<double> values;
  for (const Relative& r : sizes) values.push_back(r.relative.value);
  Estimate e;
  e.value = median(values);
  e.unit = "1";
  if (sizes.size() >= enough_for_an_interval) return model::set_median(e, values), e;
  for (const Relative& r : sizes) {  // a NaN of one of them leaves no interval
    const bool first = &r == &sizes.front();
    e.low = first || std::isnan(r.relative.low) ? r.relative.low : std::min(e.low, r.relative.low);
    e.high = first || std::isnan(r.relative.high) ? r.relative.high : std::max(e.high, r.relative.high);
    if (std::isnan(e.low) || std::isnan(e.high)) break;
  }
  return e;
}

double gap(const ClassGroup& a, const ClassGroup& b) {
  const double x = estimate_of(a.sizes).value, y = estimate_of(b.sizes).value;
  return std::abs(x - y) / std::max(x, y);
}

bool differ(const ClassGroup& a, const ClassGroup& b) {
  if (gap(a, b) <= clear_difference) return false;
  const Estimate x = estimate_of(a.sizes), y = estimate_of(b.sizes);
  const bool known = std::isfinite(x.low) && std::isfinite(x.high) && std::isfinite(y.low) && std::isfinite(y.high);
  return !known || x.high < y.low || y.high < x.low;
}

}  // namespace

std::uint32_t divisor_of(std::uint32_t n) { return std::gcd(n, largest_divisor); }

RateClasses rate_classes(std::span<const SizeRate> sizes) {
  RateClasses found;
  std::map<std::uint32_t, double> whole;  // sizes that 64 divides
  std::uint32_t largest = 0;
  for (const SizeRate& s : sizes) {
    if (divisor_of(s.n) == largest_divisor) whole[s.n] = s.rate.value;
    largest = std::max(largest, s.n);
  }
  const auto base = [&](std::uint32_t n) {
    const auto above = whole.lower_bound(n);
    const bool has_above = above != whole.end() && above->first - n < largest_divisor;
    if (has_above && above->first == n) return above->second;
    const bool has_below = above != whole.begin() && n - std::prev(above)->first < largest_divisor;
    if (!has_below) return has_above ? above->second : not_measured;
    const auto below = std::prev(above);
    if (!has_above) return below->second;
    return below->second +
           (above->second - below->second) * (n - below->first) / static_cast<double>(above->first - below->first);
  };
  std::map<std::uint32_t, ClassGroup> by_divisor;
  for (const SizeRate& s : sizes) {
    const double of_neighbours = base(s.n);
    if (!(of_neighbours > 0) || !(s.rate.value > 0)) {
      ++found.left_out;
      continue;
    }
    const std::uint32_t divisor = divisor_of(s.n);
    ClassGroup& group = by_divisor[divisor];
    group.least = group.most = divisor;
    group.sizes.push_back(
        {{s.rate.value / of_neighbours, s.rate.low / of_neighbours, s.rate.high / of_neighbours, "1", {}},
         s.n,
         s.rate.value});
  }
  std::vector<ClassGroup> groups;
  for (auto& [divisor, group] : by_divisor) groups.push_back(std::move(group));
  for (;;) {
    std::size_t nearest = groups.size();
    for (std::size_t i = 0; i + 1 < groups.size(); ++i)
      if (!differ(groups[i], groups[i + 1]) &&
          (nearest == groups.size() || gap(groups[i], groups[i + 1]) < gap(groups[nearest], groups[nearest + 1])))
        nearest = i;
    if (nearest == groups.size()) break;
    ClassGroup &into = groups[nearest], &from = groups[nearest + 1];
    into.most = from.most;
    into.sizes.insert(into.sizes.end(), from.sizes.begin(), from.sizes.end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
  }
  for (const ClassGroup& group : groups) {
    std::vector<double> rates;
    for (const Relative& r : group.sizes)
      if (r.n >= near_the_largest * largest) rates.push_back(r.rate);
    found.classes.push_back({group.least, group.most, group.sizes.size(), estimate_of(group.sizes),
                             rates.empty() ? not_measured : median(rates)});
  }
  return found;
}

std::optional<RateClasses> classes_of(const ProbeSeries& series) {
  if (!asks(series.question, ProbeQuestion::matrix_products)) return std::nullopt;
  std::map<Shape, std::vector<SizeRate>> all;  // by the shape without m, n and k
  for (const ProbeResult& r : model::rates_of(series)) {
    if (r.axes.m != r.axes.n || r.axes.n != r.axes.k) continue;
    Shape others = r.axes;
    others.m = others.n = others.k = 0;
    all[others].push_back({r.axes.n, r.rate});
  }
  const auto most = std::ranges::max_element(all, {}, [](const auto& one) { return one.second.size(); });
  if (most == all.end()) return std::nullopt;
  RateClasses classes = rate_classes(most->second);
  std::uint32_t divisors = 0;
  for (const RateClass& c : classes.classes)
    for (std::uint32_t d = c.least; d <= c.most; d *= 2) ++divisors;
  if (divisors < 2) return std::nullopt;
  return classes;
}

}  // namespace npgpu
