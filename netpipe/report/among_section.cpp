#include "netpipe/report/among_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/format.hpp"

namespace npgpu {

std::string value_text(const SharedMetric& metric, double value) {
  if (const auto unit = named<FigureUnit>(metric.unit)) return figure_text(value, *unit);
  return fmt::format("{} {}", digits_text(value), metric.unit);  // a clock
}

std::string change_text(double share) {
  const std::string text = fmt::format("{:+.1f} %", 100 * share);
  return text == "-0.0 %" || text == "+0.0 %" ? "0.0 %" : text;
}

Section among_section(const AmongOthers& of) {
  Section section{
      .name = fmt::format("{} among {} of others", of.gpu, counted(of.cards, of.name.empty() ? "GPU" : of.name))};
  if (of.rows.empty()) {
    section.name = fmt::format("{} among others", of.gpu);
    section.notes.push_back("no shared file has figures of a " + of.name);
    return section;
  }
  Table table({left(of.gpu), right("here"), right("95 %", 2), right("others: median"), right("least", 1),
               right("most", 1), right("here against it"), left("")});
  for (const AmongOthers::Row& row : of.rows) {
    const double typical = row.typical();
    const std::string interval =
        std::isfinite(row.own.low + row.own.high)
            ? fmt::format("{:+.1f} .. {:+.1f} %", 100 * (row.own.low / typical - 1), 100 * (row.own.high / typical - 1))
            : "-";
    table.row({"  " + std::string(row.metric.name), value_text(row.metric, row.own.value), interval,
               value_text(row.metric, typical), value_text(row.metric, row.others.front()),
               value_text(row.metric, row.others.back()), change_text(row.change()),
               !row.is_beyond() ? ""
               : row.is_worse() ? "worse than all"
                                : "better than all"});
  }
  section.table = std::move(table);
  section.notes.emplace_back("95 %: the interval here, against the others' median. Others are one value a GPU");
  return section;
}

}  // namespace npgpu
