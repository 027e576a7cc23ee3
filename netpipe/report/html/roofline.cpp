#include "npgpu/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
  const Roof* const memory = device.roof("memory");
  if (device.points.empty() || !memory) return {};
  Plot plot;
  plot.id = prefix + "roofline";
  plot.title = "Roofline of " + device.device;
  plot.description = "Operations a second over operations for each byte that is read, both axes logarithmic.";
  plot.x = {"FLOP/B", Unit::plain, true};
  plot.y = {"TFLOP/s", Unit::plain, true};
  std::vector<std::string> arithmetic, levels{memory->name};
  for (const RooflinePoint& p : device.points) {
    const std::string name = p.level == memory->name ? p.arithmetic : p.arithmetic + " " + p.level;
    auto known = std::ranges::find(plot.curves, name, &Curve::name);
    if (known == plot.curves.end()) known = plot.curves.insert(plot.curves.end(), {name, {}});
    for (const auto& [list, one] : {std::pair{&arithmetic, p.arithmetic}, {&levels, p.level}})
      if (std::ranges::find(*list, one) == list->end()) list->push_back(one);
    known->points.push_back(
        {p.intensity, p.rate.value / tera, p.rate.low / tera, p.rate.high / tera,
         p.verdict == RoofVerdict::below || p.verdict == RoofVerdict::undecided,
         fmt::format("{} FLOP/B, {}, {} % of {}", digits_text(p.intensity),
                     figure_text(p.rate.value, FigureUnit::flop_per_s), percent_text(100 * p.share.value), p.bound)});
  }
  double highest = 0;
  for (const std::string& name : arithmetic) {
    const Roof* const roof = device.roof(name);
    if (!roof) continue;
    plot.limits.push_back(
        {roof->rate.value / tera, fmt::format("{} {}", name, figure_text(roof->rate.value, FigureUnit::flop_per_s))});
    highest = std::max(highest, roof->rate.value);
    plot.description +=
        fmt::format(" {}: {}, ridge at {} FLOP/B.", name, figure_text(roof->rate.value, FigureUnit::flop_per_s),
                    digits_text(roof->rate.value / memory->rate.value, 3));
  }
  double nearest = INFINITY;
  for (const RooflinePoint& p : device.points) nearest = std::min(nearest, p.intensity);
  for (const std::string& level : levels)
    if (const Roof* const slope = device.roof(level); slope && highest / slope->rate.value > nearest)
      plot.curves.push_back({level, {sloping(nearest, *slope), sloping(highest / slope->rate.value, *slope)}});
  return figure_of(plot);
}

}  // namespace npgpu::html
