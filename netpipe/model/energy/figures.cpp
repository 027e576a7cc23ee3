#include "npgpu/model/figures.hpp"

#include "netpipe/model/energy/over_idle.hpp"
#include "netpipe/model/least_squares.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

constexpr double little = 0.2;  // of the power at rest

double mean_over(const std::vector<Window>& windows, double Window::*what) {
  double sum = 0;
  for (const Window& w : windows) sum += w.*what;
  return sum / static_cast<double>(windows.size());
}

// One window at full work says nothing of how the next one would differ, however alike those at rest are.
constexpr std::size_t least_full = 2;

Estimate estimate_of(double value, double error, double freedom, const Windows& of, const char* method) {
  if (of.full.size() < least_full) return {.value = value, .unit = "J", .method = method};
  const double wide = student_quantile(0.975, freedom) * error;
  return {value, value - wide, value + wide, "J", method};
}

// Rows of least squares: a constant, the temperature over its mean, and a column for each work.
struct Rows {
  std::size_t columns;
  LongNumbers a{}, watts{};

  void add(const Window& w, std::size_t work, double mean_celsius) {
    const std::size_t row = a.size();
    a.resize(row + columns);
    a[row] = 1;
    a[row + 1] = w.celsius - mean_celsius;
    if (work < columns - 2) a[row + 2 + work] = w.rate;
    watts.push_back(w.watts);
  }
};

template <class Visit> void each_window(std::vector<Windows>& works, Visit visit) {
  for (Window& w : works.front().rest) visit(w, works.size());
  for (std::size_t i = 0; i < works.size(); ++i)
    for (auto* windows : {&works[i].part, &works[i].full})
      for (Window& w : *windows) visit(w, i);
}

}  // namespace

double part_over_full(const Windows& of) {
  if (of.rest.empty() || of.part.empty() || of.full.empty()) return not_measured;
  const double at_rest = mean_over(of.rest, &Window::watts);
  const auto each = [&](const std::vector<Window>& windows) {
    return (mean_over(windows, &Window::watts) - at_rest) / mean_over(windows, &Window::rate);
  };
  return each(of.part) / each(of.full);
}

Estimate over_idle(const Windows& of, bool with_parts) {
  constexpr const char* method = "least squares of power over work a second";
  std::vector<Window> windows = of.rest;
  if (with_parts) windows.insert(windows.end(), of.part.begin(), of.part.end());
  windows.insert(windows.end(), of.full.begin(), of.full.end());
  Estimate none{.unit = "J", .method = method};
  const auto n = static_cast<double>(windows.size());
  if (windows.size() < 3) return none;
  const double mean_x = mean_over(windows, &Window::rate), mean_y = mean_over(windows, &Window::watts);
  double xx = 0, xy = 0, rest = 0;
  for (const Window& w : windows) {
    xx += (w.rate - mean_x) * (w.rate - mean_x);
    xy += (w.rate - mean_x) * (w.watts - mean_y);
  }
  if (!(xx > 0)) return none;
  const double slope = xy / xx;
  for (const Window& w : windows) {
    const double off = w.watts - mean_y - slope * (w.rate - mean_x);
    rest += off * off;
  }
  return estimate_of(slope, std::sqrt(rest / (n - 2) / xx), n - 2, of, method);
}

bool is_near_rest(const Windows& of) {
  if (of.rest.empty() || of.full.empty()) return false;
  return mean_over(of.full, &Window::watts) < (1 + little) * mean_over(of.rest, &Window::watts);
}

std::vector<Estimate> over_idle_at_one_temperature(std::vector<Windows>& works) {
  std::vector<Estimate> all;
  if (works.empty()) return all;
  double sum = 0, coldest = not_measured, hottest = not_measured;
  std::size_t count = 0;
  bool are_known = true;
  each_window(works, [&](const Window& w, std::size_t) {
    sum += w.celsius;
    ++count;
    are_known &= std::isfinite(w.celsius);
    coldest = std::fmin(coldest, w.celsius);
    hottest = std::fmax(hottest, w.celsius);
  });
  const double mean = sum / static_cast<double>(count);
  Rows rows{works.size() + 2};
  if (!are_known || coldest == hottest || count <= rows.columns) {
    for (const Windows& of : works) all.push_back(over_idle(of, true));
    return all;
  }
  each_window(works, [&](const Window& w, std::size_t work) { rows.add(w, work, mean); });
  const LongNumbers x = scaled_least_squares(rows.columns, rows.a, rows.watts);
  const LongNumbers errors = errors_of_least_squares(rows.columns, rows.a, rows.watts, x);
  for (std::size_t i = 0; i < works.size(); ++i)
    all.push_back(estimate_of(static_cast<double>(x[2 + i]), static_cast<double>(errors[2 + i]),
                              static_cast<double>(count - rows.columns), works[i],
                              "least squares of power over work a second and temperature"));
  const auto watts_a_kelvin = static_cast<double>(x[1]);
  for (Windows& of : works)
    for (auto* windows : {&of.rest, &of.part, &of.full})
      for (Window& w : *windows) w.watts -= watts_a_kelvin * (w.celsius - mean);
  return all;
}

}  // namespace npgpu::model

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
    for (const VisitInfo* visit : point.counted())
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
