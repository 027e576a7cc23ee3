// A figure as inline SVG: curves with intervals over a size, a count or a time. Without scripts, fonts or links.
#pragma once

#include <string>
#include <vector>

#include "npgpu/units.hpp"

namespace npgpu::html {

struct PlotPoint {
  double x = 0, y = not_measured;
  double low = not_measured, high = not_measured;  // of y
  bool doubtful = false;                           // unsteady, or disturbed: drawn hollow
  std::string text{};                              // said when the pointer rests on it
};
struct Curve {
  std::string name{};
  std::vector<PlotPoint> points{};
};
// A value that curves are compared with.
struct Line {
  double at = 0;
  std::string name{};
};

enum class Unit { bytes, count, seconds, plain };  // how ticks are written

struct Axis {
  std::string name{};
  Unit unit = Unit::plain;
  bool logarithmic = false;
  bool from_zero = false;
};

struct Plot {
  std::string id{};  // unique on the page
  std::string title{}, description{};
  Axis x{}, y{};
  std::vector<Curve> curves{};
  std::vector<Line> limits{};     // horizontal
  std::vector<Line> positions{};  // vertical
  bool markers = true;
  double height = 270;  // of 480 wide
};

// A figure element: the drawing, with title and description for those who do not see it, and its legend. Empty where no
// curve has two points.
std::string figure_of(const Plot&);

}  // namespace npgpu::html
