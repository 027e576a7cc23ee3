#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/among_section.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/html/drawings.hpp"
#include "netpipe/report/html/elements.hpp"

namespace npgpu::html {

namespace {

constexpr double label = 210, scale = 300, values = 110, row_step = 26, top = 30;  // of the drawing

// Of all values over the others' median the farthest from it, in round steps.
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

}  // namespace npgpu::html
