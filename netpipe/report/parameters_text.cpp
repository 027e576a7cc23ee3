// Derived parameters, each with what the driver or the system reports.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

namespace {

// Rates in units of 1e9, sizes of caches in KiB or MiB, with the scale in the unit.
struct UnitScale {
  double factor = 1;
  std::string unit;
};
UnitScale scale_of(const Estimate& e) {
  if (e.unit == "bytes per second") return {1e-9, "GB/s"};
  if (e.unit == "operations per second") return {1e-9, "GOP/s"};
  if (e.unit == "bytes" && e.value >= 1 << 20) return {1.0 / (1 << 20), "MiB"};
  if (e.unit == "bytes") return {1.0 / (1 << 10), "KiB"};
  return {1, e.unit == "1" ? "" : e.unit};
}

std::string value_text(const Parameter& p) {
  const UnitScale scale = scale_of(p.estimate);
  return digits_text(p.estimate.value * scale.factor) + (scale.unit.empty() ? "" : ' ' + scale.unit);
}

// A reference has the estimate's unit; where nothing could be estimated there may be none, and the number says nothing.
std::string reference_text(const Parameter& p) {
  if (!std::isfinite(p.reference) || p.estimate.unit.empty()) return "-";
  return digits_text(p.reference * scale_of(p.estimate).factor);
}

}  // namespace

Document parameters_document(const std::vector<DeviceParameters>& devices, Detail detail) {
  Document doc;
  for (const DeviceParameters& device : devices) {
    if (&device != &devices.front()) doc.gap();
    doc.title("derived parameters of " + device_text(device.device, device.device_name), device.simulated);
    Table table({left("parameter"), left("value"), left("95 % interval", 2), right("reported", 1), left("verdict")});
    for (const Parameter& p : device.parameters)
      table.row({p.name, value_text(p), range_text(p.estimate, scale_of(p.estimate).factor), reference_text(p),
                 std::string(name(p.verdict)) + (p.note.empty() ? "" : " ?")});
    const std::string reporter = device.device.starts_with("host") ? "by the system"
                                 : device.simulated                ? "by its spec"
                                                                   : "by the driver";
    Document::Rows rows{std::move(table)};
    if (detail == Detail::full)
      for (const Parameter& p : device.parameters) {
        std::vector<Note>& below = rows.below.emplace_back();
        const auto add = [&](const std::string& said, const char* before) {
          if (!said.empty()) below.push_back({before + said, false, 6});
        };
        below.push_back({"= " + p.estimate.method, false, 6});
        add(p.meaning, "");
        add(p.reference_source,
            p.reference_source.starts_with("not reported") ? "" : ("reported " + reporter + ": ").c_str());
        add(p.note, "? ");
      }
    if (!device.parameters.empty()) doc.add(std::move(rows));
    const auto any = [&](auto&& has) { return std::ranges::any_of(device.parameters, has); };
    if (any([](const Parameter& p) { return std::isfinite(p.reference); })) doc.note("reported: " + reporter);
    if (detail == Detail::brief && any([](const Parameter& p) { return !p.note.empty(); }))
      doc.note("?: in doubt; npgpu derive explains why");
    doc.left_out();
    for (const std::string& why : device.missing) doc.note("missing: " + why);
  }
  return doc;
}

void parameters_text(std::ostream& out, const std::vector<DeviceParameters>& devices, Detail detail,
                     const TextStyle& style) {
  out << to_text(parameters_document(devices, detail), style);
}

// ---- papers' figures ----

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

template <auto At> inline constexpr auto of_figure = within<&PublishedRow::figure, At>;
template <auto At> inline constexpr auto of_source = of_figure<within<&PublishedFigure::source, At>>;
NPGPU_FORM(PublishedRow, of_figure<&PublishedFigure::parameter>, of_figure<&PublishedFigure::minus>,
           within<&T::ours, &Estimate::value>, within<&T::ours, &Estimate::low>, within<&T::ours, &Estimate::high>,
           within<&T::ours, &Estimate::unit>, &T::comparable, called<"published", of_figure<&PublishedFigure::value>>,
           called<"published_unit", of_figure<&PublishedFigure::unit>>,
           called<"ratio", within<&T::ratio, &Estimate::value>>, called<"ratio_low", within<&T::ratio, &Estimate::low>>,
           called<"ratio_high", within<&T::ratio, &Estimate::high>>, &T::standing,
           of_figure<&PublishedFigure::definition>, of_figure<&PublishedFigure::differs>,
           of_figure<&PublishedFigure::checked>, of_source<&PublishedSource::card>, of_source<&PublishedSource::arxiv>,
           of_source<&PublishedSource::title>);
NPGPU_FORM(PublishedTable, &T::device, &T::device_name, &T::simulated, &T::capability, &T::rows, &T::missing);

void published_json(std::ostream& out, const std::vector<PublishedTable>& tables) {
  write_document(out, "npgpu-published", 1, Listed<"devices", PublishedTable>{tables});
}

}  // namespace npgpu
