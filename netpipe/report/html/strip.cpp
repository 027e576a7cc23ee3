// Clock, power and temperature over the run: thousands of visits, drawn as the median and the range of a few hundred
// moments.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/engine/saturated.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/drawings.hpp"
#include "netpipe/report/html/plot.hpp"

namespace npgpu::html {

namespace {

constexpr std::size_t moments = 160;

struct Quantity {
  const char* id;
  const char* name;
  const char* unit;
  double TelemetryPoint::*value;
};
constexpr Quantity quantities[] = {{"clock", "SM clock", "MHz", &TelemetryPoint::sm_clock_mhz},
                                   {"power", "Power", "W", &TelemetryPoint::power_w},
                                   {"temperature", "Temperature", "C", &TelemetryPoint::temperature_c}};

Curve curve_of(const std::vector<TelemetryPoint>& all, const Quantity& quantity, bool timed) {
  struct Moment {
    std::vector<double> values;
    double x = 0;
    bool slowed = false;
  };
  std::vector<Moment> binned(moments);
  const double end = timed ? std::max(all.back().at_s, 1e-9) : static_cast<double>(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double v = all[i].*quantity.value, x = timed ? all[i].at_s : static_cast<double>(i);
    if (!std::isfinite(v)) continue;
    Moment& moment = binned[std::min(moments - 1, saturated<std::size_t>(x / end * moments))];
    moment.values.push_back(v);
    moment.x = x;
    moment.slowed |= all[i].slowing != 0;
  }
  Curve curve{quantity.name, {}};
  for (const Moment& m : binned) {
    if (m.values.empty()) continue;
    const auto [low, high] = std::ranges::minmax(m.values);
    curve.points.push_back({m.x, median(m.values), low, high, m.slowed, {}});
  }
  return curve;
}

}  // namespace

std::string strip_charts(const DeviceOverview& device, const std::string& prefix) {
  const auto& all = device.telemetry;
  if (all.size() < 2) return {};
  const bool timed = std::ranges::all_of(all, [](const TelemetryPoint& p) { return std::isfinite(p.at_s); });
  const std::size_t slowed = range_of(all).slowed;
  std::string figures;
  for (const Quantity& quantity : quantities) {
    Plot plot;
    plot.id = prefix + quantity.id;
    plot.title = fmt::format("{} of {} over the run", quantity.name, device.id);
    plot.x = timed ? Axis{"time since the run began", Unit::seconds} : Axis{"visit", Unit::count};
    plot.y = {quantity.unit, Unit::plain};
    plot.markers = false;
    plot.height = 170;
    Curve curve = curve_of(all, quantity, timed);
    if (curve.points.empty()) continue;
    double low = not_measured, high = not_measured;
    for (const PlotPoint& p : curve.points) {
      low = std::fmin(low, p.low);
      high = std::fmax(high, p.high);
    }
    plot.description = fmt::format(
        "{}{:.0f} {}, read after each of {} visits; in {} of them the device held its clocks back. Line: median; band: "
        "from least to most.",
        low < high ? fmt::format("{:.0f} to ", low) : "", high, quantity.unit, all.size(), slowed);
    plot.curves.push_back(std::move(curve));
    figures += figure_of(plot);
  }
  return figures;
}

}  // namespace npgpu::html
