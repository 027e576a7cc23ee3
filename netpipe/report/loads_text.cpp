// Loads: of energy a row a kind of work, at the rate and the clock at which it was measured; of a soak a row a load, at
// its begin and at its end.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu {

namespace {

std::string work_rate_text(const EnergyFigure& f) {
  if (is_idle(f.question.work)) return "-";
  return figure_text(f.full.rate.value, !counts_operations(f.question.work) ? FigureUnit::bytes_per_s
                                        : is_whole_number(f.question.type)  ? FigureUnit::operations_per_s
                                                                            : FigureUnit::flop_per_s);
}

// GFLOP/s or GB/s for each watt, idle included.
std::string per_watt_text(const EnergyFigure& f) {
  return is_idle(f.question.work) ? "-" : digits_text(1e-9 / f.all_in_j(), 3);
}

std::string error_percent_text(const Estimate& e) {
  const double half = half_width(e);
  return std::isfinite(half) ? fmt::format("{:.1f}", 100 * half) : "-";
}

void add_row(Table& table, const EnergyFigure& f) {
  if (!f.why.empty()) {
    table.row({"  " + work_text(f.question), "-", "-", "-", "-", "-", "-", "-", "-", "-", "!"});
    return;
  }
  const bool rests = is_idle(f.question.work);
  table.row({"  " + work_text(f.question), rests ? "-" : digits_text(f.each_pj().value, 3),
             rests ? "-" : error_percent_text(f.each_j), digits_text(f.full.power_w.value, 4),
             error_percent_text(f.full.power_w), work_rate_text(f), per_watt_text(f),
             !(f.half_over_line > 0) ? "-" : fmt::format("{:+.1f}", 100 * (f.half_over_line - 1)),
             digits_text(f.full.clock_mhz, 4), digits_text(f.full.temperature_c, 2),
             fmt::format("{}{}", f.is_at_power_limit() ? "p" : "", f.full.causes ? "d" : "")});
}

// A row for each kind of work of one device.
Table energy_table(const std::vector<EnergyFigure>& figures, const std::string& device) {
  Table table({left("work"), decimal("pJ each"), decimal("+-%"), decimal("W"), decimal("+-%", 1), right("rate"),
               decimal("G/s per W", 2), decimal("half load", 3), decimal("MHz", 2), decimal("°C"), left("")});
  for (const EnergyFigure& f : figures)
    if (f.question.device == device) add_row(table, f);
  return table;
}

// Energy of a byte and of an operation on a device, a bar for each kind of work.
std::string energy_bars(const std::vector<EnergyFigure>& figures, const std::string& device) {
  std::string tables;
  for (const bool operations : {false, true}) {
    std::vector<const EnergyFigure*> shown;
    double most = 0;
    for (const EnergyFigure& f : figures)
      if (f.question.device == device && counts_operations(f.question.work) == operations && f.each_j.value > 0) {
        shown.push_back(&f);
        most = std::max(most, f.each_j.value);
      }
    if (shown.empty()) continue;
    const std::string caption = fmt::format("pJ {} over idle", operations ? "an operation" : "a byte");
    std::string rows;
    for (const EnergyFigure* f : shown)
      rows += fmt::format(
          "<tr><th scope=\"row\">{}</th><td><span class=\"bar\" style=\"width:{:.2f}rem\"></span>{} ({})</td></tr>\n",
          html_text(work_text(f->question)), 14 * f->each_j.value / most, digits_text(f->each_pj().value, 3),
          html_text(interval_text(f->each_j)));
    tables +=
        html::scrolling(fmt::format("<table>\n<caption>{}</caption>\n<thead><tr><th scope=\"col\">work</th><th "
                                    "scope=\"col\">pJ each (95 %)</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
                                    caption, rows),
                        caption);
  }
  return tables;
}

void energies_text(Document& doc, const TraceResults& of) {
  const std::vector<EnergySeries>& all = of.trace.of<Energies>();
  const std::vector<EnergyFigure>& figures = of.energies;
  std::vector<std::string> devices;
  for (const EnergySeries& series : all) {
    const std::string& device = series.question.device;
    if (std::ranges::find(devices, device) != devices.end()) continue;
    devices.push_back(device);
    doc.gap();
    doc.title("energy " + device_text(device, series.device_name), series.simulated);
    doc.labelled("meter", series.meter + (series.counts_energy ? "" : "; there is no counter of energy"),
                 !series.counts_energy);
    if (std::isfinite(series.power_limit_w)) doc.labelled("power limit", digits_text(series.power_limit_w) + " W");
    doc.gap();
    doc.draw(energy_bars(figures, device), false);
    Table table = energy_table(figures, device);
    std::set<std::string> disturbed;
    for (const EnergyFigure& f : figures)
      if (f.question.device == device && f.full.causes) disturbed.insert(f.full.disturbed);
    doc.table(std::move(table));
    doc.note(
        "pJ each: energy of one byte or operation over idle; W: of the whole device, idle included; G/s per W: "
        "GB/s or GFLOP/s for each watt; half load: how many % more one costs where the device works half of the time");
    if (!disturbed.empty()) doc.note(fmt::format("d: disturbed: {}", fmt::join(disturbed, "; ")), true);
    for (const EnergyFigure& f : figures) {
      if (f.question.device != device) continue;
      if (f.is_at_power_limit())
        doc.note(fmt::format("p: {}: at {} of {} W, so the power limit may hold its rate back", work_text(f.question),
                             digits_text(f.full.power_w.value, 3), digits_text(f.power_limit_w, 3)));
      if (f.is_clock_lowered())
        doc.note(work_text(f.question) +
                 ": the clock was lowered while it ran, so its energy is that of the clock in its row");
    }
  }
  for (const EnergySeries& series : all)
    if (!series.error.empty()) doc.note(title(series.question) + ": " + series.error, true);
}

const Joined<KindReport> energies_report({Energies::name, energies_text, true});

// ---- soaks ----

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

// A column of all slices.
template <auto At>
inline constexpr auto column = [](const SoakFigure& f) {
  std::vector<double> all;
  for (const SoakSample& sample : f.samples) all.push_back(std::invoke(At, sample));
  return all;
};
struct SoakCourse : SoakFigure {};
NPGPU_FORM(SoakCourse, called<"elapsed_s", column<&SoakSample::elapsed_s>>,
           called<"rate_per_s", column<static_cast<double (*)(const SoakSample&)>(&rate_of)>>,
           called<"clock_mhz", column<&SoakSample::sm_clock_mhz>>,
           called<"temperature_c", column<&SoakSample::temperature_c>>,
           called<"power_w", column<&SoakSample::power_w>>);

NPGPU_FORM(
    SoakFigure, &T::name, &T::part, called<"together", &T::is_together>,
    called<"counts", [](const T& f) -> std::string { return counts_operations(f.part) ? "operations" : "bytes"; }>,
    &T::slices, called<"begin_per_s", &T::begin>, called<"end_per_s", &T::end>, called<"lowest_per_s", &T::lowest>,
    &T::change, &T::clock_mhz, &T::temperature_c, &T::power_w, &T::compared, &T::mismatches);
struct SlicedFigure : SoakFigure {};
NPGPU_FORM(SlicedFigure, in_place<base<SoakFigure>>, called<"course", [](const T& f) { return SoakCourse{f}; }>);

NPGPU_FORM(SoakDevice::Throttle, called<"reason", [](const T& t) { return throttle_text(t.reason); }>, &T::at_s,
           &T::last_s, &T::slices);
template <>
inline constexpr auto form<SoakSample> =  // of a word that was found wrong
    members<SoakSample, &SoakSample::address, &SoakSample::pattern, &SoakSample::expected, &SoakSample::found,
            called<"bits", [](const SoakSample& w) { return w.expected ^ w.found; }>, &SoakSample::again>;
NPGPU_DEFINE_FORM(SoakDevice, called<"device", &T::id>, called<"device_name", &T::name>, &T::simulated, &T::elapsed_s,
                  &T::slices, &T::temperature_c, called<"highest_temperature_c", &T::highest_c>, &T::loads,
                  &T::throttles, called<"wrong_words", &T::words>, &T::errors);
NPGPU_DEFINE_FORM(SlicedSoak, in_place<base<SoakDevice>>,
                  called<"loads", [](const T& soak) { return each_as<SlicedFigure>(soak.loads); }>);

}  // namespace npgpu
