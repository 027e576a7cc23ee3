// A series in few numbers.
//
// The line time = t0 + bytes/rate is fitted by least squares on relative residuals: each point counts by the
// percentage it is missed by, so that microseconds of small copies weigh as much as milliseconds of large ones.
//
// Its intervals come from leaving out one octave of sizes at a time (delete-a-group jackknife, Student's t with
// groups - 1 degrees of freedom). The residuals are no independent noise: neighbouring sizes miss the line
// together, and c-p, c, c+p are almost one point. The covariance of the fit would take them for independent and
// promise too much; an octave left out takes its neighbours along. It is exact arithmetic, with no random numbers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/least_squares.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/model/statistics.hpp"

namespace npgpu {

namespace {

constexpr double a_fall = 0.05;         // from the best rate to that of the largest size; less is noise
constexpr double bend_of_a_knee = 0.1;  // of the curve's height: less above the chord is a straight line's noise

struct CurvePoint {
  std::uint64_t bytes;  // the size asked for
  double moved_bytes;   // by one operation: twice the size where both lanes are summed
  double us;
  double rate;
  int octave() const { return static_cast<int>(std::bit_width(bytes)); }
};
using Points = std::vector<CurvePoint>;

Points measured(std::span<const TransferResult> points) {
  Points curve;
  for (const TransferResult& p : points)
    if (p.axes.bytes > 0 && p.time_us.value > 0 && p.rate.value > 0)
      curve.push_back({p.axes.bytes, p.rate.value * p.time_us.value * 1e-6, p.time_us.value, p.rate.value});
  sort_stably(curve, {}, [](const auto& one) { return one.bytes; });
  return curve;
}

std::size_t distinct_sizes(const Points& curve) {
  std::set<std::uint64_t> sizes;
  for (const CurvePoint& m : curve) sizes.insert(m.bytes);
  return sizes.size();
}

// ---- the line --------------------------------------------------------------------------------------------------

enum class Model { line, through_zero, flat };

struct Line {
  double t0_us = 0;
  double us_per_byte = 0;
  double at(double bytes) const { return t0_us + bytes * us_per_byte; }
};

Line fit_line(const Points& curve, Model shape) {
  LongNumbers a;  // rows of two, divided by the measured time, so that a perfect line gives all ones
  double sums[2] = {}, squares[2] = {};
  for (const CurvePoint& m : curve)
    for (const int column : {0, 1}) {
      const double one = (column == 0 ? 1 : m.moved_bytes) / m.us;
      a.push_back(one);
      sums[column] += one;
      squares[column] += one * one;
    }
  switch (shape) {
    case Model::through_zero: return {0, sums[1] / squares[1]};
    case Model::flat: return {sums[0] / squares[0], 0};
    case Model::line: break;
  }
  const LongNumbers x = scaled_least_squares(2, a, LongNumbers(curve.size(), 1));  // microseconds beside megabytes
  return {static_cast<double>(x[0]), static_cast<double>(x[1])};
}

// Half the widths of the intervals of a line's numbers.
std::optional<Line> jackknife(const Points& curve, Model shape) {
  std::set<int> octaves;
  for (const CurvePoint& m : curve) octaves.insert(m.octave());
  if (octaves.size() < 3) return std::nullopt;
  std::vector<Line> without;
  for (const int octave : octaves) {
    Points rest;
    std::copy_if(curve.begin(), curve.end(), std::back_inserter(rest),
                 [&](const CurvePoint& m) { return m.octave() != octave; });
    without.push_back(fit_line(rest, shape));
  }
  const auto groups = static_cast<double>(without.size());
  const double t = student_quantile(0.975, groups - 1);
  const auto half_width = [&](double Line::*number) {
    double mean = 0;
    for (const Line& line : without) mean += line.*number / groups;
    double squares = 0;
    for (const Line& line : without) squares += (line.*number - mean) * (line.*number - mean);
    return t * std::sqrt((groups - 1) / groups * squares);
  };
  return Line{half_width(&Line::t0_us), half_width(&Line::us_per_byte)};
}

void fit_into(CurveFit& fit, const Points& curve) {
  fit.latency_us.unit = "us";
  fit.rate.unit = "bytes per second";
  const auto none = [](Estimate& e, std::string why) {
    e = {not_measured, not_measured, not_measured, e.unit, std::move(why)};
  };
  const std::size_t sizes = distinct_sizes(curve);
  if (sizes < 2) {
    for (Estimate* e : {&fit.latency_us, &fit.rate})
      none(*e, sizes == 0 ? "nothing measured" : "one size was measured: latency and rate need two");
    return;
  }

  Model shape = Model::line;
  Line line = fit_line(curve, shape);
  const double rounding = 1e-9;  // of a time: what solving the equations may leave of a zero
  if (line.us_per_byte * curve.back().moved_bytes <= rounding * curve.back().us) {
    shape = Model::flat;
    line = fit_line(curve, shape);
    none(fit.rate, "the time does not grow with the size");
  } else if (line.t0_us < -rounding * curve.front().us) {
    none(fit.latency_us,
         fmt::format("the fitted line meets zero bytes at {:.3g} us: these sizes carry no latency; the line was "
                     "put through zero instead",
                     line.t0_us));
    shape = Model::through_zero;
    line = fit_line(curve, shape);
  }
  line.t0_us = std::max(0.0, line.t0_us);

  const auto spread = jackknife(curve, shape);
  const std::string method = std::string("least squares on relative residuals of time = ") +
                             (shape == Model::line           ? "t0 + bytes/rate"
                              : shape == Model::through_zero ? "bytes/rate"
                                                             : "t0") +
                             (spread ? "; 95 % interval by leaving out one octave at a time"
                                     : "; no interval: sizes of three octaves are needed");
  if (shape != Model::through_zero) {
    fit.latency_us.value = line.t0_us;
    fit.latency_us.method = method;
    if (spread) {
      fit.latency_us.low = std::max(0.0, line.t0_us - spread->t0_us);  // no latency is below zero
      fit.latency_us.high = line.t0_us + spread->t0_us;
    }
  }
  if (shape != Model::flat) {
    if (spread && spread->us_per_byte >= line.us_per_byte) {
      none(fit.rate, "not resolved: leaving out an octave changes the slope by as much as itself");
    } else {
      fit.rate.value = 1e6 / line.us_per_byte;
      fit.rate.method = method;
      if (spread) {
        fit.rate.low = 1e6 / (line.us_per_byte + spread->us_per_byte);
        fit.rate.high = 1e6 / (line.us_per_byte - spread->us_per_byte);
      }
    }
  }
  // Two sizes are always met exactly: that says nothing.
  if (sizes > 2) {
    fit.worst_residual = 0;
    for (const CurvePoint& m : curve)
      fit.worst_residual = std::max(fit.worst_residual, std::abs(line.at(m.moved_bytes) / m.us - 1));
  }

  // NetPIPE's latency is a mean of whatever the ten smallest sizes are. Where they lie past the size at which the
  // line's two terms are equal, most of their time is transfer: then those count that are below half of the best rate.
  auto count = std::min<std::size_t>(10, curve.size());
  if (const CurvePoint& tenth = curve[count - 1]; tenth.moved_bytes * line.us_per_byte > line.t0_us) {
    std::size_t small = 0;
    while (small < count && curve[small].rate < fit.best_rate / 2) ++small;
    fit.notes.push_back(
        small ? fmt::format("latency of the {} smallest sizes: at {} bytes most of the time is transfer", small,
                            curve[small < count ? small : small - 1].bytes)
              : fmt::format("no latency of the smallest sizes: at {} bytes most of the time is transfer", tenth.bytes));
    count = small;
  }
  if (count == 0) return;
  fit.small_us = 0;
  for (std::size_t i = 0; i < count; ++i) fit.small_us += curve[i].us / static_cast<double>(count);
}

// ---- the shape -------------------------------------------------------------------------------------------------

void best_into(CurveFit& fit, const Points& curve) {
  const auto best =
      std::max_element(curve.begin(), curve.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
  if (best == curve.end()) return;
  fit.best_rate = best->rate;
  fit.best_bytes = best->bytes;
  fit.falls_by = 1 - curve.back().rate / best->rate;
  if (fit.falls_by > a_fall)
    fit.notes.push_back(fmt::format("the rate falls beyond {} bytes: at {} it is {:.0f} % lower", best->bytes,
                                    curve.back().bytes, 100 * fit.falls_by));
}

// Interpolated in log2(bytes): a curve r*n/(n + n_1/2) is nearly straight there around its n_1/2.
void half_into(CurveFit& fit, const Points& curve) {
  if (distinct_sizes(curve) < 3) {
    fit.notes.push_back("no n_1/2: it takes three sizes");
    return;
  }
  const double half = fit.best_rate / 2;
  const auto reached = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& m) { return m.rate >= half; });
  if (reached == curve.end()) return;
  if (reached == curve.begin()) {
    fit.notes.push_back("no n_1/2: the smallest size already reaches half of the best rate");
    return;
  }
  const CurvePoint& below = *(reached - 1);
  const double part = (half - below.rate) / (reached->rate - below.rate);
  const double x0 = std::log2(static_cast<double>(below.bytes));
  const double x1 = std::log2(static_cast<double>(reached->bytes));
  fit.half_bytes = std::exp2(x0 + part * (x1 - x0));
}

// Kneedle (Satopaa et al. 2011) without its smoothing: log2(size) and rate, each scaled to 0..1 between the
// smallest and the largest size, and the point that stands farthest above the diagonal.
void knee_into(CurveFit& fit, const Points& curve) {
  const auto none = [&](const char* why) { fit.notes.push_back(std::string("no knee: ") + why); };
  if (distinct_sizes(curve) < 3) return none("it takes three sizes");
  const double rise = curve.back().rate - curve.front().rate;
  if (!(rise > 0)) return none("the rate does not rise with the size");
  const auto x_of = [](const CurvePoint& m) { return std::log2(static_cast<double>(m.bytes)); };
  const double span = x_of(curve.back()) - x_of(curve.front());
  const auto above = [&](const CurvePoint& m) {
    return (m.rate - curve.front().rate) / rise - (x_of(m) - x_of(curve.front())) / span;
  };
  const auto farthest =
      std::max_element(curve.begin(), curve.end(), [&](const auto& a, const auto& b) { return above(a) < above(b); });
  if (above(*farthest) < bend_of_a_knee) return none("the rate does not level off at these sizes");
  fit.knee_bytes = static_cast<double>(farthest->bytes);
}

}  // namespace

CurveFit fit_curve(std::span<const TransferResult> one_lane) {
  const Points curve = measured(one_lane);
  CurveFit fit;
  best_into(fit, curve);
  fit_into(fit, curve);
  half_into(fit, curve);
  knee_into(fit, curve);
  return fit;
}

}  // namespace npgpu
