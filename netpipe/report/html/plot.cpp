// A plot as inline SVG.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"

namespace npgpu::html {

std::string scrolling(const std::string& table, const std::string& label) {
  if (table.empty()) return {};
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n",
                     html_text(label), table);
}

const char* class_of(Health health) {
  switch (health) {
    case Health::pass: return "pass";
    case Health::fail: return "fail";
    case Health::warn:
    case Health::undecided:
    case Health::unjudged: return "warn";
    case Health::skip: break;
  }
  return "skipped";
}

namespace {

constexpr double plot_width = 480, left_room = 64, right_room = 24, top_room = 26, bottom_room = 44;
constexpr std::size_t styles = 8;  // classes s0 to s7 of the style sheet

// Coordinates with a tenth of a unit: enough for any screen.
std::string at(double v) {
  std::string text = fmt::format("{:.1f}", v);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

// From values to the drawing.
class Scale {
 public:
  Scale(const Axis& axis, double low, double high, double from, double to)
      : axis_(axis), low_(low), high_(high), from_(from), to_(to) {}
  double operator()(double v) const {
    const double part = axis_.logarithmic ? std::log(v / low_) / std::log(high_ / low_) : (v - low_) / (high_ - low_);
    return from_ + std::clamp(part, 0.0, 1.0) * (to_ - from_);
  }
  bool has(double v) const { return std::isfinite(v) && (!axis_.logarithmic || v > 0); }

  // At most about eight, at round numbers.
  std::vector<double> ticks() const {
    std::vector<double> all;
    if (axis_.logarithmic) return logarithmic_ticks();
    const double raw = (high_ - low_) / 6, power = std::pow(10, std::floor(std::log10(raw)));
    double step = 10 * power;
    for (const double nice : {1.0, 2.0, 5.0})
      if (nice * power >= raw) {
        step = nice * power;
        break;
      }
    for (double v = std::ceil(low_ / step - 1e-9) * step; v <= high_ + step * 1e-6; v += step) all.push_back(v);
    return all;
  }
  // Ticks are round: what rounding would add behind the point is left out.
  std::string text(double v) const {
    if (axis_.unit == Unit::bytes) return about_size_text(v);
    if (std::abs(v) < 1e-12) return "0";
    const std::string text = axis_.unit == Unit::seconds ? short_time_text(v * 1e6) : digits_text(v, 4, 4);
    const std::size_t space = std::min(text.find(' '), text.size());
    std::string number = text.substr(0, space);
    if (number.find('.') != std::string::npos) number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
    return number + text.substr(space);
  }

 private:
  // Powers of two of sizes and counts. Of the rest powers of ten, with 2 and 5 between them where these are few.
  std::vector<double> logarithmic_ticks() const {
    const bool binary = axis_.unit == Unit::bytes || axis_.unit == Unit::count;
    const double base = binary ? 2 : 10, powers = std::log(high_ / low_) / std::log(base);
    const double step = std::max(1.0, std::ceil(powers / 7));
    std::vector<double> all;
    for (double e = std::floor(std::log(low_) / std::log(base)); std::pow(base, e) <= high_; e += step)
      for (const double part : {1.0, 2.0, 5.0}) {
        const double v = part * std::pow(base, e);
        const bool shown = part == 1 || (!binary && powers < 3);
        if (shown && v >= low_ * (1 - 1e-9) && v <= high_ * (1 + 1e-9)) all.push_back(v);
      }
    return all;
  }

  Axis axis_;
  double low_, high_, from_, to_;
};

struct Range {
  double low = not_measured, high = not_measured;
  void take(double v, bool positive_only) {
    if (!std::isfinite(v) || (positive_only && v <= 0)) return;
    if (!(v >= low)) low = v;
    if (!(v <= high)) high = v;
  }
};

Range x_range(const Plot& plot) {
  Range range;
  for (const Curve& curve : plot.curves)
    for (const PlotPoint& p : curve.points) range.take(p.x, plot.x.logarithmic);
  if (!(range.high > range.low)) range.high = range.low * 2 + 1;
  return range;
}
// An interval that reaches half of its value away would be all that a figure shows: its point is hollow, without it.
bool is_vague(const Plot& plot, const PlotPoint& p) {
  return plot.markers && std::max(p.high - p.y, p.y - p.low) > 0.5 * std::abs(p.y);
}

Range y_range(const Plot& plot) {
  Range range;
  for (const Curve& curve : plot.curves)
    for (const PlotPoint& p : curve.points)
      for (const double end : {p.y, is_vague(plot, p) ? p.y : p.low, is_vague(plot, p) ? p.y : p.high})
        range.take(end, plot.y.logarithmic);
  for (const Line& line : plot.limits) range.take(line.at, plot.y.logarithmic);
  if (plot.y.logarithmic) return {range.low / 1.15, range.high * 1.15};
  // What hardly changes is shown as that.
  const double from = plot.y.from_zero ? 0 : range.low;
  const double room = 0.05 * std::max(range.high - from, 0.2 * std::abs(range.high) + 1e-9);
  return {plot.y.from_zero ? 0 : range.low - room, range.high + room};
}

// One of eight shapes, so that curves differ in more than their colour.
std::string marker(std::size_t style, double x, double y) {
  const std::string px = at(x), py = at(y);
  constexpr double r = 3;
  switch (style % styles) {
    case 0: return fmt::format("M{} {}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", px, py);
    case 1: return fmt::format("M{} {}h6v6h-6z", at(x - r), at(y - r));
    case 2: return fmt::format("M{} {}l3.6 6.4h-7.2z", px, at(y - 4));
    case 3: return fmt::format("M{} {}l4 4l-4 4l-4-4z", px, at(y - 4));
    case 4: return fmt::format("M{} {}l3.6-6.4h-7.2z", px, at(y + 4));
    case 5: return fmt::format("M{} {}h2v-2h2v2h2v2h-2v2h-2v-2h-2z", at(x - r), at(y - 1));
    case 6: return fmt::format("M{} {}h8v3h-8z", at(x - 4), at(y - 1.5));
    default: return fmt::format("M{} {}h3v8h-3z", at(x - 1.5), at(y - 4));
  }
}

void draw_axes(std::string& svg, const Plot& plot, const Scale& x, const Scale& y, double bottom) {
  svg += "<g class=\"grid\">";
  std::size_t i = 0;
  for (const double v : y.ticks()) {
    svg += fmt::format("<path d=\"M{} {}H{}\"/>", left_room, at(y(v)), plot_width - right_room);
    svg +=
        fmt::format("<text class=\"y\" x=\"{}\" y=\"{}\">{}</text>", left_room - 6, at(y(v) + 4), html_text(y.text(v)));
  }
  for (const double v : x.ticks()) {
    const std::string text = x.text(v);
    // A long text at the end of the axis ends with the figure, also in the larger letters of a narrow window.
    constexpr double half_letter = 4.5;
    const bool is_cut = x(v) + half_letter * static_cast<double>(text.size()) > plot_width;
    svg += fmt::format("<path d=\"M{} {}V{}\"/><text class=\"x{}{}\" x=\"{}\" y=\"{}\">{}</text>", at(x(v)), top_room,
                       at(bottom), i++ % 2 ? " odd" : "", is_cut ? " end" : "", at(is_cut ? plot_width : x(v)),
                       at(bottom + 16), html_text(text));
  }
  svg += "</g>";
  svg += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>", left_room, top_room, at(bottom),
                     plot_width - right_room);
  svg += fmt::format("<text class=\"x name\" x=\"{}\" y=\"{}\">{}</text>",
                     at((left_room + plot_width - right_room) / 2), at(bottom + 36), html_text(plot.x.name));
  svg += fmt::format("<text x=\"4\" y=\"14\">{}</text>", html_text(plot.y.name));
}

void draw_lines(std::string& svg, const Plot& plot, const Scale& x, const Scale& y, double bottom) {
  std::vector<Line> limits = plot.limits;
  std::ranges::stable_sort(limits, {}, &Line::at);
  constexpr double name_height = 15;
  double free = bottom;  // below it names would cover each other
  for (const Line& line : limits) {
    if (!y.has(line.at)) continue;
    svg += fmt::format("<path class=\"limit\" d=\"M{} {}H{}\"/>", left_room, at(y(line.at)), plot_width - right_room);
    if (line.name.empty()) continue;
    const double name_at = std::min(y(line.at) - 4, free);
    free = name_at - name_height;
    svg += fmt::format("<text class=\"limit\" x=\"{}\" y=\"{}\">{}</text>", left_room + 4, at(name_at),
                       html_text(line.name));
  }
  double row = 0;  // names of neighbours must not cover each other
  for (const Line& line : plot.positions) {
    if (!x.has(line.at)) continue;
    svg += fmt::format("<path class=\"limit\" d=\"M{} {}V{}\"/>", at(x(line.at)), top_room, at(bottom));
    svg += fmt::format("<text class=\"limit end\" x=\"{}\" y=\"{}\">{}</text>", at(x(line.at) - 4),
                       at(top_room + 12 + 16 * row), html_text(line.name));
    row = row >= 3 ? 0 : row + 1;
  }
}

// The interval as a band, the values as a line, and markers on so many points as can be told apart, and on each hollow
// one. The others have none to see, and say their text where the pointer rests.
void draw_curve(std::string& svg, const Plot& plot, const Curve& curve, std::size_t style, const Scale& x,
                const Scale& y) {
  constexpr std::size_t apart = 20;
  const std::size_t step = plot.lines ? curve.points.size() / apart + 1 : 1;
  std::string line, upper, lower, marks;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const PlotPoint& p = curve.points[i];
    if (!x.has(p.x) || !y.has(p.y)) continue;
    const bool vague = is_vague(plot, p), hollow = p.doubtful || vague;
    const double px = x(p.x), py = y(p.y);
    line += fmt::format("{}{} {}", line.empty() ? 'M' : 'L', at(px), at(py));
    const double low = y.has(p.low) && !vague ? y(p.low) : py, high = y.has(p.high) && !vague ? y(p.high) : py;
    upper += fmt::format("{}{} {}", upper.empty() ? 'M' : 'L', at(px), at(high));
    lower = fmt::format("L{} {}", at(px), at(low)) + lower;
    if (!plot.markers) continue;
    const bool is_seen = hollow || i % step == 0 || i + 1 == curve.points.size();
    marks += fmt::format("<path class=\"m{}\" d=\"{}\"><title>{}</title></path>",
                         hollow    ? " hollow"
                         : is_seen ? ""
                                   : " unseen",
                         marker(style, px, py), html_text(curve.name + ": " + p.text));
  }
  svg += fmt::format("<g class=\"s{}\">", style % styles);
  if (plot.lines)
    svg += fmt::format("<path class=\"band\" d=\"{}{}z\"/><path class=\"line\" d=\"{}\"/>", upper, lower, line);
  svg += marks + "</g>\n";
}

}  // namespace

std::string figure_of(const Plot& plot) {
  const auto drawn = [](const Curve& curve) {
    return std::ranges::count_if(curve.points, [](const PlotPoint& p) { return std::isfinite(p.y); }) > 1;
  };
  if (!std::ranges::any_of(plot.curves, drawn)) return {};
  const double bottom = plot.height - bottom_room;
  const Range xs = x_range(plot), ys = y_range(plot);
  const Scale x(plot.x, xs.low, xs.high, left_room, plot_width - right_room),
      y(plot.y, ys.low, ys.high, bottom, top_room);
  // A screen reader says title and description once, and passes over hundreds of markers.
  std::string svg = fmt::format(
      "<figure>\n<svg role=\"img\" viewBox=\"0 0 {} {}\" aria-labelledby=\"{}-t\" aria-describedby=\"{}-d\">\n"
      "<title id=\"{}-t\">{}</title>\n<desc id=\"{}-d\">{}</desc>\n<g aria-hidden=\"true\">\n",
      plot_width, plot.height, plot.id, plot.id, plot.id, html_text(plot.title), plot.id, html_text(plot.description));
  draw_axes(svg, plot, x, y, bottom);
  draw_lines(svg, plot, x, y, bottom);
  const auto style_of = [&](std::size_t i) { return plot.curves[i].style.value_or(i); };
  for (std::size_t i = 0; i < plot.curves.size(); ++i) draw_curve(svg, plot, plot.curves[i], style_of(i), x, y);
  svg += "</g>\n</svg>\n<figcaption>" + html_text(plot.title);
  if (plot.curves.size() > 1 || (plot.markers && plot.lines)) {
    svg += "<ul class=\"legend\">";
    for (std::size_t i = 0; i < plot.curves.size(); ++i)
      svg += fmt::format(
          "<li class=\"s{}\"><svg aria-hidden=\"true\" viewBox=\"0 0 24 12\"><path class=\"line\" d=\"M0 6H24\"/>"
          "<path class=\"m\" d=\"{}\"/></svg>{}</li>",
          style_of(i) % styles, marker(style_of(i), 12, 6), html_text(plot.curves[i].name));
    svg += "</ul>";
  }
  return svg + "</figcaption>\n</figure>\n";
}

}  // namespace npgpu::html
