#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/model.hpp"

namespace npgpu {

namespace {

// The samples a point owns; fewer than it claims where the table is shorter.
std::span<const TransferSample> samples_of(const TransferSeries& sweep, const TransferPoint& point) {
  const std::span<const TransferSample> all(sweep.samples);
  const std::size_t first = std::min<std::size_t>(point.first_sample, all.size());
  return all.subspan(first, std::min<std::size_t>(point.samples, all.size() - first));
}

double trial_us(const TransferCase& c, const TransferSample& sample) {
  return c.timing == Timing::host ? sample.host_us : sample.device_us;
}

bool usable(double us, const TransferSample& sample) { return std::isfinite(us) && us >= 0 && sample.repeats > 0; }

// Bytes that arrived wrong took no time worth telling: the whole point is void.
bool wrong(const TransferSample& sample) { return sample.intact == 0; }

// `us`: one operation one way, one value a trial. `moved_bytes`: what one operation moved in all.
PointSummary summarized(const TransferPoint& point, std::uint32_t lane, const std::vector<double>& us, double moved_bytes,
                        double limit) {
  PointSummary s;
  s.bytes = point.bytes;
  s.lane = lane;
  s.trials = static_cast<std::uint32_t>(us.size());
  s.stop = point.stop;
  s.time_us.unit = "us";
  s.rate.unit = "bytes per second";
  if (us.empty()) {
    s.time_us.method = s.rate.method = "no usable trial";
    return s;
  }
  s.time_us.value = median(us);
  s.min_us = *std::min_element(us.begin(), us.end());
  s.max_us = *std::max_element(us.begin(), us.end());
  s.mean_us = std::accumulate(us.begin(), us.end(), 0.0) / static_cast<double>(us.size());
  if (const auto interval = median_interval(us)) {
    s.time_us.low = interval->low;
    s.time_us.high = interval->high;
    s.time_us.method = "median, 95 % interval from order statistics";
  } else {
    s.time_us.method = "median; too few trials for an interval";
  }

  if (!(s.time_us.value > 0)) {
    s.rate.method = "none: the clock is too coarse for these times";
    return s;
  }
  const auto rate_of = [&](double t) { return moved_bytes / (t * 1e-6); };
  s.rate.value = rate_of(s.time_us.value);
  s.rate.method = "bytes over the median time";
  if (s.time_us.low > 0) {
    s.rate.low = rate_of(s.time_us.high);
    s.rate.high = rate_of(s.time_us.low);
  }
  if (limit > 0) s.percent_of_limit = 100 * s.rate.value / limit;
  return s;
}

void in_order(std::vector<PointSummary>& summaries) {
  std::stable_sort(summaries.begin(), summaries.end(), [](const PointSummary& a, const PointSummary& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.lane < b.lane;
  });
}

}  // namespace

std::vector<PointSummary> summarize(const TransferSeries& sweep) {
  const TransferCase& c = sweep.question;
  const double legs = c.pattern == Pattern::pingpong ? 2 : 1;
  const std::uint32_t lanes = c.pattern == Pattern::duplex ? 2 : 1;
  std::vector<PointSummary> summaries;
  for (const TransferPoint& point : sweep.points) {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      std::vector<double> each_us;
      bool is_void = false;
      for (const TransferSample& sample : samples_of(sweep, point)) {
        if (sample.lane != lane) continue;
        is_void |= wrong(sample);
        const double us = trial_us(c, sample);
        if (usable(us, sample)) each_us.push_back(us / (static_cast<double>(sample.repeats) * legs));
      }
      if (is_void) each_us.clear();
      summaries.push_back(summarized(point, lane, each_us, static_cast<double>(point.bytes), sweep.limit.per_s));
      if (is_void) summaries.back().time_us.method = summaries.back().rate.method = "void: the payload arrived wrong";
    }
  }
  in_order(summaries);
  return summaries;
}

std::vector<PointSummary> summarize_sum(const TransferSeries& sweep) {
  std::vector<PointSummary> summaries;
  if (sweep.question.pattern != Pattern::duplex) return summaries;
  // A link has its limit in each direction. A memory has one, whichever way the copies go.
  const Direction d = sweep.question.direction;
  const bool shared = d == Direction::d2d || d == Direction::h2h;
  const double limit = sweep.limit.per_s * (shared ? 1 : 2);

  struct Pair {
    double longer_us = 0;
    double repeats = 0;
    int lanes = 0;
  };
  for (const TransferPoint& point : sweep.points) {
    std::map<std::uint32_t, Pair> trials;
    bool is_void = false;
    for (const TransferSample& sample : samples_of(sweep, point)) {
      if (sample.lane > 1) continue;
      is_void |= wrong(sample);
      const double us = trial_us(sweep.question, sample);
      if (!usable(us, sample)) continue;
      Pair& pair = trials[sample.trial];
      pair.longer_us = std::max(pair.longer_us, us);
      pair.repeats += static_cast<double>(sample.repeats);
      ++pair.lanes;
    }
    // One operation is a copy each way, so two copies of the pair's repeats make one.
    std::vector<double> each_us;
    if (!is_void)
      for (const auto& [trial, pair] : trials)
        if (pair.lanes == 2) each_us.push_back(pair.longer_us / (pair.repeats / 2));
    summaries.push_back(summarized(point, 0, each_us, 2 * static_cast<double>(point.bytes), limit));
    if (is_void) summaries.back().time_us.method = summaries.back().rate.method = "void: the payload arrived wrong";
  }
  in_order(summaries);
  return summaries;
}

}  // namespace npgpu
