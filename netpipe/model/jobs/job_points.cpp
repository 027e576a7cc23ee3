#include "netpipe/model/jobs/job_points.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

constexpr int draws = 1000;
constexpr std::size_t min_values = 6;  // as many as an interval from order statistics takes

void say_too_few(Estimate& e, std::size_t values) {
  e.method += "; no interval, " + std::to_string(values) + (values == 1 ? " value is" : " values are") + " too few";
}

// Sorted values, by linear interpolation between them.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<JobPoints::Deciles> deciles_of_calls(const JobSeries& series) {
  constexpr std::uint32_t several_chunks = 4;
  constexpr std::size_t enough_trials = 10;
  std::vector<JobPoints::Deciles> all;
  if (series.question.gating != Gating::open) return all;
  for (const JobPoint& point : points_of(series)) {
    if (point.axes.chunks < several_chunks || point.disturbed()) continue;
    std::vector<double> us = all_of(values_of(series, point, [](const JobSample& s) { return s.issue_us; }));
    std::erase_if(us, [](double t) { return !(t > 0); });
    if (us.size() < enough_trials) continue;
    std::ranges::sort(us);
    JobPoints::Deciles& deciles = all.emplace_back();
    const double usual = median(us);
    for (std::size_t i = 0; i < deciles.size(); ++i) deciles[i] = quantile(us, 0.1 * double(i + 1)) / usual;
  }
  return all;
}

}  // namespace

void JobPoints::add(const JobSeries& series) {
  if (series.question.issue == Issuing::graph) return;  // one call: it shows no call's, copy's or kernel's time
  for (JobResult& one : results(series))
    if (std::isfinite(one.time_us.value)) all_.push_back({series.question, std::move(one)});
  std::ranges::copy(deciles_of_calls(series), std::back_inserter(calls_over_usual_));
}

std::vector<JobResult> JobPoints::find(const Wanted& wanted, bool last_stream_free) const {
  std::vector<JobResult> found;
  for (const Entry& entry : all_)
    if ((entry.question.gating == Gating::last_stream_free) == last_stream_free &&
        wanted(entry.question, entry.summary.axes))
      found.push_back(entry.summary);
  return found;
}

std::vector<XY> JobPoints::over_chunks(const Wanted& wanted, double JobResult::*y) const {
  std::vector<XY> found;
  for (const JobResult& s : find(wanted)) found.push_back({double(s.axes.chunks), y ? s.*y : s.time_us.value});
  return found;
}

std::optional<Estimate> JobPoints::time(Workload workload, Order order, bool gated, const JobShape& job) const {
  const Gating wanted = gated ? Gating::gated : Gating::open;
  const auto found = find([&](const JobCase& c, const JobShape& j) {
    return c.workload == workload && c.order == order && c.gating == wanted && c.pool == StreamPool::pooled && j == job;
  });
  if (found.empty()) return std::nullopt;
  std::vector<Estimate> times;
  for (const JobResult& one : found) times.push_back(one.time_us);
  return middle_of(times);
}

double theil_sen_slope(std::span<const XY> points) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size(); ++j)
      if (points[i].x != points[j].x) slopes.push_back((points[j].y - points[i].y) / (points[j].x - points[i].x));
  return slopes.empty() ? not_measured : median(slopes);
}

Estimate theil_sen(std::span<const XY> points, const std::string& unit, const std::string& method) {
  Estimate e{theil_sen_slope(points), not_measured, not_measured, unit, method};
  if (!std::isfinite(e.value)) return e;
  if (points.size() < min_values) return say_too_few(e, points.size()), e;
  std::mt19937_64 random(20'120'915);
  std::vector<double> slopes;
  std::vector<XY> drawn(points.size());
  for (int i = 0; i < draws; ++i) {
    for (XY& point : drawn) point = points[random() % points.size()];
    if (const double slope = theil_sen_slope(drawn); std::isfinite(slope)) slopes.push_back(slope);
  }
  const auto [low, high] = middle_95(std::move(slopes));
  e.low = std::min(e.value, low);
  e.high = std::max(e.value, high);
  return e;
}

Estimate median_of(std::span<const double> values, const std::string& unit, const std::string& method) {
  Estimate e{.unit = unit, .method = method};
  if (values.empty() || !set_median(e, values)) say_too_few(e, values.size());
  return e;
}

double half_for_weight(double value, double half) {
  return std::max(std::isfinite(half) ? half : 0.01 * value, 1e-3 * value);
}

double where_reaches(double wanted, double low, double high, const std::function<double(double)>& f) {
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace npgpu::model
