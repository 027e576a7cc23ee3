// What a page is drawn with: its style, figures as inline SVG, and the charts of devices and nodes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/report/document.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/judge/matrix.hpp"
#include "npgpu/judge/overview.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/record.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::html {

// Light and dark, wide and narrow, screen and paper.
std::string_view style_sheet();

// A table may be wider than a phone: it scrolls by itself, with the keyboard too, and the page does not.
std::string scrolling(const std::string& table, const std::string& label);
// The style sheet's name of it.
const char* class_of(Health);

// A figure as inline SVG: curves with intervals over a size, a count or a time. Without scripts, fonts or links.

struct PlotPoint {
  double x = 0, y = not_measured;
  double low = not_measured, high = not_measured;  // of y
  bool doubtful = false;                           // unsteady, or disturbed: drawn hollow
  std::string text{};                              // said when the pointer rests on it
};
struct Curve {
  std::string name{};
  std::vector<PlotPoint> points{};
  std::optional<std::size_t> style{};  // of the style sheet's eight; else its place among the curves
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
  bool lines = true;    // between the points; else the points stand alone
  double height = 270;  // of 480 wide
};

// A figure element: the drawing, with title and description for those who do not see it, and its legend. Empty where no
// curve has two points.
std::string figure_of(const Plot&);

// What is drawn on a page: figures with a title and a description for those who do not see them. Empty where there is
// nothing to draw.

// The node: its host, its GPUs, what joins them, and the rates on it.
std::string node_picture(const Overview&, const NodeMatrix&, const MatrixVerdict&);
// A node's matrix as tables whose cells are as dark as their values are far from 0, what many copies at once had, and
// notes. Each cell has its number, so that nothing is said by colour alone.
Document matrix_tables(const NodeMatrix&, const MatrixVerdict&);
// A drawing and a table for each GPU, among those of its model that others shared.
Document among_part(std::span<const AmongOthers>);

// Bus bandwidth of each operation over its size, and the limits.
std::string collective_chart(const CollectiveStudy&, const std::string& id);

// Charts of one device. `prefix` begins their ids, and is unique for each.
std::string copy_charts(const DeviceOverview&, const std::string& prefix);
// Latency over the working set, with the sizes of caches that follow from it.
std::string ladder_chart(const Trace&, const DeviceOverview&, const std::string& prefix);
std::string stream_chart(const DeviceOverview&, const std::string& prefix);
// Roofs, and the points between them; a hollow one is below its roof. Empty where there is none.
std::string roofline_chart(const Roofline&, const std::string& prefix);
// Clock, power and temperature over the run.
std::string strip_charts(const DeviceOverview&, const std::string& prefix);
// The four corners of each probe, and what part of its limit it reaches.
std::string corner_table(const Trace&, const DeviceOverview&);

// The step of a recorded application as it is, and with the best advice.
std::string timeline_figure(const AppForecast&);

}  // namespace npgpu::html
