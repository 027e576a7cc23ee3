// Papers' figures and a device's parameters, as text and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/published.hpp"

namespace npgpu {

namespace {

std::string ours_name(const PublishedFigure& f) {
  return f.minus.empty() ? f.parameter : f.parameter + " - " + f.minus;
}

// Its place among the sources, from 1; a new one comes last.
std::size_t number_of(const PublishedSource& s, std::vector<PublishedSource>& sources) {
  const auto found = std::ranges::find(sources, s.arxiv, &PublishedSource::arxiv);
  if (found != sources.end()) return static_cast<std::size_t>(found - sources.begin()) + 1;
  sources.push_back(s);
  return sources.size();
}

Document published_document(const std::vector<PublishedTable>& tables) {
  Document doc;
  for (const PublishedTable& of : tables) {
    if (&of != &tables.front()) doc.gap();
    doc.title(fmt::format("published figures of compute capability {} and {}", of.capability,
                          device_text(of.device, of.device_name)),
              of.simulated);
    Table table({left("parameter"), right("here"), left("95 % interval", 2), right("published"), left("unit"),
                 right("ratio"), left("standing"), left("card")});
    Document::Rows rows{std::move(table)};
    std::vector<PublishedSource> sources;
    bool unchecked = false, of_card = false;
    for (const PublishedRow& row : of.rows) {
      const PublishedFigure& f = row.figure;
      rows.table.row({ours_name(f), digits_text(row.ours.value), range_text(row.ours, 1),
                      digits_text(row.comparable) + (f.checked ? "" : " ?"), row.ours.unit,
                      fmt::format("{:.3f}", row.ratio.value), std::string(name(row.standing)),
                      fmt::format("{} [{}]", f.source.card, number_of(f.source, sources))});
      auto& below = rows.below.emplace_back();
      unchecked |= !f.checked;
      const bool whole = f.unit != row.ours.unit;
      of_card |= whole;
      if (whole) below.push_back({fmt::format("published: {:g} {} of the card", f.value, f.unit), false, 6});
      if (!f.definition.empty()) below.push_back({f.definition, false, 6});
      if (row.standing == Standing::definition) below.push_back({"otherwise: " + f.differs, false, 6});
    }
    if (!of.rows.empty()) doc.add(std::move(rows));
    doc.left_out();
    for (std::size_t i = 0; i < sources.size(); ++i)
      doc.note(fmt::format("[{}] arXiv {}: {}", i + 1, sources[i].arxiv, sources[i].title));
    doc.note(
        "agrees: to 3 % or 2 cycles; interval: ours reaches there; definition: another thing was measured; card: a "
        "rate of a card at a clock that is not known");
    if (of_card) doc.note("rates of a card: over its multiprocessors and highest clock");
    if (unchecked) doc.note("?: not checked against the paper's text");
    if (!of.missing.empty())
      doc.note(fmt::format("missing, which papers have: {}; npgpu probe all --thorough has them",
                           fmt::join(of.missing, "; ")));
  }
  return doc;
}

}  // namespace

void published_text(std::ostream& out, const std::vector<PublishedTable>& tables, const TextStyle& style) {
  out << to_text(published_document(tables), style);
}

void published_json(std::ostream& out, const std::vector<PublishedTable>& tables) {
  const auto row_json = [](const PublishedRow& row) {
    const PublishedFigure& f = row.figure;
    return Json({entry("parameter", f.parameter), entry("minus", f.minus), entry("value", row.ours.value),
                 entry("low", row.ours.low), entry("high", row.ours.high), entry("unit", row.ours.unit),
                 entry("comparable", row.comparable), entry("published", f.value), entry("published_unit", f.unit),
                 entry("ratio", row.ratio.value), entry("ratio_low", row.ratio.low),
                 entry("ratio_high", row.ratio.high), entry("standing", std::string(name(row.standing))),
                 entry("definition", f.definition), entry("differs", f.differs), entry("checked", f.checked),
                 entry("card", f.source.card), entry("arxiv", f.source.arxiv), entry("title", f.source.title)});
  };
  const auto table_json = [&](const PublishedTable& of) {
    return Json({entry("device", of.device), entry("device_name", of.device_name), entry("simulated", of.simulated),
                 entry("capability", of.capability), entry("rows", array_of(of.rows, row_json)),
                 entry("missing", of.missing)});
  };
  write_json(
      out, {entry("document", "npgpu-published"), entry("version", 1), entry("devices", array_of(tables, table_json))},
      1);
}

}  // namespace npgpu
