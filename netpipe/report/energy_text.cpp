// Energy: a row a kind of work, at the rate and the clock at which it was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/report/series_text.hpp"
#include "npgpu/energy_figures.hpp"

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

std::string percent_text(const Estimate& e) {
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
             rests ? "-" : percent_text(f.each_j), digits_text(f.full.power_w.value, 4), percent_text(f.full.power_w),
             work_rate_text(f), per_watt_text(f),
             !(f.half_over_line > 0) ? "-" : fmt::format("{:+.1f}", 100 * (f.half_over_line - 1)),
             digits_text(f.full.clock_mhz, 4), digits_text(f.full.temperature_c, 2), f.full.causes ? "d" : ""});
}

}  // namespace

Table energy_table(const std::vector<EnergyFigure>& figures, const std::string& device) {
  Table table({left("work"), decimal("pJ each"), decimal("+-%"), decimal("W"), decimal("+-%", 1), right("rate"),
               decimal("G/s per W", 2), decimal("half %", 3), decimal("MHz", 2), decimal("°C"), left("")});
  for (const EnergyFigure& f : figures)
    if (f.question.device == device) add_row(table, f);
  return table;
}

namespace {

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
    Table table = energy_table(figures, device);
    std::set<std::string> disturbed;
    for (const EnergyFigure& f : figures)
      if (f.question.device == device && f.full.causes) disturbed.insert(f.full.disturbed);
    doc.table(std::move(table));
    doc.note(
        "pJ each: energy of one byte or operation over idle; W: of the whole device, idle included; G/s per W: "
        "GB/s or GFLOP/s for each watt; half %: how much more one costs where the device works half of the time");
    if (!disturbed.empty()) doc.note(fmt::format("d: disturbed: {}", fmt::join(disturbed, "; ")), true);
    for (const EnergyFigure& f : figures)
      if (f.question.device == device && f.is_clock_lowered())
        doc.note(work_text(f.question) +
                 ": the clock was lowered while it ran, so its energy is that of the clock in its row");
  }
  for (const EnergySeries& series : all)
    if (!series.error.empty()) doc.note(title(series.question) + ": " + series.error, true);
}

const Joined<KindReport> energies_report({Energies::name, energies_text, true});

}  // namespace

}  // namespace npgpu
