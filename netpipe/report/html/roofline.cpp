#include "npgpu/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/format.hpp"
#include "netpipe/report/html/drawings.hpp"
#include "netpipe/report/html/plot.hpp"

namespace npgpu::html {

namespace {

constexpr double tera = 1e12;

PlotPoint sloping(double intensity, const Roof& memory) {
  const auto at = [&](double per_s) { return intensity * per_s / tera; };
  return {intensity,
          at(memory.rate.value),
          at(memory.rate.low),
          at(memory.rate.high),
          false,
          fmt::format("{}: {} at {} FLOP/B", memory.name, rate_text(memory.rate.value), digits_text(intensity))};
}

}  // namespace

std::string roofline_chart(const Roofline& device, const std::string& prefix) {
  if (!device.roof("memory") || device.ridges.empty()) return {};
  Plot plot;
  plot.id = prefix + "roofline";
  plot.title = "Roofline of " + device.device;
  plot.description = "Operations a second over operations for each byte that is read, both axes logarithmic.";
  plot.x = {"FLOP/B", Unit::plain, true};
  plot.y = {"TFLOP/s", Unit::plain, true};
  double highest = 0, nearest = INFINITY;
  for (const Ridge& ridge : device.ridges) nearest = std::min(nearest, ridge.intensity.value / 4);
  for (const Roof& roof : device.roofs) {
    if (roof.is_memory) continue;
    const std::string rate = figure_text(roof.rate.value, FigureUnit::flop_per_s);
    plot.limits.push_back({roof.rate.value / tera, fmt::format("{} {}", roof.name, rate)});
    highest = std::max(highest, roof.rate.value);
    plot.description += fmt::format(" {}: {}, ridge at {} FLOP/B.", roof.name, rate,
                                    digits_text(roof.rate.value / device.roof("memory")->rate.value, 3));
  }
  for (const Roof& roof : device.roofs)
    if (roof.is_memory)
      plot.curves.push_back({roof.name, {sloping(nearest, roof), sloping(highest / roof.rate.value, roof)}});
  return figure_of(plot);
}

}  // namespace npgpu::html
