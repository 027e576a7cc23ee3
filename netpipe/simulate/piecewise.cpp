// Seconds over a quantity, straight between measured points.
#include <algorithm>
#include <cmath>

#include "npgpu/error.hpp"
#include "npgpu/simulate.hpp"

namespace npgpu {

Curve::Curve(std::vector<Point> points) : points_(std::move(points)) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const double time = points_[i].time.count();
    if (!std::isfinite(points_[i].x) || !std::isfinite(time) || time < 0)
      throw Error(ErrorKind::usage, "a cost curve has a point that is negative or not a number");
    if (i > 0 && !(points_[i - 1].x < points_[i].x))
      throw Error(ErrorKind::usage, "a cost curve has points that do not ascend");
  }
}

Curve Curve::line(Seconds start, Seconds slope) {
  // Far out, so that the slope, which is read back as a difference, keeps its digits beside the start.
  constexpr double far = 0x1p40;
  return Curve({{0, start}, {far, start + slope * far}});
}

Seconds Curve::operator()(double x) const {
  if (points_.empty()) return Seconds{0};
  if (points_.size() == 1 || x <= points_.front().x) return points_.front().time;
  auto right = std::upper_bound(points_.begin(), points_.end(), x, [](double at, const Point& p) { return at < p.x; });
  if (right == points_.end()) --right;
  const Point &a = *(right - 1), &b = *right;
  // A falling end is not followed below zero.
  return std::max(Seconds{0}, a.time + (b.time - a.time) * ((x - a.x) / (b.x - a.x)));
}

}  // namespace npgpu
