#include "netpipe/model/energy/over_idle.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/least_squares.hpp"

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
