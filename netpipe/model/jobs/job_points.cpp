#include "netpipe/model/jobs/job_points.hpp"

#include <algorithm>
#include <cmath>

namespace npgpu::model {

namespace {

double slope_of(std::span<const XY> points, std::size_t without) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size(); ++j)
      if (i != without && j != without && points[i].x != points[j].x)
        slopes.push_back((points[j].y - points[i].y) / (points[j].x - points[i].x));
  return slopes.empty() ? not_measured : median(slopes);
}

}  // namespace

void JobPoints::add(const JobSeries& sweep) {
  for (JobSummary& one : summarize(sweep))
    if (std::isfinite(one.time_us.value)) all_.push_back({sweep.question, std::move(one)});
}

std::vector<JobSummary> JobPoints::find(const Wanted& wanted) const {
  std::vector<JobSummary> found;
  for (const Entry& entry : all_)
    if (entry.question.gating != Gating::last_stream_free && wanted(entry.question, entry.summary.job))
      found.push_back(entry.summary);
  return found;
}

std::vector<JobSummary> JobPoints::last_stream_free(const Wanted& wanted) const {
  std::vector<JobSummary> found;
  for (const Entry& entry : all_)
    if (entry.question.gating == Gating::last_stream_free && wanted(entry.question, entry.summary.job))
      found.push_back(entry.summary);
  return found;
}

std::optional<Estimate> JobPoints::time(Workload workload, Order order, bool gated, const JobShape& job) const {
  const Gating wanted = gated ? Gating::gated : Gating::open;
  const auto found = find([&](const JobCase& c, const JobShape& j) {
    return c.workload == workload && c.order == order && c.gating == wanted && c.pool == StreamPool::pooled && j == job;
  });
  if (found.empty()) return std::nullopt;
  std::vector<double> times;
  for (const JobSummary& one : found) times.push_back(one.time_us.value);
  Estimate estimate = found.front().time_us;
  estimate.value = median(times);
  return estimate;
}

Estimate theil_sen(std::span<const XY> points, const std::string& unit, const std::string& method) {
  Estimate e{slope_of(points, points.size()), not_measured, not_measured, unit, method};
  std::vector<double> left_out;
  for (std::size_t i = 0; i < points.size() && points.size() > 3; ++i) left_out.push_back(slope_of(points, i));
  if (left_out.empty() || !std::isfinite(e.value)) return e;
  double mean = 0, squares = 0;
  const auto n = static_cast<double>(left_out.size());
  for (const double s : left_out) mean += s / n;
  for (const double s : left_out) squares += (s - mean) * (s - mean);
  const double half = 1.96 * std::sqrt(squares * (n - 1) / n);
  e.low = e.value - half;
  e.high = e.value + half;
  return e;
}

double where_reaches(double wanted, double low, double high, const std::function<double(double)>& f) {
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace npgpu::model
