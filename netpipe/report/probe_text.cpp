// One series of a probe: a row for each shape.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/questions.hpp"

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

// The largest product that one core of a host computed; null where none did.
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

// The fewest cores of a host that reach the best rate, within 1 %, of a product that was measured over cores.
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

// Rates of products of squares over their size, with the limit.
std::string products_chart(const ProbeSeries& series, const std::vector<ProbeResult>& rates) {
  std::string id = title(series.question);
  for (char& c : id)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  html::Plot plot{.id = id,
                  .title = "Products of squares that 64 divides, over their size",
                  .description = "Operations a second. The table has the numbers, and other shapes.",
                  .x = {"m = n = k", html::Unit::count, true},
                  .y = {"GFLOP/s", html::Unit::plain, false, true},
                  .curves = {{"products", {}}}};
  std::uint32_t most = 0;
  for (const ProbeResult& r : rates) most = std::max(most, r.axes.blocks);
  for (const ProbeResult& r : rates) {
    const Shape& s = r.axes;
    if (s.m != s.n || s.n != s.k || s.n % 64 != 0 || s.blocks != most || s.panels > 1 || s.host_columns != 0 ||
        kind_of_product(s) != kind_of_product(Shape{}) || !(r.rate.value > 0))
      continue;
    plot.curves[0].points.push_back({static_cast<double>(s.n), r.rate.value * 1e-9, r.rate.low * 1e-9,
                                     r.rate.high * 1e-9, !r.doubts.empty(),
                                     fmt::format("{}, {}", s.n, probe_rate_text(series.question, r.rate.value))});
  }
  std::ranges::sort(plot.curves[0].points, {}, &html::PlotPoint::x);
  if (const double limit = series.limit.per_s * 1e-9; limit > 0)
    plot.limits.push_back({limit, "limit " + probe_rate_text(series.question, series.limit.per_s)});
  return html::figure_of(plot);
}

// The table of a series and the notes below it. Each column has its head and its cell in one place.
class ProbeText {
 public:
  explicit ProbeText(const ProbeSeries& probe)
      : probe_(probe),
        described_(description_of(probe.question)),
        counted_(counted_of(probe.question)),
        law_(law_of(probe)),
        rates_(model::rates_of(probe)),
        waits_(counted_.each_waits()),
        limited_(probe.limit.per_s > 0 && !waits_),
        matrices_(described_.axes.matrices),
        pattern_(described_.axes.has_pattern()),
        by_unit_(pattern_ && probe.layout.units > 0 && !waits_),
        every_(pattern_ ? probe.visits.size() < 2 : !matrices_) {
    if (matrices_ && is_host_timed(probe.question) && differs(probe, &Shape::blocks)) one_core_ = of_one_core(rates_);
    shape_columns();
    matrix_columns();
    figure_columns();
    law_columns();
  }

  void write(Document& doc) {
    std::vector<Column> heads;
    for (const auto& [column, cell] : columns_) heads.push_back(column);
    heads.insert(heads.end(), {right("trials", 4), left("")});
    Table table(std::move(heads));
    Marks marks;
    for (const ProbePoint& point : points_of(probe_)) {
      const Row row = row_of(point);
      std::vector<std::string> cells;
      for (const auto& [column, cell] : columns_) cells.push_back(cell(row));
      cells.push_back(std::to_string(trials_of(probe_, point)));
      cells.push_back((row.shape.one_block_per_sm ? "1" : "") +
                      marks.take(point, probe_.is_unsteady(row.rate), row.result != nullptr));
      table.row(std::move(cells));
    }
    doc.gap();
    if (matrices_) doc.draw(products_chart(probe_, rates_));
    doc.table(std::move(table));
    notes(doc);
    marks.notes(doc, "shapes", probe_.unsteady_above);
  }

 private:
  struct Row {
    const Shape& shape;
    const ProbeResult* result = nullptr;  // null: it has no rate
    Estimate rate{}, figure{};            // what has the column: the rate, or the time of a load
    double per_cycle = not_measured;
    const LawPoint* lawful = nullptr;
    bool by_cores = false;
  };
  using Cell = std::function<std::string(const Row&)>;

  Row row_of(const ProbePoint& point) const {
    Row row{point.axes};
    const auto found = std::ranges::find(rates_, point.axes, &ProbeResult::axes);
    if (found != rates_.end() && found->rate.value > 0) {
      row.result = &*found;
      row.rate = found->rate;
      row.figure = Probes::figure(probe_.question, *found);
      row.per_cycle = found->cycle_rate.value / (by_unit_ ? probe_.layout.units : 1);
      row.by_cores = same_product(*found, one_core_);
    }
    row.lawful = law_point(law_, point.axes);
    return row;
  }

  void add(Column column, Cell cell) { columns_.emplace_back(std::move(column), std::move(cell)); }
  template <class T> void add_number(const char* head, T Shape::*axis, bool shown, int rank = 0) {
    add(right(head, rank, shown), [axis](const Row& row) { return std::to_string(row.shape.*axis); });
  }
  template <class T> void add_number_if_any(const char* head, T Shape::*axis) {
    add_number(head, axis, varies(probe_, axis));
  }
  template <class T> void add_word(const char* head, T Shape::*axis, bool shown) {
    add(left(head, 0, shown), [axis](const Row& row) { return std::string(name(row.shape.*axis)); });
  }

  // Only what differs between patterns or matrices has a column; what all shapes of a pattern have stands below.
  void shape_columns() {
    const bool memory = std::ranges::any_of(probe_.visits, [](const auto& visit) { return visit.axes.bytes > 0; });
    const auto shown = [&](auto axis) { return every_ || differs(probe_, axis); };
    add_number(matrices_ ? "cores" : "blocks", &Shape::blocks, shown(&Shape::blocks));
    add_number("threads", &Shape::threads, shown(&Shape::threads));
    add_number("ilp", &Shape::ilp, shown(&Shape::ilp));
    add_number("access B", &Shape::access_bytes, memory && shown(&Shape::access_bytes), 3);
    add(right("working set", 0, memory && shown(&Shape::bytes)),
        [](const Row& row) { return size_text(row.shape.bytes); });
    add_number_if_any("stride", &Shape::stride);
    add_number_if_any("offset B", &Shape::offset_bytes);
    add_number_if_any("ways", &Shape::ways);
    add_number_if_any("rung", &Shape::rung);
    add_number_if_any("registers", &Shape::registers);
    add(right("shared", 0, varies(probe_, &Shape::shared_bytes)),
        [](const Row& row) { return size_text(row.shape.shared_bytes); });
    add(decimal("operations a byte", 0, varies(probe_, &Shape::intensity)),
        [](const Row& row) { return digits_text(intensity_of(row.shape)); });
    add_word("pages", &Shape::pages, varies(probe_, &Shape::pages));
    add_number_if_any("cluster", &Shape::cluster);
    add_number_if_any("sm", &Shape::sm);
  }

  void matrix_columns() {
    add_number("m", &Shape::m, matrices_);
    add_number("n", &Shape::n, matrices_ || varies(probe_, &Shape::n));
    add_number("k", &Shape::k, matrices_);
    add_number_if_any("panels", &Shape::panels);
    add_number_if_any("host columns", &Shape::host_columns);
    add_word("ops", &Shape::ops, varies(probe_, &Shape::ops));
    add_number_if_any("alpha", &Shape::alpha);
    add_number_if_any("beta", &Shape::beta);
    add_word("operands", &Shape::operands,
             differs(probe_, &Shape::operands) || (matrices_ && varies(probe_, &Shape::operands)));
  }

  void figure_columns() {
    add(decimal(rate_head(counted_)),
        [scale = waits_ ? 1 : 1e-9](const Row& row) { return digits_text(scale * row.figure.value); });
    add(decimal("% of limit", 1, limited_),
        [limit = probe_.limit.per_s](const Row& row) { return percent_text(100 * row.rate.value / limit); });
    add(right("95 % interval", 1), [](const Row& row) { return interval_text(row.figure); });
    const ProbeResult* const one = one_core_;
    add(decimal("times one core", 0, one != nullptr),
        [one](const Row& row) { return row.by_cores ? digits_text(row.rate.value / one->rate.value, 3) : "-"; });
    add(decimal("efficiency %", 0, one != nullptr), [one](const Row& row) {
      return row.by_cores ? percent_text(100 * row.rate.value / one->rate.value / row.shape.blocks) : "-";
    });
    add(decimal(waits_     ? "cycles"
                : by_unit_ ? "per cycle and SM"
                           : "per cycle",
                by_unit_ ? 0 : 2),
        [waits = waits_](const Row& row) { return digits_text(waits ? 1 / row.per_cycle : row.per_cycle); });
  }

  void law_columns() {
    const bool shown = law_.has_value();
    add(right("passes", 3, shown), [](const Row& row) { return row.lawful ? digits_text(row.lawful->passes) : "-"; });
    add(decimal("times as long", 0, shown),
        [](const Row& row) { return row.lawful ? digits_text(row.lawful->measured.value) : "-"; });
    add(decimal("by law", 0, shown), [](const Row& row) { return row.lawful ? digits_text(row.lawful->law) : "-"; });
    add(left("law", 0, shown), [](const Row& row) { return row.lawful ? verdict_text(*row.lawful) : "-"; });
  }

  void notes(Document& doc) const {
    if (limited_ && probe_.layout.clock_mhz > 0)
      doc.note(fmt::format("% of limit: the limit at the highest clock, {:.0f} MHz", probe_.layout.clock_mhz));
    if (!probe_.library.empty()) doc.note("by " + probe_.library);
    if (const auto classes = classes_of(probe_)) note_classes(doc, *classes);
    if (matrices_ && is_host_timed(probe_.question)) note_cores(doc, probe_, rates_);
    if (!every_ && pattern_)
      doc.note("the first shape: " + text_of(without_pattern(probe_.visits.front().axes)) +
               "; the others differ from it as the columns say");
    if (law_) note_law(doc, *law_);
    if (std::ranges::any_of(probe_.visits, [](const auto& visit) { return visit.axes.one_block_per_sm != 0; }))
      doc.note("1 one block per SM: forced, and checked");
  }

  const ProbeSeries& probe_;
  const ProbeDescription& described_;
  const Counted counted_;
  const std::optional<Law> law_;
  const std::vector<ProbeResult> rates_;
  const bool waits_, limited_, matrices_, pattern_, by_unit_;
  const bool every_;  // axis of a shape has a column
  const ProbeResult* one_core_ = nullptr;
  std::vector<std::pair<Column, Cell>> columns_;
};

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
  ProbeText(probe).write(doc);
}

}  // namespace npgpu
