// One series of a probe: a row for each shape.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <tuple>

#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/classes.hpp"
#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

// "GB/s", "G atomics/s": a word stands apart from its prefix.
std::string gap_of(const Counted& counted) { return std::islower(counted.unit.front()) ? " " : ""; }

std::string rate_head(const Counted& counted) {
  if (counted.each_waits()) return fmt::format("ns per {}", counted.one);
  return fmt::format("G{}{}/s", gap_of(counted), counted.unit);
}

// Whether any of the shapes has this axis.
template <class T> bool varies(const ProbeSeries& series, T Shape::*axis) {
  return std::any_of(series.visits.begin(), series.visits.end(),
                     [&](const auto& v) { return v.axes.*axis != Shape{}.*axis; });
}

template <class T> bool differs(const ProbeSeries& series, T Shape::*axis) {
  return std::any_of(series.visits.begin(), series.visits.end(),
                     [&](const auto& v) { return v.axes.*axis != series.visits.front().axes.*axis; });
}

const LawPoint* law_point(const std::optional<Law>& law, const Shape& shape) {
  if (!law) return nullptr;
  const auto found = std::ranges::find(law->points, shape, &LawPoint::shape);
  return found == law->points.end() ? nullptr : &*found;
}

// "agrees", "+12.3 %", "? +6.0 %"
std::string verdict_text(const LawPoint& p) {
  if (p.verdict == Agreement::agrees) return "agrees";
  if (!std::isfinite(p.measured.value)) return "-";
  return (p.verdict == Agreement::undecided ? "? " : "") + fmt::format("{:+.1f} %", law_error_percent(p));
}

void note_law(Document& doc, const Law& law) {
  if (law.points.empty()) return;
  const auto has = [&](Agreement verdict) { return std::ranges::count(law.points, verdict, &LawPoint::verdict); };
  std::string text = fmt::format("law: {}; agrees (within 5 %) at {} of {} shapes", law.rule, has(Agreement::agrees),
                                 law.points.size());
  if (const auto undecided = has(Agreement::undecided)) text += fmt::format(", undecided (?) at {}", undecided);
  const auto worst = std::ranges::max_element(
      law.points, {}, [](const LawPoint& p) { return p.measured.value > 0 ? std::abs(law_error_percent(p)) : 0; });
  if (worst->verdict != Agreement::agrees && worst->measured.value > 0)
    text += fmt::format("; farthest off: {} times as long instead of {} ({})", digits_text(worst->measured.value, 3),
                        digits_text(worst->law, 3), text_of(worst->shape));
  doc.note(text);
  if (has(Agreement::disagrees) > 0 && !law.where_not.empty()) doc.note("why: " + law.where_not);
}

// "8": only 8 divides; "8, 16"; "1 to 16"
std::string divisors_text(const RateClass& c) {
  if (c.least == c.most) return std::to_string(c.least);
  return fmt::format("{}{}{}", c.least, c.most == 2 * c.least ? ", " : " to ", c.most);
}

void note_classes(Document& doc, const RateClasses& found) {
  if (found.classes.empty()) return;
  if (found.classes.size() == 1)
    return doc.note(
        fmt::format("squares by the largest power of two, up to {}, that divides n: no two differ", largest_divisor));
  std::vector<std::string> parts;
  for (const RateClass& c : found.classes) {
    std::string text = fmt::format("{}: {} times", divisors_text(c), digits_text(c.relative.value, 3));
    if (std::isfinite(c.rate)) text += fmt::format(", {} GFLOP/s", digits_text(c.rate * 1e-9));
    parts.push_back(text + fmt::format(" ({} size{})", c.sizes, c.sizes == 1 ? "" : "s"));
  }
  doc.note(
      fmt::format("squares by the largest power of two, up to {}, that divides n, over what neighbours reach that "
                  "{} divides, and the rates of the largest: {}",
                  largest_divisor, largest_divisor, fmt::join(parts, "; ")));
}

// Of a host: the largest product that one core computed; null where none did.
const ProbeResult* of_one_core(const std::vector<ProbeResult>& rates) {
  const ProbeResult* one = nullptr;
  for (const ProbeResult& r : rates)
    if (r.axes.blocks == 1 && (!one || one->axes.n < r.axes.n)) one = &r;
  return one;
}
bool same_product(const ProbeResult& r, const ProbeResult* other) {
  return other && matrices_of(r.axes) == matrices_of(other->axes) &&
         kind_of_product(r.axes) == kind_of_product(other->axes);
}

// Of a host: the fewest cores that reach the best rate, within 1 %, of a product that was measured over cores.
void note_cores(Document& doc, const ProbeSeries& probe, const std::vector<ProbeResult>& rates) {
  const ProbeResult *const one = of_one_core(rates), *best = nullptr;
  const auto same = [&](const ProbeResult& r) { return same_product(r, one); };
  for (const ProbeResult& r : rates)
    if (same(r) && (!best || r.rate.value > best->rate.value)) best = &r;
  if (!best || best == one) return;
  constexpr double as_good = 0.99;
  for (const ProbeResult& r : rates)
    if (same(r) && r.axes.blocks < best->axes.blocks && r.rate.value >= as_good * best->rate.value) best = &r;
  const double times = best->rate.value / one->rate.value;
  doc.note(fmt::format("{} cores were found; {} of them reach {} times the rate of one: {:.0f} % of {} times",
                       probe.layout.units, best->axes.blocks, digits_text(times, 3), 100 * times / best->axes.blocks,
                       best->axes.blocks));
}

}  // namespace

std::string probe_rate_text(const ProbeCase& c, double per_s) {
  if (!std::isfinite(per_s)) return "-";
  const Counted counted = counted_of(c);
  if (counted.each_waits()) return time_text(1e6 / per_s);
  const bool tera = per_s >= 1e12;
  return fmt::format("{} {}{}{}/s", digits_text(per_s * (tera ? 1e-12 : 1e-9)), tera ? "T" : "G", gap_of(counted),
                     counted.unit);
}

void series_text(Document& doc, const ProbeSeries& probe, bool) {
  if (!heading(doc, probe)) return;
  const ProbeCase& c = probe.question;
  const bool memory =
      std::any_of(probe.visits.begin(), probe.visits.end(), [](const auto& p) { return p.axes.bytes > 0; });
  const ProbeDescription& described = description_of(c);
  if (described.axes.sm) return slices_text(doc, probe);
  const Counted counted = counted_of(c);
  const bool waits = counted.each_waits(), limited = probe.limit.per_s > 0 && !waits;
  const std::optional<Law> law = law_of(probe);
  const bool matrices = described.axes.matrices, pattern = described.axes.has_pattern(),
             by_unit = pattern && probe.layout.units > 0 && !waits;
  // Of patterns and matrices only what differs has a column; what all shapes of a pattern have stands below.
  const bool every = pattern ? probe.visits.size() < 2 : !matrices;
  const auto rates = model::rates_of(probe);
  const ProbeResult* const one_core =
      matrices && is_host_timed(c) && differs(probe, &Shape::blocks) ? of_one_core(rates) : nullptr;
  Table table({right(matrices ? "cores" : "blocks", 0, every || differs(probe, &Shape::blocks)),
               right("threads", 0, every || differs(probe, &Shape::threads)),
               right("ilp", 0, every || differs(probe, &Shape::ilp)),
               right("access B", 3, memory && (every || differs(probe, &Shape::access_bytes))),
               right("working set", 0, memory && (every || differs(probe, &Shape::bytes))),
               right("stride", 0, varies(probe, &Shape::stride)),
               right("offset B", 0, varies(probe, &Shape::offset_bytes)),
               right("ways", 0, varies(probe, &Shape::ways)),
               right("rung", 0, varies(probe, &Shape::rung)),
               right("registers", 0, varies(probe, &Shape::registers)),
               right("shared", 0, varies(probe, &Shape::shared_bytes)),
               decimal("operations a byte", 0, varies(probe, &Shape::intensity)),
               left("pages", 0, varies(probe, &Shape::pages)),
               right("cluster", 0, varies(probe, &Shape::cluster)),
               right("m", 0, matrices),
               right("n", 0, matrices || varies(probe, &Shape::n)),
               right("k", 0, matrices),
               right("panels", 0, varies(probe, &Shape::panels)),
               right("host columns", 0, varies(probe, &Shape::host_columns)),
               left("ops", 0, varies(probe, &Shape::ops)),
               right("alpha", 0, varies(probe, &Shape::alpha)),
               right("beta", 0, varies(probe, &Shape::beta)),
               left("operands", 0, matrices && varies(probe, &Shape::operands)),
               decimal(rate_head(counted)),
               decimal("% of limit", 1, limited),
               right("95 % interval", 1),
               decimal("times one core", 0, one_core != nullptr),
               decimal("efficiency %", 0, one_core != nullptr),
               decimal(waits     ? "cycles"
                       : by_unit ? "per cycle and SM"
                                 : "per cycle",
                       by_unit ? 0 : 2),
               right("passes", 3, law.has_value()),
               decimal("times as long", 0, law.has_value()),
               decimal("by law", 0, law.has_value()),
               left("law", 0, law.has_value()),
               right("trials", 4),
               left("")});
  Marks marks;
  bool forced = false;
  for (const ProbePoint& point : points_of(probe)) {
    const auto found = std::find_if(rates.begin(), rates.end(), [&](const auto& r) { return r.axes == point.axes; });
    const bool usable = found != rates.end() && found->rate.value > 0;
    const Estimate none{}, &rate = usable ? found->rate : none;
    const double per_cycle = (usable ? found->cycle_rate.value : not_measured) / (by_unit ? probe.layout.units : 1);
    const LawPoint* const lawful = law_point(law, point.axes);
    const Shape& s = point.axes;
    const bool by_cores = usable && same_product(*found, one_core);
    forced |= s.one_block_per_sm != 0;
    table.row({std::to_string(s.blocks),
               std::to_string(s.threads),
               std::to_string(s.ilp),
               std::to_string(s.access_bytes),
               size_text(s.bytes),
               std::to_string(s.stride),
               std::to_string(s.offset_bytes),
               std::to_string(s.ways),
               std::to_string(s.rung),
               std::to_string(s.registers),
               size_text(s.shared_bytes),
               digits_text(intensity_of(s)),
               std::string(name(s.pages)),
               std::to_string(s.cluster),
               std::to_string(s.m),
               std::to_string(s.n),
               std::to_string(s.k),
               std::to_string(s.panels),
               std::to_string(s.host_columns),
               std::string(name(s.ops)),
               std::to_string(s.alpha),
               std::to_string(s.beta),
               std::string(name(s.operands)),
               digits_text(waits ? 1e9 / rate.value : rate.value * 1e-9),
               percent_text(100 * rate.value / probe.limit.per_s),
               interval_text(rate),
               by_cores ? digits_text(found->rate.value / one_core->rate.value, 3) : "-",
               by_cores ? percent_text(100 * found->rate.value / one_core->rate.value / s.blocks) : "-",
               digits_text(waits ? 1 / per_cycle : per_cycle),
               lawful ? digits_text(lawful->passes) : "-",
               lawful ? digits_text(lawful->measured.value) : "-",
               lawful ? digits_text(lawful->law) : "-",
               lawful ? verdict_text(*lawful) : "-",
               std::to_string(trials_of(probe, point)),
               (s.one_block_per_sm ? "1" : "") + marks.take(point, probe.is_unsteady(rate), usable)});
  }
  doc.gap();
  doc.table(std::move(table));
  if (limited && probe.layout.clock_mhz > 0)
    doc.note(fmt::format("% of limit: the limit at the highest clock, {:.0f} MHz", probe.layout.clock_mhz));
  if (!probe.library.empty()) doc.note("by " + probe.library);
  if (const auto classes = classes_of(probe)) note_classes(doc, *classes);
  if (matrices && is_host_timed(c)) note_cores(doc, probe, rates);
  if (!every && pattern) {
    doc.note("the first shape: " + text_of(without_pattern(probe.visits.front().axes)) +
             "; the others differ from it as the columns say");
  }
  if (law) note_law(doc, *law);
  if (forced) doc.note("1 one block per SM: forced, and checked");
  marks.notes(doc, "shapes", probe.unsteady_above);
  doc.left_out();
}

}  // namespace npgpu
