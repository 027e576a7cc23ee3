#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "npgpu/error.hpp"
#include "npgpu/predict.hpp"

namespace npgpu {

namespace {

constexpr int draws = 40;
constexpr double quantile_95 = 1.96;

Curve scaled(const Curve& curve, double factor) {
  std::vector<Curve::Point> points(curve.points().begin(), curve.points().end());
  for (Curve::Point& p : points) p.time *= factor;
  return Curve(std::move(points));
}

// Costs within their intervals. The generator is the standard's, its distribution is not: the same everywhere.
class CostSampler {
 public:
  explicit CostSampler(const MeasuredCosts& measured) : measured_(measured) {}

  StreamCosts next() {
    StreamCosts c = measured_.costs;
    for (const Parameter& p : measured_.parameters) {
      const Estimate& e = p.estimate;
      const double sigma = (e.high - e.low) / (2 * quantile_95);
      if (!std::isfinite(sigma) || !(e.value > 0)) continue;
      const double factor = std::max(0.05, 1 + sigma / e.value * normal());
      if (p.name == "rate h2d") c.copy_h2d = scaled(c.copy_h2d, 1 / factor);
      if (p.name == "rate d2h") c.copy_d2h = scaled(c.copy_d2h, 1 / factor);
      if (p.name == "issue h2d") c.issue.h2d *= factor, c.issue_h2d = scaled(c.issue_h2d, factor);
      if (p.name == "issue kernel") c.issue.kernel *= factor, c.issue_kernel = scaled(c.issue_kernel, factor);
      if (p.name == "issue d2h") c.issue.d2h *= factor, c.issue_d2h = scaled(c.issue_d2h, factor);
      if (p.name == "gap h2d") c.gap.h2d *= factor;
      if (p.name == "gap kernel") c.gap.kernel *= factor;
      if (p.name == "gap d2h") c.gap.d2h *= factor;
      if (p.name == "latency h2d") c.latency.h2d *= factor;
      if (p.name == "latency d2h") c.latency.d2h *= factor;
      if (p.name == "gap both") c.duplex_extra_gap *= factor;
      if (p.name == "submit") c.submit *= factor;
      if (p.name == "slow h2d") c.duplex_slowdown_h2d = std::max(1.0, c.duplex_slowdown_h2d * factor);
      if (p.name == "slow d2h") c.duplex_slowdown_d2h = std::max(1.0, c.duplex_slowdown_d2h * factor);
    }
    return c;
  }

 private:
  double normal() {
    constexpr double two_pi = 6.283185307179586;
    const auto uniform = [&] { return (static_cast<double>(random_() >> 11) + 1) * 0x1p-53; };
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(two_pi * uniform());
  }
  const MeasuredCosts& measured_;
  std::mt19937_64 random_{20'000'927};
};

template <class T>
std::pair<T, T> middle_95(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 40;
  return {values[cut], values[values.size() - 1 - cut]};
}

Estimate with_interval(double us, const std::vector<double>& drawn) {
  const auto [low, high] = middle_95(drawn);
  return {us, std::min(low, us), std::max(high, us), "us", "discrete-event simulation; interval from the costs'"};
}

}  // namespace

Forecast forecast(const Job& job, const MeasuredCosts& measured, Order order,
                  std::span<const std::uint32_t> candidates) {
  if (!measured.usable)
    throw Error(
        ErrorKind::usage,
        measured.device + ": " + (measured.missing.empty() ? "its costs were not measured" : measured.missing.front()));
  if (!job.in_bytes && !job.out_bytes && job.kernel.count() == 0)
    throw Error(ErrorKind::usage, "a job without bytes and without a kernel has nothing to do");
  Forecast f;
  f.prediction = choose_streams(job, measured.costs, order, candidates);
  const auto& all = f.prediction.candidates;
  std::vector<std::uint32_t> counts;
  for (const StreamTime& one : all) counts.push_back(one.streams);
  std::vector<std::vector<double>> times(all.size());
  std::vector<std::uint32_t> best;
  CostSampler drawn(measured);
  for (int i = 0; i < draws; ++i) {
    const Prediction p = choose_streams(job, drawn.next(), order, counts);
    best.push_back(p.streams);
    for (std::size_t k = 0; k < times.size(); ++k) times[k].push_back(microseconds(p.candidates[k].run.total));
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    f.candidates_us.push_back(with_interval(microseconds(all[k].run.total), times[k]));
    if (all[k].streams == f.prediction.streams) f.time_us = f.candidates_us.back();
  }
  const auto [fewest, most] = middle_95(best);
  f.fewest = std::min(fewest, f.prediction.streams);
  f.most = std::max(most, f.prediction.streams);
  return f;
}

}  // namespace npgpu
