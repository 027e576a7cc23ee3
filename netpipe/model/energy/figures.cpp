#include <algorithm>
#include <cmath>

#include "netpipe/model/medians.hpp"
#include "npgpu/energy_figures.hpp"

namespace npgpu {

namespace {

double watts(const EnergySample& s) {
  return s.window_us > 0 ? s.energy_j / from_microseconds(s.window_us).count() : not_measured;
}
double rate(const EnergySample& s) {
  return s.window_us > 0 ? s.done / from_microseconds(s.window_us).count() : not_measured;
}

EnergyResult result_of_windows(const EnergySeries& series, const EnergyPoint& point) {
  EnergyResult r = model::result_of(point);
  r.trials = trials_of(series, point);
  if (any_sample(series, point, [](const EnergySample& one) { return one.intact == 0; })) {
    model::set_wrong(r, "the results of the work were wrong");
    return r;
  }
  r.power_w = median_over_visits(values_of(series, point, watts), "W");
  r.read_power_w = median_over_visits(values_of(series, point, [](const EnergySample& s) { return s.power_w; }), "W");
  r.rate = median_over_visits(values_of(series, point, rate), "1/s");
  const auto mean = [&](double EnergySample::*column) {
    const auto all = model::all_of(values_of(series, point, [column](const EnergySample& s) { return s.*column; }));
    return all.empty() ? not_measured : model::mean_of(all);
  };
  r.clock_mhz = mean(&EnergySample::sm_clock_mhz);
  r.temperature_c = mean(&EnergySample::temperature_c);
  model::set_times(r, values_of(series, point, [](const EnergySample& s) { return s.window_us; }), series);
  r.unsteady = series.is_unsteady(r.power_w);
  if (!std::isfinite(r.power_w.value)) r.why = "no usable window";
  return r;
}

struct Window {
  double rate = 0, watts = 0;
};

// All windows of a series that count, of points with so much of the time in work.
template <class Takes> std::vector<Window> windows_of(const EnergySeries& series, Takes takes) {
  std::vector<Window> all;
  for (const EnergyPoint& point : points_of(series)) {
    if (!takes(point.axes)) continue;
    for (const Visit<Energies>* visit : point.counted())
      for (const EnergySample& s : samples_of(series, *visit))
        if (s.intact != 0 && std::isfinite(watts(s)) && std::isfinite(rate(s))) all.push_back({rate(s), watts(s)});
  }
  return all;
}

Estimate over_idle(const std::vector<Window>& windows) {
  Estimate e{.unit = "J", .method = "least squares of power over work a second"};
  const auto n = static_cast<double>(windows.size());
  if (windows.size() < 3) return e;
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
  for (const Window& w : windows) mean_x += w.rate / n, mean_y += w.watts / n;
  for (const Window& w : windows) {
    xx += (w.rate - mean_x) * (w.rate - mean_x);
    xy += (w.rate - mean_x) * (w.watts - mean_y);
  }
  if (!(xx > 0)) return e;
  e.value = xy / xx;
  for (const Window& w : windows) {
    const double off = w.watts - mean_y - e.value * (w.rate - mean_x);
    rest += off * off;
  }
  const double error = std::sqrt(rest / (n - 2) / xx), wide = student_quantile(0.975, n - 2) * error;
  e.low = e.value - wide;
  e.high = e.value + wide;
  return e;
}

double mean_of(const std::vector<Window>& windows, double Window::*what) {
  double sum = 0;
  for (const Window& w : windows) sum += w.*what;
  return sum / static_cast<double>(windows.size());
}

const EnergySeries* idle_of(const Trace& trace, const std::string& device) {
  for (const EnergySeries& series : trace.of<Energies>())
    if (series.question.device == device && series.question.work == EnergyWork::idle) return &series;
  return nullptr;
}

// What the windows in which the work ran for a part of the time took over idle, over what the line through idle and
// full windows gives for as much work.
double half_over_line(const std::vector<Window>& idle, const std::vector<Window>& half,
                      const std::vector<Window>& full) {
  if (idle.empty() || half.empty() || full.empty()) return not_measured;
  const double at_rest = mean_of(idle, &Window::watts);
  const auto each = [&](const std::vector<Window>& windows) {
    return (mean_of(windows, &Window::watts) - at_rest) / mean_of(windows, &Window::rate);
  };
  return each(half) / each(full);
}

}  // namespace

template <> std::vector<EnergyResult> results(const EnergySeries& series) {
  return model::of_each_point(series, result_of_windows);
}

Estimate EnergyFigure::each_pj() const {
  constexpr double pico = 1e12;
  return {each_j.value * pico, each_j.low * pico, each_j.high * pico, "pJ", each_j.method};
}

std::vector<EnergyFigure> energy_figures(const Trace& trace) {
  std::vector<EnergyFigure> all;
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
    const EnergySeries* const idle = idle_of(trace, series.question.device);
    if (!rests && f.why.empty()) {
      std::vector<Window> at_rest;
      if (idle) at_rest = windows_of(*idle, [](const EnergyLoad&) { return true; });
      const auto half = windows_of(series, [](const EnergyLoad& l) { return l.duty_percent < 100; });
      const auto full = windows_of(series, [](const EnergyLoad& l) { return l.duty_percent == 100; });
      f.half_over_line = half_over_line(at_rest, half, full);
      std::vector<Window> windows = at_rest;
      if (f.is_proportional()) windows.insert(windows.end(), half.begin(), half.end());
      windows.insert(windows.end(), full.begin(), full.end());
      f.each_j = over_idle(windows);
    }
    all.push_back(std::move(f));
  }
  return all;
}

}  // namespace npgpu
