// The charts of a device, a study and a GPU among others.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "netpipe/judge/overview/parts.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::html {

namespace {

bool is_doubtful(const TransferResult& p) { return p.unsteady || !p.disturbed.empty(); }

std::string doubt_text(const TransferResult& p) {
  return std::string(p.unsteady ? ", unsteady" : "") + (p.disturbed.empty() ? "" : ", disturbed: " + p.disturbed);
}

// A figure of the points that have it.
template <class Text>
Curve curve_of(const CopyCurve& copies, Estimate TransferResult::*figure, double times, Text text) {
  Curve curve{copies.name, {}};
  for (const TransferResult& p : copies.points)
    if (const Estimate& e = p.*figure; e.value > 0)
      curve.points.push_back(
          {static_cast<double>(p.axes.bytes), e.value * times, e.low * times, e.high * times, is_doubtful(p),
           fmt::format("{}, {} ({})", size_text(p.axes.bytes), text(e.value), interval_text(e)) + doubt_text(p)});
  return curve;
}

// The copies of a chart, and the style that their case has in all.
struct ShownCopies {
  const CopyCurve* copies;
  std::size_t style;
};
using CopiesShown = std::vector<ShownCopies>;

// What the drawing shows, for those who do not see it: where each curve ends.
std::string ends_of(const CopiesShown& shown) {
  std::string text;
  for (const auto& [copies, style] : shown)
    if (const TransferResult* end = copies->largest())
      text += fmt::format(" {}: {} at {}{}.", copies->name, rate_text(end->rate.value), size_text(end->axes.bytes),
                          std::isfinite(end->percent_of_limit)
                              ? fmt::format(", {} % of the limit", percent_text(end->percent_of_limit))
                              : "");
  return text;
}

// One group of copies that have a limit in common, or none.
std::string bandwidth_chart(const CopiesShown& shown, const std::string& id, const std::string& title) {
  if (shown.empty()) return {};
  Plot plot{.id = id,
            .title = title,
            .description = "Bandwidth over the size of a copy, with intervals of 95 %. At the largest size:" +
                           ends_of(shown) + " The table of copies has the numbers.",
            .x = {"size of a copy", Unit::bytes, true},
            .y = {"GB/s", Unit::plain, false, true}};
  const Direction way = shown.front().copies->question.direction;
  const char* const each = way == Direction::h2d || way == Direction::d2h ? " each way" : "";
  for (const auto& [copies, style] : shown) {
    plot.curves.push_back(curve_of(*copies, &TransferResult::rate, 1e-9, rate_text));
    plot.curves.back().style = style;
    const double limit = copies->limit.per_s * 1e-9;
    if (std::isfinite(limit) && std::ranges::find(plot.limits, limit, &Line::at) == plot.limits.end())
      plot.limits.push_back({limit, fmt::format("limit {}{}", rate_text(copies->limit.per_s), each)});
  }
  return figure_of(plot);
}

std::string time_chart(const CopiesShown& shown, const std::string& id, const std::string& title) {
  if (shown.empty()) return {};
  Plot plot{.id = id,
            .title = title,
            .description =
                "Time of one copy over its size, with intervals of 95 %, both axes logarithmic. The table of "
                "copies has the times of small ones.",
            .x = {"size of a copy", Unit::bytes, true},
            .y = {"time of a copy", Unit::seconds, true}};
  for (const auto& [copies, style] : shown) {
    plot.curves.push_back(curve_of(*copies, &TransferResult::time_us, 1e-6, time_text));
    plot.curves.back().style = style;
  }
  return figure_of(plot);
}

}  // namespace

// A chart for each way; a case has one colour in all.
std::string copy_charts(const DeviceOverview& device, const std::string& prefix) {
  CopiesShown in, back, both, within, host;
  std::vector<TransferCase> cases;
  for (const CopyCurve& curve : device.copies) {
    TransferCase its = curve.question;
    const Direction d = its.direction;
    CopiesShown* chart = nullptr;
    // Within a device warm copies are no usual ones: they show the cache.
    if (d == Direction::d2d || (d == Direction::peer && curve.is_usual)) chart = &within;
    else if (d == Direction::h2h) chart = &host;
    else if (curve.is_usual && d != Direction::peer)
      chart = its.pattern == Pattern::duplex ? &both : d == Direction::h2d ? &in : &back;
    if (!chart) continue;
    its.pattern = {}, its.direction = {}, its.source = its.target = {};  // whichever way it goes
    const auto known = std::ranges::find(cases, its);
    chart->push_back({&curve, static_cast<std::size_t>(known - cases.begin())});
    if (known == cases.end()) cases.push_back(its);
  }
  return bandwidth_chart(in, prefix + "in", "Copies from the host to " + device.id) +
         bandwidth_chart(back, prefix + "back", "Copies from " + device.id + " to the host") +
         bandwidth_chart(both, prefix + "both", "Copies both ways at once") +
         bandwidth_chart(within, prefix + "within", "Copies within " + device.id) +
         bandwidth_chart(host, prefix + "host", "Copies within the host's memory") +
         time_chart(in, prefix + "time-in", "Time of a copy to " + device.id) +
         time_chart(back, prefix + "time-back", "Time of a copy to the host") +
         time_chart(in.empty() && back.empty() ? host : CopiesShown{}, prefix + "time", "Time of a copy");
}

std::string ladder_chart(const Trace& trace, const DeviceOverview& device, const std::string& prefix) {
  Plot plot{.id = prefix + "ladder",
            .title = "Latency of a load over the working set",
            .x = {"working set", Unit::bytes, true},
            .y = {"ns a load", Unit::plain, true}};
  const model::OfDevice its{device.id, device.uuid};
  for (const ProbeSeries& series : trace.of<Probes>()) {
    const ProbeCase& c = series.question;
    if (!its.has(series) || !asks(c, ProbeQuestion::memory_latency) || c.operation != Operation::chase) continue;
    Curve curve{fmt::format("{} memory", name(c.space)), {}};
    for (const ProbeResult& r : model::rates_of(series)) {
      const auto ns = [](double per_s) { return 1e9 / per_s; };
      curve.points.push_back({static_cast<double>(r.axes.bytes), ns(r.rate.value), ns(r.rate.high), ns(r.rate.low),
                              !r.doubts.empty(),
                              fmt::format("{}, {} ns{}", size_text(r.axes.bytes), digits_text(ns(r.rate.value)),
                                          r.doubts.empty() ? "" : ": " + r.doubts.front())});
    }
    std::ranges::sort(curve.points, {}, &PlotPoint::x);
    plot.curves.push_back(std::move(curve));
  }
  const bool has_l2 = std::ranges::find(device.levels, "L2", &MemoryLevel::name) != device.levels.end();
  plot.description = "Time of one load that waits for the one before, over the size of the set it walks through.";
  for (const MemoryLevel& level : device.levels) {
    if (level.latency)
      plot.description += fmt::format(" {}: {} ns.", level.name, digits_text(level.latency->estimate.value, 3));
    const bool own = !level.name.starts_with("constant") && !(has_l2 && level.name == "L2 far");
    if (level.size && own && level.size->estimate.value > 0)
      plot.positions.push_back(
          {level.size->estimate.value, fmt::format("{} {}", level.name, about_size_text(level.size->estimate.value))});
  }
  return figure_of(plot);
}

std::string stream_chart(const DeviceOverview& device, const std::string& prefix) {
  Plot plot{.id = prefix + "streams",
            .title = "Predicted time of three typical jobs",
            .description = "Time of a job over the number of streams.",
            .x = {"streams", Unit::count, true},
            .y = {"time of the job", Unit::seconds, false, true}};
  for (const StreamAdvice& a : device.advice) {
    Curve curve{fmt::format("{} in, {} out", size_text(a.job.in_bytes), size_text(a.job.out_bytes)), {}};
    for (const StreamAdvice::Time& t : a.times)
      curve.points.push_back({static_cast<double>(t.streams), t.us.value * 1e-6, t.us.low * 1e-6, t.us.high * 1e-6,
                              false, fmt::format("{}, {}", counted(t.streams, "stream"), time_text(t.us.value))});
    plot.description += fmt::format(" {}: {} in one stream, {} in {}.", curve.name, short_time_text(a.one_us),
                                    short_time_text(a.best_us.value), a.best);
    plot.curves.push_back(std::move(curve));
  }
  return figure_of(plot);
}

std::string collective_chart(const CollectiveStudy& study, const std::string& id) {
  Plot plot{.id = id, .title = "Bus bandwidth over size"};
  const OperationNames names = operation_names(study);
  plot.description = fmt::format(
      "Bus bandwidth of each operation{} over its size, with intervals of 95 %. The largest ones:", names.all);
  plot.x = {"size", Unit::bytes, true};
  plot.y = {"GB/s", Unit::plain, false, true};
  double low = not_measured, high = not_measured;
  for (std::size_t i = 0; i < study.figures.size(); ++i) {
    const CollectiveFigure& f = study.figures[i];
    if (f.points.empty()) continue;
    Curve curve{names.each[i], {}};
    for (const CollectiveResult& r : f.points)
      if (const Estimate& e = r.bus_rate; e.value > 0)
        curve.points.push_back({static_cast<double>(r.axes.bytes), e.value * 1e-9, e.low * 1e-9, e.high * 1e-9,
                                r.unsteady || r.causes != 0,
                                fmt::format("{}, {} ({}), {}", size_text(r.axes.bytes), rate_text(e.value),
                                            interval_text(e), time_text(r.time_us.value))});
    plot.description += fmt::format(" {}: {}.", curve.name, rate_text(f.best.value));
    plot.curves.push_back(std::move(curve));
    low = std::fmin(low, f.limit);
    high = std::fmax(high, f.limit);
  }
  // The limits of operations over the same links differ little: their names would cover each other.
  if (high > 0) plot.limits.push_back({high * 1e-9, fmt::format("limit {}", rate_text(high))});
  if (low < high) {
    plot.limits.front().name = fmt::format("limits {} to {}", rate_text(low), rate_text(high));
    plot.limits.push_back({low * 1e-9, ""});
  }
  return figure_of(plot);
}

std::string corner_table(const Trace& trace, const DeviceOverview& device) {
  std::string rows;
  const model::OfDevice its{device.id, device.uuid};
  for (const ProbeSeries& series : trace.of<Probes>()) {
    const ProbeCase& c = series.question;
    if (!its.has(series) || !description_of(c).has_corners) continue;
    const Corners corners = corners_of(series);
    rows += fmt::format("<tr><th scope=\"row\">{} {}{}</th>", name(c.operation), name(c.type),
                        c.form == Form::dependent ? " dependent" : "");
    for (const Estimate* rate : {&corners.all_all, &corners.one_all, &corners.all_one, &corners.one_one})
      rows += fmt::format("<td class=\"n\">{}</td>", html_text(probe_rate_text(c, rate->value)));
    const double percent = 100 * corners.all_all.value / series.limit.per_s;
    rows += std::isfinite(percent)
                ? fmt::format("<td class=\"n\"><span class=\"bar\" style=\"width:{:.2f}rem\"></span>{} %</td></tr>\n",
                              std::min(percent, 100.0) * 0.04, percent_text(percent))
                : "<td class=\"n\">-</td></tr>\n";
  }
  if (rows.empty()) return {};
  return "<table>\n<caption>Corners (Perez &amp; Piccoli 2011): blocks on all units or on one, then threads all or "
         "one</caption>\n<thead><tr><th scope=\"col\">kernel</th><th scope=\"col\" class=\"n\">All-All</th><th "
         "scope=\"col\" class=\"n\">One-All</th><th scope=\"col\" class=\"n\">All-One</th><th scope=\"col\" "
         "class=\"n\">One-One</th><th scope=\"col\" class=\"n\">All-All of peak</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody>\n</table>\n";
}

namespace {

constexpr double label = 210, scale = 300, values = 110, row_step = 26, top = 30;  // of the drawing

// The value farthest from the others' median, as a share of it, in round steps.
double reach(const AmongOthers& of) {
  double most = 0;
  for (const AmongOthers::Row& row : of.rows) {
    const double typical = row.typical();
    most = std::max(most, std::abs(row.change()));
    for (const double other : {row.others.front(), row.others.back()})
      most = std::max(most, std::abs(other / typical - 1));
  }
  for (const double round : {0.01, 0.02, 0.05, 0.1, 0.2, 0.5})
    if (most <= round) return round;
  return 1;
}

std::string figure_for(const AmongOthers& of, std::size_t number) {
  const double most = reach(of), width = label + scale + values,
               height = top + row_step * static_cast<double>(of.rows.size()) + 8;
  const auto at = [&](double share) { return label + scale / 2 * (1 + std::clamp(share / most, -1.0, 1.0)); };
  std::string drawn, spoken;
  for (const double share : {-most, 0.0, most})
    drawn += fmt::format(
        "<path class=\"axis\" d=\"M{0:.1f} {1}V{2}\"/>\n<text class=\"x\" x=\"{0:.1f}\" y=\"18\">{3}</text>\n",
        at(share), top - 6, height - 4, share == 0 ? "median" : fmt::format("{:+.0f} %", 100 * share));
  for (std::size_t i = 0; i < of.rows.size(); ++i) {
    const AmongOthers::Row& row = of.rows[i];
    const double y = top + row_step * (static_cast<double>(i) + 0.5), typical = row.typical();
    drawn +=
        fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>\n", label - 16, y + 4, html_text(row.metric.name));
    for (const double other : row.others)
      drawn += fmt::format("<circle class=\"other\" cx=\"{:.1f}\" cy=\"{}\" r=\"4\"/>\n", at(other / typical - 1), y);
    const double own = at(row.change());
    if (std::isfinite(row.own.low + row.own.high))
      drawn += fmt::format("<path class=\"own\" d=\"M{:.1f} {}H{:.1f}\"/>\n", at(row.own.low / typical - 1), y,
                           at(row.own.high / typical - 1));
    drawn += fmt::format("<path class=\"own\" d=\"M{:.1f} {}l6 6l-6 6l-6-6z\"/>\n", own, y - 6);
    drawn += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", label + scale + 14, y + 4,
                         html_text(value_text(row.metric, row.own.value)));
    spoken += fmt::format(" {}: {}, {} against the median.", row.metric.name, value_text(row.metric, row.own.value),
                          change_text(row.change()));
  }
  const std::string id = fmt::format("among{}", number);
  return fmt::format(
      "<figure class=\"node\">{}<figcaption>Diamond and bar: {} and its 95 % interval. Dots: others, over their "
      "median. "
      "Times are better to the left, rates to the right.</figcaption></figure>\n",
      scrolling(
          fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{}-t\" aria-describedby=\"{}-d\">\n"
                      "<title id=\"{}-t\">{} among others</title>\n<desc id=\"{}-d\">{}</desc>\n<g "
                      "aria-hidden=\"true\">\n{}</g></svg>\n",
                      width, height, id, id, id, html_text(of.gpu), id, html_text(spoken), drawn),
          "Among others"),
      html_text(of.gpu));
}

constexpr double tera = 1e12;

// "tensor fp16 mma", "tensor bf16 mma": "tensor fp16, bf16 mma".
std::string in_one(const std::vector<std::string>& names) {
  const auto first = [](const std::string& name) { return name.substr(0, name.find(' ')); };
  const auto last = [](const std::string& name) { return name.substr(name.rfind(' ') + 1); };
  const bool are_alike = std::ranges::all_of(names, [&](const std::string& name) {
    return std::ranges::count(name, ' ') == 2 && first(name) == first(names[0]) && last(name) == last(names[0]);
  });
  if (!are_alike) return fmt::format("{}", fmt::join(names, ", "));
  std::vector<std::string> between;
  for (const std::string& name : names)
    between.push_back(name.substr(name.find(' ') + 1, name.rfind(' ') - name.find(' ') - 1));
  return fmt::format("{} {} {}", first(names[0]), fmt::join(between, ", "), last(names[0]));
}

PlotPoint sloping(double intensity, const Roof& memory) {
  const auto at = [&](double per_s) { return intensity * per_s / tera; };
  return {intensity,
          at(memory.rate.value),
          at(memory.rate.low),
          at(memory.rate.high),
          false,
          fmt::format("{}: {} at {} FLOP/B", memory.name, rate_text(memory.rate.value), digits_text(intensity))};
}

}  // namespace

Document among_part(std::span<const AmongOthers> all) {
  Document doc;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Section section = among_section(all[i]);
    doc.heading(section.name);
    if (!all[i].rows.empty()) doc.draw(figure_for(all[i], i), false);
    doc.add(std::move(section));
  }
  return doc;
}

std::string roofline_chart(const Roofline& device, const std::string& prefix) {
  if (!device.roof("memory") || device.ridges.empty()) return {};
  Plot plot{.id = prefix + "roofline",
            .title = "Roofline of " + device.device,
            .description = "Operations a second over operations for each byte that is read, both axes logarithmic.",
            .x = {"FLOP/B", Unit::plain, true},
            .y = {"TFLOP/s", Unit::plain, true},
            .height = 340};
  double highest = 0, nearest = INFINITY;
  for (const Ridge& ridge : device.ridges) nearest = std::min(nearest, ridge.intensity.value / 4);
  std::vector<const Roof*> arithmetic;
  for (const Roof& roof : device.roofs)
    if (!roof.is_memory) arithmetic.push_back(&roof);
  std::ranges::stable_sort(arithmetic, {}, [](const Roof* roof) { return roof->rate.value; });
  std::vector<std::string> names;  // of roofs that are drawn as one
  double drawn = 0;
  for (const Roof* const its : arithmetic) {
    const Roof& roof = *its;
    const std::string rate = figure_text(roof.rate.value, FigureUnit::flop_per_s);
    constexpr double alike = 1.02;
    if (roof.rate.value >= alike * drawn) {
      names.clear();
      drawn = roof.rate.value;
      plot.limits.push_back({drawn / tera, {}});
    }
    names.push_back(roof.name);
    plot.limits.back().name =
        fmt::format("{} {}", in_one(names), figure_text(plot.limits.back().at * tera, FigureUnit::flop_per_s));
    highest = std::max(highest, roof.rate.value);
    plot.description += fmt::format(" {}: {}, ridge at {} FLOP/B.", roof.name, rate,
                                    digits_text(roof.rate.value / device.roof("memory")->rate.value, 3));
  }
  for (const Roof& roof : device.roofs)
    if (roof.is_memory)
      plot.curves.push_back({roof.name, {sloping(nearest, roof), sloping(highest / roof.rate.value, roof)}});
  return figure_of(plot);
}

}  // namespace npgpu::html
