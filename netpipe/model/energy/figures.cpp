#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "netpipe/model/energy/over_idle.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/energy_figures.hpp"

namespace npgpu {

namespace {

// No device takes nothing: a counter that stood still, or began anew, is none.
double watts(const EnergySample& s) {
  return s.window_us > 0 && s.energy_j > 0 ? s.energy_j / from_microseconds(s.window_us).count() : not_measured;
}
double rate(const EnergySample& s) {
  return s.window_us > 0 ? s.done / from_microseconds(s.window_us).count() : not_measured;
}

EnergyResult result_of_windows(const EnergySeries& series, const EnergyPoint& point) {
  EnergyResult r = model::checked_result_of(series, point, "the results of the work were wrong");
  if (r.is_wrong) return r;
  const Estimate power = median_over_visits(values_of(series, point, watts), "W");
  r.power_w = with_drift(power, series.drift.at(power.value));
  r.read_power_w = median_over_visits(values_of(series, point, [](const EnergySample& s) { return s.power_w; }), "W");
  r.rate = median_over_visits(values_of(series, point, rate), "1/s");
  const auto middle = [&](double EnergySample::*column) {
    const auto all = model::all_of(values_of(series, point, [column](const EnergySample& s) { return s.*column; }));
    return all.empty() ? not_measured : median(all);
  };
  r.clock_mhz = middle(&EnergySample::sm_clock_mhz);
  r.temperature_c = middle(&EnergySample::temperature_c);
  model::set_times(r, values_of(series, point, [](const EnergySample& s) { return s.window_us; }), series);
  r.unsteady = series.is_unsteady(r.power_w);
  if (!std::isfinite(r.power_w.value)) r.why = "no usable window";
  return r;
}

// All windows of a series that count, of points with so much of the time in work.
template <class Takes> std::vector<model::Window> windows_of(const EnergySeries& series, Takes takes) {
  std::vector<model::Window> all;
  for (const EnergyPoint& point : points_of(series)) {
    if (!takes(point.axes)) continue;
    for (const Visit<Energies>* visit : point.counted())
      for (const EnergySample& s : samples_of(series, *visit))
        if (s.intact != 0 && std::isfinite(watts(s)) && std::isfinite(rate(s)))
          all.push_back({rate(s), watts(s), s.temperature_c});
  }
  return all;
}

const EnergySeries* idle_of(const Trace& trace, const std::string& device) {
  for (const EnergySeries& series : trace.of<Energies>())
    if (series.question.device == device && series.question.work == EnergyWork::idle) return &series;
  return nullptr;
}

model::Windows windows_of(const EnergySeries& series, const EnergySeries* idle) {
  model::Windows of;
  if (idle) of.rest = windows_of(*idle, [](const EnergyLoad&) { return true; });
  of.part = windows_of(series, [](const EnergyLoad& l) { return l.duty_percent < 100; });
  of.full = windows_of(series, [](const EnergyLoad& l) { return l.duty_percent == 100; });
  return of;
}

// Runs of one H100 and of one H200, three each, differed by 0.8 % (standard deviation over nine works), of which the
// scatter within a run says 0.6 %.
constexpr double from_run_to_run = 0.005;
Estimate with_run_to_run(Estimate e, bool simulated) {
  if (simulated) return e;
  return with_drift(e, from_run_to_run);
}

// Works that take little more than rest, of one device: each of these figures anew.
void set_near_rest(const std::vector<EnergyFigure*>& figures, std::vector<model::Windows>& windows) {
  const std::vector<Estimate> each = model::over_idle_at_one_temperature(windows);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i]->half_over_line = model::part_over_full(windows[i]);
    figures[i]->each_j = with_run_to_run(each[i], figures[i]->simulated);
  }
}

}  // namespace

std::vector<EnergyResult> Energies::results(const EnergySeries& series) {
  return model::of_each_point(series, result_of_windows);
}

Estimate EnergyFigure::each_pj() const {
  constexpr double pico = 1e12;
  return {each_j.value * pico, each_j.low * pico, each_j.high * pico, "pJ", each_j.method};
}

std::vector<EnergyFigure> energy_figures(const Trace& trace) {
  std::vector<EnergyFigure> all;
  std::map<std::string, std::vector<std::pair<std::size_t, model::Windows>>> near_rest;  // by device: place in `all`
  for (const EnergySeries& series : trace.of<Energies>()) {
    EnergyFigure f;
    f.question = series.question;
    f.device_name = series.device_name;
    f.device_uuid = series.device_uuid;
    f.simulated = series.simulated;
    f.counts_energy = series.counts_energy;
    f.power_limit_w = series.power_limit_w;
    const bool rests = is_idle(series.question.work);
    for (const EnergyResult& r : results(series)) {
      if (r.axes.duty_percent != (rests ? 0u : 100u)) continue;
      f.full = r;
    }
    f.why = !series.error.empty() ? series.error : f.full.why;
    if (!rests && f.why.empty()) {
      const model::Windows windows = windows_of(series, idle_of(trace, series.question.device));
      f.half_over_line = model::part_over_full(windows);
      f.each_j = with_run_to_run(model::over_idle(windows, f.is_proportional()), f.simulated);
      if (model::is_near_rest(windows)) near_rest[f.question.device].emplace_back(all.size(), windows);
    }
    all.push_back(std::move(f));
  }
  for (auto& [device, works] : near_rest) {
    std::vector<EnergyFigure*> figures;
    std::vector<model::Windows> windows;
    for (auto& [place, of] : works) {
      figures.push_back(&all[place]);
      windows.push_back(std::move(of));
    }
    set_near_rest(figures, windows);
  }
  return all;
}

}  // namespace npgpu
