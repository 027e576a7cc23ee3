// A node's matrix as coloured tables, and strips of clock, power and temperature.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/matrix_sections.hpp"

namespace npgpu::html {

namespace {

// One of the matrices of a node, with what its cells came to.
struct JudgedMatrix {
  const NodeMatrix& node;
  const MatrixVerdict& verdict;
  std::size_t number = 0;

  const RateMatrix& matrix() const { return node.matrices.at(number); }
  const CellVerdict* of(const MatrixCell* cell) const { return verdict.of(number, cell, node); }
};

constexpr const char* framed = " off";  // class of a cell
constexpr int shades = 6;               // as in style.cpp: q0 to q5

// Values of a table from 0 to its highest, without those within one GPU, which are ten times as high.
double highest_shown(const RateMatrix& matrix) {
  double most = 0;
  for (const MatrixCell& cell : matrix.cells)
    if (cell.source != cell.target && std::isfinite(cell.value.value)) most = std::max(most, shown_value(matrix, cell));
  return most;
}

// The better a value, the darker: the high rate, and the short time.
int shade_of(const RateMatrix& matrix, double value, double most) {
  const int shade = std::clamp(static_cast<int>(shades * value / most), 0, shades - 1);
  return matrix.is_latency() ? shades - 1 - shade : shade;
}

// A pair that a finding of its own names, or that delivered nothing valid.
bool is_failed(const MatrixVerdict& verdict, const MatrixCell& cell) {
  return cell.source != cell.target && std::ranges::any_of(verdict.findings, [&](const NodeFinding& f) {
           const auto names = [&](const std::string& id) {
             return std::ranges::find(f.devices, id) != f.devices.end();
           };
           return f.health == Health::fail && f.devices.size() == 2 && names(cell.source) && names(cell.target);
         });
}

const char* word_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::slow: return "slow";
    case CheckVerdict::undecided: return "undecided";
    default: return "";
  }
}

// What a reader who cannot see the table's edges needs: from where to where, the interval, the limit.
std::string words_of_cell(const RateMatrix& matrix, const MatrixCell& cell, const CellVerdict& verdict) {
  const double by = matrix.is_latency() ? 1e3 : 1e-9;
  std::string text = fmt::format("{} to {}: {} {}", cell.source, cell.target, digits_text(shown_value(matrix, cell)),
                                 matrix.is_latency() ? "ns" : "GB/s");
  if (std::isfinite(cell.value.low) && std::isfinite(cell.value.high))
    text += fmt::format(" ({} to {})", digits_text(cell.value.low * by), digits_text(cell.value.high * by));
  if (std::isfinite(verdict.limit)) text += fmt::format(", at least {}", digits_text(verdict.limit * by));
  if (*word_of(verdict.verdict)) text += fmt::format(": {}", word_of(verdict.verdict));
  if (cell.access == Access::staged) text += "; through the host";
  if (!verdict.disturbed.empty()) text += "; disturbed: " + verdict.disturbed;
  return text;
}

std::string cell_element(const JudgedMatrix& of, const MatrixCell* cell, double most, int digits) {
  if (!cell) return "<td class=\"n\">-</td>";
  const bool failed = is_failed(of.verdict, *cell);
  if (!std::isfinite(cell->value.value))
    return failed ? fmt::format("<td class=\"n{}\">failed</td>", framed) : "<td class=\"n\">-</td>";
  const CellVerdict* const known = of.of(cell);
  const CellVerdict verdict = known ? *known : CellVerdict();
  std::string classes = "n";
  if (cell->source != cell->target && most > 0)
    classes += fmt::format(" q{}", shade_of(of.matrix(), shown_value(of.matrix(), *cell), most));
  if (*word_of(verdict.verdict) || failed) classes += framed;
  return fmt::format("<td class=\"{}\" title=\"{}\">{}</td>", classes,
                     html_text(words_of_cell(of.matrix(), *cell, verdict)),
                     html_text(cell_text(of.matrix(), cell, digits)));
}

std::string legend_of(const RateMatrix& matrix, double most, bool is_any_framed) {
  std::string out = "<ul class=\"legend heat\" aria-label=\"Colours\">";
  for (int shade = 0; shade < shades; ++shade)
    out += fmt::format("<li class=\"q{}\">{} to {}</li>", matrix.is_latency() ? shades - 1 - shade : shade,
                       digits_text(most * shade / shades, 3), digits_text(most * (shade + 1) / shades, 3));
  return out + fmt::format("</ul><p class=\"soft\">{}{}</p>\n",
                           matrix.is_latency() ? "ns, less is better" : "GB/s, more is better",
                           is_any_framed ? "; a framed cell is slow, undecided or failed" : "");
}

std::string heat_table(const JudgedMatrix& of) {
  const RateMatrix& matrix = of.matrix();
  const std::vector<std::string> ends = matrix_ends(matrix, of.node);
  const double most = highest_shown(matrix);
  constexpr std::size_t many = 12;
  const int digits = ends.size() > many ? 3 : 4;
  std::string out =
      fmt::format("<table class=\"heat\">\n<caption>{}</caption>\n<thead><tr><th scope=\"col\">from, to</th>",
                  html_text(title_of(matrix)));
  for (const std::string& target : ends)
    out += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", html_text(short_end(target)));
  out += "</tr></thead>\n<tbody>\n";
  for (const std::string& source : ends) {
    const auto is_its = [&](const MatrixCell& cell) { return cell.source == source; };
    if (std::ranges::none_of(matrix.cells, is_its)) continue;
    out += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(short_end(source)));
    for (const std::string& target : ends) out += cell_element(of, matrix.find(source, target), most, digits);
    out += "</tr>\n";
  }
  const bool is_any_framed = out.find(framed) != std::string::npos;
  return scrolling(out + "</tbody>\n</table>\n", title_of(matrix)) +
         (most > 0 ? legend_of(matrix, most, is_any_framed) : "");
}

}  // namespace

Document matrix_tables(const NodeMatrix& node, const MatrixVerdict& verdict) {
  Document doc;
  for (std::size_t i = 0; i < node.matrices.size(); ++i) {
    if (node.is_sampled) doc.add(rate_section(node, node.matrices[i]));
    else doc.draw(heat_table({node, verdict, i}), false);
  }
  if (Section together = together_section(node); together.table) doc.add(std::move(together));
  if (!doc.blocks.empty())
    for (const std::string& note : matrix_notes(node)) doc.note(note);
  return doc;
}

// Clock, power and temperature over the run: thousands of visits, drawn as the median and the range of a few hundred
// moments.

namespace {

// So many that each holds some visits: loads take turns, and each has its own clock and power.
constexpr std::size_t most_moments = 160, least_moments = 24, visits_of_a_moment = 8;

struct Quantity {
  const char* id;
  const char* name;
  const char* unit;
  double TelemetryPoint::*value;
};
constexpr Quantity quantities[] = {{"clock", "SM clock", "MHz", &TelemetryPoint::sm_clock_mhz},
                                   {"power", "Power", "W", &TelemetryPoint::power_w},
                                   {"temperature", "Temperature", "C", &TelemetryPoint::temperature_c}};

Curve curve_of(const std::vector<TelemetryPoint>& all, const Quantity& quantity, bool timed) {
  struct Moment {
    std::vector<double> values;
    double x = 0;
    bool slowed = false;
  };
  const std::size_t moments = std::clamp(all.size() / visits_of_a_moment, least_moments, most_moments);
  std::vector<Moment> binned(moments);
  const double end = timed ? std::max(all.back().at_s, 1e-9) : static_cast<double>(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double v = all[i].*quantity.value, x = timed ? all[i].at_s : static_cast<double>(i);
    if (!std::isfinite(v)) continue;
    Moment& moment = binned[std::min(moments - 1, saturated<std::size_t>(x / end * static_cast<double>(moments)))];
    moment.values.push_back(v);
    moment.x = x;
    moment.slowed |= all[i].slowing != 0;
  }
  Curve curve{quantity.name, {}};
  for (const Moment& m : binned) {
    if (m.values.empty()) continue;
    const auto [low, high] = std::ranges::minmax(m.values);
    curve.points.push_back({m.x, median(m.values), low, high, m.slowed, {}});
  }
  return curve;
}

}  // namespace

std::string strip_charts(const DeviceOverview& device, const std::string& prefix) {
  const auto& all = device.telemetry;
  if (all.size() < 2) return {};
  const bool timed = std::ranges::all_of(all, [](const TelemetryPoint& p) { return std::isfinite(p.at_s); });
  const std::size_t slowed = range_of(all).slowed;
  std::string figures;
  for (const Quantity& quantity : quantities) {
    Plot plot{.id = prefix + quantity.id,
              .title = fmt::format("{} of {} over the run", quantity.name, device.id),
              .x = timed ? Axis{"time since the run began", Unit::seconds} : Axis{"visit", Unit::count},
              .y = {quantity.unit, Unit::plain},
              .markers = false,
              .height = 170};
    Curve curve = curve_of(all, quantity, timed);
    if (curve.points.empty()) continue;
    double low = not_measured, high = not_measured;
    for (const PlotPoint& p : curve.points) {
      low = std::fmin(low, p.low);
      high = std::fmax(high, p.high);
    }
    plot.description = fmt::format(
        "{}{:.0f} {}, read after each of {} visits; in {} of them the device held its clocks back. Line: median; band: "
        "from least to most.",
        low < high ? fmt::format("{:.0f} to ", low) : "", high, quantity.unit, all.size(), slowed);
    plot.curves.push_back(std::move(curve));
    figures += figure_of(plot);
  }
  return figures;
}

}  // namespace npgpu::html
