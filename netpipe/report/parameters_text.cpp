// Derived parameters, each with what the driver or the system reports.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "netpipe/report/format.hpp"
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

// A count as an engineer says it: 132 of 131.7, 4 of 3.976; what is no whole number keeps a digit.
std::string count_text(double value) {
  constexpr double whole = 0.02;
  const double next = std::round(value);
  return next > 0 && std::abs(value / next - 1) <= whole ? fmt::format("{:.0f}", next) : fmt::format("{:.1f}", value);
}

std::string reporter_of(const DeviceParameters& device) {
  return device.device.starts_with("host") ? "the system" : device.simulated ? "its spec" : "the driver";
}

// How a device is built, in a sentence: "132 multiprocessors of 4 x 32 lanes at 1980 MHz, FMA 4 cycles, 59 MiB of L2 in
// two parts, 4.6 TB/s of memory". Empty where the trace says nothing of it.
std::string build_text(const DeviceParameters& device) {
  const auto find = [&](std::string_view name) -> const Parameter* {
    const auto found = std::ranges::find(device.parameters, name, &Parameter::name);
    return found == device.parameters.end() || !std::isfinite(found->estimate.value) ? nullptr : &*found;
  };
  // What was reported stands beside what does not agree with it.
  const auto reported = [&](const Parameter& p) {
    if (p.verdict != Agreement::disagrees && p.verdict != Agreement::undecided) return std::string();
    if (!std::isfinite(p.reference)) return std::string(" (in doubt)");
    return fmt::format(" ({} reports {}{})", reporter_of(device), count_text(p.reference * scale_of(p.estimate).factor),
                       p.verdict == Agreement::undecided ? "; in doubt" : "");
  };
  // A count that agrees with what was reported is that.
  const auto counted = [](const Parameter& p) {
    const bool is_that = p.verdict == Agreement::agrees && p.reference == std::round(p.reference);
    return count_text(is_that ? p.reference : p.estimate.value);
  };
  std::vector<std::string> parts;
  std::string units;
  if (const Parameter* const sm = find("SM"))
    units = fmt::format("{} {}{}", counted(*sm),
                        device.device.starts_with("host")     ? "cores"
                        : device.device.starts_with("opencl") ? "compute units"
                                                              : "multiprocessors",
                        reported(*sm));
  const Parameter *const lanes = find("lanes"), *const ports = find("ports"), *const both = find("lanes*ports");
  if (lanes && ports) units += fmt::format(" of {} x {} lanes", counted(*ports), counted(*lanes));
  else if (both) units += fmt::format(" of {} lanes", count_text(both->estimate.value));
  if (const Parameter* const clock = find("clock"); clock && !units.empty())
    units += fmt::format(" at {:.0f} MHz", clock->estimate.value);
  if (!units.empty()) parts.push_back(units);
  if (const Parameter* const latency = find("FMA latency"))
    parts.push_back(fmt::format("FMA {} cycles", count_text(latency->estimate.value)));
  for (const char* level : {"L3", "L2"}) {
    const Parameter* const size = find(level + std::string(" size"));
    if (!size) continue;
    const bool is_split = find(level + std::string(" near latency")) && find(level + std::string(" far latency"));
    parts.push_back(fmt::format("{} of {}{}{}", about_size_text(size->estimate.value), level,
                                is_split ? " in two parts" : "", reported(*size)));
    break;
  }
  double rate = 0;
  for (const char* name : {"B read", "B write", "B copy", "B"})
    if (const Parameter* const p = find(name)) rate = std::max(rate, p->estimate.value);
  if (rate > 0)
    parts.push_back(rate < 1e12 ? fmt::format("{:.0f} GB/s of memory", rate * 1e-9)
                                : fmt::format("{:.1f} TB/s of memory", rate * 1e-12));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Names of Perez & Piccoli and of Gomez-Luna: what they mean is said once for each.
std::string_view paper_name(const Parameter& p) {
  const std::string_view first = std::string_view(p.name).substr(0, p.name.find(' '));
  static constexpr std::array known{"P", "SM",   "N_PPipe", "L_Pipe",  "Sigma", "w*",      "Cp_AA", "Cp_OA",
                                    "B", "B_AA", "B_OA",    "N_MINBl", "W_bus", "T_delay", "t_sc"};
  return std::ranges::find(known, first) == known.end() ? std::string_view() : first;
}

// A twin of a parameter that is told per cycle: the same by the clock of the wall.
bool is_twin(const Parameter& p) { return p.name.find(" by time") != std::string::npos; }

}  // namespace

Document parameters_document(const std::vector<DeviceParameters>& devices, Detail detail) {
  Document doc;
  for (const DeviceParameters& device : devices) {
    if (&device != &devices.front()) doc.gap();
    const std::string build = build_text(device), called = device_text(device.device, device.device_name);
    doc.title(build.empty() ? "derived parameters of " + called : called + ": " + build, device.simulated);
    Table table({left("parameter"), left("value"), left("95 % interval", 2), right("reported", 1), left("verdict")});
    Document::Rows rows{std::move(table)};
    std::vector<std::pair<std::string, std::string>> meanings;
    const std::string reporter = reporter_of(device);
    bool has_reference = false, has_doubt = false;
    for (const Parameter& p : device.parameters) {
      if (detail == Detail::brief && is_twin(p)) continue;
      rows.table.row(
          {p.name, value_text(p), range_text(p.estimate, scale_of(p.estimate).factor), reference_text(p),
           (p.verdict == Agreement::no_reference ? "-" : std::string(name(p.verdict))) + (p.note.empty() ? "" : " ?")});
      has_reference = has_reference || std::isfinite(p.reference);
      has_doubt = has_doubt || !p.note.empty();
      if (detail == Detail::brief) {
        const std::string paper(paper_name(p));
        if (!paper.empty() &&
            std::ranges::find(meanings, paper, &std::pair<std::string, std::string>::first) == meanings.end())
          meanings.emplace_back(paper, p.name + ": " + p.meaning);
        continue;
      }
      std::vector<Note>& below = rows.below.emplace_back();
      const auto add = [&](const std::string& said, const std::string& before) {
        if (!said.empty()) below.push_back({before + said, false, 6});
      };
      below.push_back({"= " + p.estimate.method, false, 6});
      add(p.meaning, "");
      add(p.reference_source, p.reference_source.starts_with("not reported") ? "" : "reported by " + reporter + ": ");
      add(p.note, "? ");
    }
    if (!device.parameters.empty()) doc.add(std::move(rows));
    for (const auto& [paper, meaning] : meanings) doc.note(meaning);
    if (has_reference) doc.note("reported: by " + reporter);
    if (detail == Detail::brief && has_doubt) doc.note("?: in doubt; npgpu derive TRACE --all explains why");
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
    for (std::size_t i = 0; i < sources.size(); ++i)
      doc.note(fmt::format("[{}] arXiv {}: {}", i + 1, sources[i].arxiv, sources[i].title));
    doc.note(
        "agrees: to 3 % or 2 cycles; interval: it lies within ours; definition: another thing was measured; card: a "
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
