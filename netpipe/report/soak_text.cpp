// A soak: a row a load, at its begin and at its end.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/series_text.hpp"
#include "npgpu/soak_figures.hpp"

namespace npgpu {

namespace {

std::string soak_rate_text(const SoakFigure& f, double rate) {
  if (!(rate > 0)) return "-";
  return figure_text(rate, counts_operations(f.part) ? FigureUnit::flop_per_s : FigureUnit::bytes_per_s);
}

std::string compared_text(double share) {
  if (!(share > 0)) return "-";
  return share > 0.9995 ? "100" : digits_text(100 * share, 2);
}

constexpr std::size_t most_words_shown = 8;

void add_wrong_words(Document& doc, const std::vector<SoakSample>& words) {
  for (std::size_t i = 0; i < std::min(words.size(), most_words_shown); ++i) {
    const SoakSample& w = words[i];
    doc.note(fmt::format("wrong word at {:#x} ({}): {:#018x}, not {:#018x}; bits {:#x}; {}", w.address, name(w.pattern),
                         w.found, w.expected, w.found ^ w.expected,
                         w.again == 1 ? "the same when read again" : "right when read again"),
             true);
  }
  if (words.size() > most_words_shown)
    doc.note(fmt::format("{} more wrong words are in the trace", words.size() - most_words_shown), true);
}

}  // namespace

Table soak_table(const SoakDevice& device) {
  const bool has_changes = std::ranges::any_of(
      device.loads, [](const SoakFigure& f) { return std::isfinite(f.change.low + f.change.high); });
  Table table({left("load"), right("begin"), right("end"), decimal("change %"), right("95 %", 0, has_changes),
               right("lowest", 3), decimal("MHz", 2), decimal("C max"), decimal("W", 1), right("compared %", 4),
               right("wrong"), right("slices", 5)});
  for (const SoakFigure& f : device.loads) {
    const bool has_course = f.rates.size() > 1;
    table.row({"  " + f.name(), soak_rate_text(f, f.begin.value), has_course ? soak_rate_text(f, f.end.value) : "-",
               has_course && std::isfinite(f.change.value) ? fmt::format("{:+.1f}", 100 * f.change.value) : "-",
               std::isfinite(f.change.low + f.change.high)
                   ? fmt::format("{:+.1f} .. {:+.1f}", 100 * f.change.low, 100 * f.change.high)
                   : "-",
               soak_rate_text(f, f.lowest), digits_text(f.clock_mhz, 4), digits_text(f.temperature_c, 3),
               digits_text(f.power_w, 4), compared_text(f.compared), std::to_string(f.mismatches),
               std::to_string(f.slices)});
  }
  return table;
}

namespace {

void soaks_text(Document& doc, const TraceResults& of) {
  for (const SoakDevice& device : of.soaks) {
    doc.gap();
    doc.title("soak " + device_text(device.id, device.name), device.simulated);
    doc.labelled("time", soak_time_text(device.elapsed_s));
    for (const SoakDevice::Throttle& one : device.throttles)
      doc.labelled("throttled",
                   fmt::format("{} after {}, in {} of {} slices", throttle_text(one.reason), soak_time_text(one.at_s),
                               one.slices, device.slices),
                   (one.reason & 0x4) == 0);
    doc.gap();
    doc.table(soak_table(device));
    add_wrong_words(doc, device.words);
    for (const std::string& error : device.errors) doc.note(error, true);
  }
  if (!of.soaks.empty())
    doc.note(
        "begin, end: medians of the first and the last third of a load's slices; 95 %: the interval of the change; "
        "compared: share of the work with "
        "compared results");
}

std::vector<Section> soak_sections(const TraceResults& of) {
  if (of.soaks.empty()) return {};
  return {{"SOAK", soak_table(of.soaks.front())}};
}

const Joined<KindReport> soaks_report({Soaks::name, soaks_text, true, soak_sections});

}  // namespace

}  // namespace npgpu
